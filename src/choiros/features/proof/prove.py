"""Proof files: one event of a log, shown to somebody who has nothing but the key (C2SP tlog-proof).

The `extra` line holds what the leaf is made of: base64 of zlib-compressed JSON with `head`, and with `salt` and
`payload` unless the payload was erased. None of it is believed before the tree vouches for it.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from choiros.features.proof.merkle import inclusion_proof, leaf_hash, root_from_inclusion
from choiros.features.proof.note import (
    Key,
    Note,
    Outcome,
    TreeHead,
    Verify,
    checked,
    parse_hash,
    parse_note,
    parse_tree_head,
    proof_lines,
)
from choiros.features.proof.view import ProofView
from choiros.kernel.errors import Rejected
from choiros.kernel.event import SALT_BYTES, Record, payload_digest

FIRST_LINE = "c2sp.org/tlog-proof@v1"
CONTENT_BYTES_MAX = 4 << 20
"""So much may be unpacked: more than any event has."""

DIGITS_MAX = 16
HASHES_MAX = 63


class Shown(Struct, frozen=True, omit_defaults=True):
    """What the leaf is made of, as text; the payload with its salt unless it was erased."""

    head: str
    salt: str = ""
    payload: str | None = None


class Proof(Struct, frozen=True):
    """A proof file that was read; nothing in it is checked yet."""

    shown: Shown
    index: int
    hashes: tuple[bytes, ...]
    note: Note
    tree: TreeHead


class Proven(Struct, frozen=True):
    """What a proof shows: the event, where it stands, and who has signed for it."""

    head: msgspec.Raw
    payload: msgspec.Raw | None
    origin: str
    seq: int
    size: int
    signed_by: str
    witnesses: tuple[str, ...]
    unknown: tuple[str, ...]
    """Names under signatures whose keys were not given, so that they say nothing."""


def proof_file(record: Record, view: ProofView, *, size: int, note: str) -> str:
    """Return the proof that an event is among the first `size`, with the signed note of that size."""
    payload, salt = (None, "") if record.payload is None else (record.payload.decode(), record.salt.hex())
    shown = msgspec.json.encode(Shown(record.head.decode(), salt, payload))
    extra = base64.b64encode(zlib.compress(shown, 9)).decode()
    hashes = proof_lines(inclusion_proof(record.seq - 1, size, node=view.node))
    return f"{FIRST_LINE}\nextra {extra}\nindex {record.seq - 1}\n{hashes}\n{note}"


def parse_proof(text: str) -> Proof:
    """Return a proof file as it was read; raises Rejected (`proof.bad_file`, `proof.bad_note`)."""
    above, gap, note = text.partition("\n\n")
    lines = above.split("\n")
    if not gap or lines[0] != FIRST_LINE:
        raise bad_file(f"it does not begin with {FIRST_LINE}")
    if len(lines) < len(("first", "extra", "index")) or len(lines) > HASHES_MAX:
        raise bad_file("it has too few or too many lines")
    extra, index = lines[1].removeprefix("extra "), lines[2].removeprefix("index ")
    if extra == lines[1] or index == lines[2]:
        raise bad_file("the lines 'extra' and 'index' are missing")
    if not (index.isascii() and index.isdigit() and str(int(index[:DIGITS_MAX])) == index):
        raise bad_file("its index is no number")
    signed = parse_note(note)
    hashes = tuple(parse_hash(line) for line in lines[3:])
    return Proof(_unpacked(extra), int(index), hashes, signed, parse_tree_head(signed.text))


def _unpacked(extra: str) -> Shown:
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(base64.b64decode(extra.encode("ascii"), validate=True), CONTENT_BYTES_MAX)
        if not unpacker.eof or unpacker.unused_data:
            raise bad_file("what it shows is cut, or too large")
        return msgspec.json.decode(raw, type=Shown)
    except (zlib.error, binascii.Error, UnicodeEncodeError, msgspec.DecodeError) as error:
        raise bad_file(f"what it shows cannot be read ({error})") from error


def check_proof(proof: Proof, *, keys: Sequence[Key], witnesses: Sequence[Key], verify: Verify) -> Proven:
    """Return what a proof shows; raises Rejected (`proof.*`) naming the first thing that does not hold.

    `keys` are those of the log that the reader believes; without any of them nothing is proved.
    """
    name = proof.tree.origin
    outcomes: dict[str, Outcome] = {
        str(key): checked(proof.note, key, verify=verify) for key in keys if key.name == name
    }
    signed_by = next((key for key, outcome in outcomes.items() if outcome == "valid"), None)
    if signed_by is None:
        raise _not_signed(name, is_known=bool(outcomes))
    head = proof.shown.head.encode()
    root = root_from_inclusion(leaf_hash(head), proof.index, size=proof.tree.size, proof=proof.hashes)
    if root != proof.tree.root:
        raise wrong("the event is not in the tree that was signed")
    payload = _checked_payload(proof.shown, head, seq=proof.index + 1)
    known = [key for key in witnesses if checked(proof.note, key, verify=verify) == "valid"]
    named = {key.name for key in [*known, *keys]}
    return Proven(
        msgspec.Raw(head),
        payload,
        name,
        proof.index + 1,
        proof.tree.size,
        signed_by,
        tuple(key.name for key in known),
        tuple(sorted({one.name for one in proof.note.signatures} - named)),
    )


class _Vouched(Struct):
    """What of a head is compared with the rest of the file."""

    seq: int
    payload_hash: str


def _checked_payload(shown: Shown, head: bytes, *, seq: int) -> msgspec.Raw | None:
    try:
        vouched = msgspec.json.decode(head, type=_Vouched)
    except msgspec.DecodeError as error:
        raise wrong("the event is none of ChoirOS") from error
    if vouched.seq != seq:
        raise wrong("the event stands at another place than it says")
    if shown.payload is None:
        return None
    try:
        salt = bytes.fromhex(shown.salt)
    except ValueError as error:
        raise bad_file("its salt is none") from error
    if len(salt) != SALT_BYTES:
        raise bad_file("its salt is none")
    if payload_digest(salt, shown.payload.encode()) != vouched.payload_hash:
        raise wrong("the content is not the one that the event had")
    return msgspec.Raw(shown.payload.encode())


def bad_file(reason: str) -> Rejected:
    """Return the error for what is no proof file."""
    return Rejected(
        "proof.bad_file",
        f"This is not a proof file: {reason}.",
        fix="Get it again from whoever made it with 'choir prove'; it was cut or changed.",
        reason=reason,
    )


def wrong(reason: str) -> Rejected:
    """Return the error for a proof that proves nothing."""
    return Rejected(
        "proof.wrong",
        f"The proof does not hold: {reason}.",
        fix="Do not believe what it shows; ask whoever made it.",
        reason=reason,
    )


def _not_signed(origin: str, *, is_known: bool) -> Rejected:
    if is_known:
        return wrong(f"the signature for '{origin}' is not of the key that was given")
    return Rejected(
        "proof.unknown_key",
        f"The proof is about the log '{origin}', of which no key is known here.",
        fix="Give the key that its owner told you: 'choir verify FILE --key KEY'.",
        origin=origin,
    )
