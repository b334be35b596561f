"""Signed notes, tree heads and cosignatures as C2SP writes them (signed-note, tlog-checkpoint, tlog-cosignature)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from choiros.kernel.errors import Rejected

NOTE_CHARACTERS_MAX = 64 * 1024
SIGNATURES_MAX = 64
HASH_BYTES = 32
SIZE_DIGITS_MAX = 16

SIGNED, COSIGNED = 1, 4
"""The two kinds of Ed25519 signature: of the log itself, and of somebody who has seen it at a time."""

Outcome = Literal["valid", "absent", "invalid"]


class Verify(Protocol):
    """Says of a public key, a message and a signature whether they belong together."""

    def __call__(self, public: bytes, message: bytes, *, signature: bytes) -> bool:
        """Return whether they do."""
        ...


class Key(Struct, frozen=True):
    """A public key under a name."""

    name: str
    public: bytes
    kind: int = SIGNED

    @property
    def id(self) -> bytes:
        """Return the four bytes by which signatures name the key."""
        named = f"{self.name}\n".encode() + bytes([self.kind]) + self.public
        return hashlib.sha256(named).digest()[:4]

    def __str__(self) -> str:
        """Return the form in which keys are told to others (a 'vkey')."""
        return f"{self.name}+{self.id.hex()}+{_encoded(bytes([self.kind]) + self.public)}"


class Signature(Struct, frozen=True):
    """One signature under a note."""

    name: str
    key_id: bytes
    raw: bytes

    def line(self) -> str:
        """Return the line under the note, its end included."""
        return f"\u2014 {self.name} {_encoded(self.key_id + self.raw)}\n"


class Note(Struct, frozen=True):
    """A text, its last line end included, and the signatures under it."""

    text: str
    signatures: tuple[Signature, ...]

    def __str__(self) -> str:
        """Return the note as it is stored and sent."""
        return self.text + "\n" + "".join(one.line() for one in self.signatures)


class TreeHead(Struct, frozen=True):
    """What a log was at a size: `origin` is the name of the log."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Return the three lines that are signed."""
        return f"{self.origin}\n{self.size}\n{_encoded(self.root)}\n"


def parse_note(text: str) -> Note:
    """Return a note; raises Rejected (`proof.bad_note`) with the reason."""
    if len(text) > NOTE_CHARACTERS_MAX:
        raise bad_note(f"it is longer than {NOTE_CHARACTERS_MAX} characters")
    if any(ord(letter) < ord(" ") and letter != "\n" for letter in text) or not _is_utf8(text):
        raise bad_note("it holds characters that no note may hold")
    body, gap, below = text.rpartition("\n\n")
    lines = below.split("\n")
    if not gap or not body or lines.pop() != "" or not lines:
        raise bad_note("it is not a text, an empty line, and signatures")
    if len(lines) > SIGNATURES_MAX:
        raise bad_note(f"it has more than {SIGNATURES_MAX} signatures")
    return Note(body + "\n", tuple(_parse_signature(line) for line in lines))


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """Return signatures as a witness sends them, one in each line; raises Rejected (`proof.bad_note`)."""
    return parse_note("x\n\n" + lines).signatures if lines else ()


def _parse_signature(line: str) -> Signature:
    words = line.split(" ")
    raw = _decoded(words[2]) if len(words) == 3 and words[0] == "\u2014" and _is_name(words[1]) else None  # noqa: PLR2004 - dash, name, signature
    if raw is None or len(raw) <= len(b"key!"):
        raise bad_note("one of its signature lines is none")
    return Signature(words[1], raw[:4], raw[4:])


def parse_key(text: str) -> Key:
    """Return a key from its form for others; raises Rejected (`proof.bad_key`)."""
    name, _, rest = text.strip().partition("+")
    key_id, _, encoded = rest.partition("+")
    raw = _decoded(encoded)
    if raw is None or len(raw) != 1 + HASH_BYTES or raw[0] not in {SIGNED, COSIGNED} or not _is_name(name):
        raise _bad_key()
    key = Key(name, raw[1:], raw[0])
    if key.id.hex() != key_id:
        raise _bad_key()
    return key


def parse_tree_head(text: str) -> TreeHead:
    """Return the tree head that a note's text is; raises Rejected (`proof.bad_note`)."""
    lines = text.split("\n")
    if len(lines) < len(("origin", "size", "root", "")) or "" in lines[:-1]:
        raise bad_note("its text is no tree head")
    origin, digits, encoded = lines[:3]
    root = _decoded(encoded)
    if root is None or len(root) != HASH_BYTES:
        raise bad_note("its third line is no hash")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= SIZE_DIGITS_MAX
    if not is_number or str(int(digits)) != digits:
        raise bad_note("its second line is no size")
    return TreeHead(origin, int(digits), root)


def checked(note: Note, key: Key, *, verify: Verify) -> Outcome:
    """Return whether a key has signed a note; a key of kind COSIGNED signs together with a time."""
    found: Outcome = "absent"
    for one in note.signatures:
        if (one.name, one.key_id) == (key.name, key.id):
            raw, message = one.raw, note.text.encode()
            if key.kind == COSIGNED:
                message = cosigned(note.text, int.from_bytes(one.raw[:8]))
                raw = one.raw[8:]
            if not verify(key.public, message, signature=raw):
                return "invalid"
            found = "valid"
    return found


def cosigned(text: str, time_s: int) -> bytes:
    """Return what a witness signs who has seen a tree head at a time."""
    return f"cosignature/v1\ntime {time_s}\n{text}".encode()


def proof_lines(hashes: Sequence[bytes]) -> str:
    """Return the hashes of a proof, one in each line."""
    return "".join(_encoded(one) + "\n" for one in hashes)


def parse_hash(line: str) -> bytes:
    """Return the hash in a line of a proof; raises Rejected (`proof.bad_note`)."""
    found = _decoded(line)
    if found is None or len(found) != HASH_BYTES:
        raise bad_note("one of its lines is no hash")
    return found


def bad_note(reason: str) -> Rejected:
    """Return the error for what is no signed note."""
    return Rejected(
        "proof.bad_note",
        f"This is not a signed point of a log: {reason}.",
        fix="Get the file again from whoever made it; it was cut or changed.",
        reason=reason,
    )


def _bad_key() -> Rejected:
    return Rejected(
        "proof.bad_key",
        "This is not a key for checking signatures.",
        fix="It looks like NAME+12345678+LETTERS; 'choir keys' on the other computer prints it.",
    )


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _decoded(text: str) -> bytes | None:
    """Return the bytes; None for what is not base64 in its one standard form."""
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    return raw if _encoded(raw) == text else None


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(letter.isspace() for letter in name)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
