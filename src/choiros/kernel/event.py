"""What happened: the one form of an event, its stored bytes, and the hash chain that ties each to the one before.

A stored event is a record of six columns. `head` is a JSON object encoded once, at append, by msgspec in the
field order of `Head`; `payload` is encoded once by msgspec with sorted keys. Verifying hashes these stored bytes
and never encodes again. The payload enters the chain through its own salted hash, so that it can be dropped
later while every hash stays valid.

    payload_hash = SHA-256("choir-payload-1" 0x00 salt payload)                    salt: 16 bytes
    hash         = SHA-256("choir-event-1" 0x00 prev length(head) head)            prev: 32 bytes, length: 8 bytes
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from choiros.kernel.errors import Corrupt, Rejected

Source = Literal["user", "agent", "system"]

GENESIS = bytes(32)
"""The `prev` of the first event."""

INTEGER_MAX = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly; greater ones travel as strings."""

SALT_BYTES = 16
"""A salt of another length could hand bytes from the payload to itself without changing their common hash."""

PAYLOAD_DOMAIN = b"choir-payload-1\x00"
EVENT_DOMAIN = b"choir-event-1\x00"


class Labels(Struct, frozen=True, gc=False, omit_defaults=True):
    """Where the content of an event came from, and whether it is private."""

    origin: tuple[str, ...] = ("person",)
    private: bool = False


class Head(Struct, frozen=True, gc=False):
    """Everything of an event but its payload; the order of the fields is the stored order."""

    id: str
    seq: int
    timestamp: int
    user_id: str
    source: Source
    event_type: str
    payload_hash: str
    session_id: str | None
    run_id: str | None
    cause: str | None
    labels: Labels
    v: int


class Draft(Struct, frozen=True, gc=False):
    """An event that is ready to be appended: complete but for its place in the log."""

    id: str
    timestamp: int
    user_id: str
    source: Source
    event_type: str
    payload: bytes
    salt: bytes
    session_id: str | None = None
    run_id: str | None = None
    cause: str | None = None
    labels: Labels = Labels()
    v: int = 1


class Record(NamedTuple):
    """An event as it is stored; `payload` is None once it has been erased."""

    seq: int
    id: str
    head: bytes
    salt: bytes
    payload: bytes | None
    hash: bytes


class Point(NamedTuple):
    """A place in a log: the number and the hash of the event there; (0, GENESIS) is before the first."""

    seq: int
    hash: bytes


class Event(Struct, frozen=True, gc=False):
    """An event as it is read: its head, its payload as the type declares it, and the bytes it came from."""

    head: Head
    payload: object
    record: Record
    prev: bytes

    @property
    def seq(self) -> int:
        """The number of this event in its log."""
        return self.head.seq

    @property
    def point(self) -> Point:
        """The place of this event in its log."""
        return Point(self.record.seq, self.record.hash)

    def as_json(self) -> bytes:
        """Return the one JSON form, unknown newer payload fields included."""
        head = self.head
        return _json.encode(
            {
                "id": head.id,
                "seq": head.seq,
                "timestamp": head.timestamp,
                "user_id": head.user_id,
                "source": head.source,
                "event_type": head.event_type,
                "payload": None if self.record.payload is None else msgspec.Raw(self.record.payload),
                "session_id": head.session_id,
                "run_id": head.run_id,
                "cause": head.cause,
                "labels": {"origin": head.labels.origin, "private": head.labels.private},
                "v": head.v,
                "prev": self.prev.hex(),
                "hash": self.record.hash.hex(),
            }
        )


_json = msgspec.json.Encoder()
_head_decoder = msgspec.json.Decoder(Head)
_sha256 = hashlib.sha256


def payload_digest(salt: bytes, payload: bytes) -> str:
    """Return the salted hash of a payload's stored bytes, in hexadecimal."""
    return _sha256(PAYLOAD_DOMAIN + salt + payload).hexdigest()


def link(prev: bytes, head: bytes) -> bytes:
    """Return the hash of an event from the hash before it and its stored head."""
    return _sha256(EVENT_DOMAIN + prev + len(head).to_bytes(8) + head).digest()


def seal(draft: Draft, after: Point) -> Record:
    """Give a draft its place behind `after` and return the record to store.

    Raises Rejected (`event.invalid`) when its session, run, cause or labels are not valid text.
    """
    assert len(draft.salt) == SALT_BYTES, "the salt has another length than the chain counts on"
    seq = after.seq + 1
    head = Head(
        draft.id,
        seq,
        draft.timestamp,
        draft.user_id,
        draft.source,
        draft.event_type,
        payload_digest(draft.salt, draft.payload),
        draft.session_id,
        draft.run_id,
        draft.cause,
        draft.labels,
        draft.v,
    )
    try:
        stored = _json.encode(head)
    except UnicodeEncodeError as error:
        raise _not_text(head) from error
    return Record(seq, draft.id, stored, draft.salt, draft.payload, link(after.hash, stored))


def sealed(batch: Sequence[Draft] | Sequence[Record], after: Point) -> list[Record]:
    """Return the records to store for a batch behind a place: drafts are sealed, records are taken as they are.

    Raises Rejected: `event.invalid` for a draft that is not valid text, `log.not_next` for records that do not
    follow the place byte for byte, naming the first one.
    """
    records = [one for one in batch if isinstance(one, Record)]
    assert len(records) in {0, len(batch)}, "a batch holds drafts or records, not both"
    if records:
        try:
            open_records(records, after)
        except Corrupt as trouble:
            raise _not_next(trouble, after) from trouble
        return records
    for draft in batch:
        assert isinstance(draft, Draft)
        records.append(seal(draft, after))
        after = Point(records[-1].seq, records[-1].hash)
    return records


def _not_next(trouble: Corrupt, after: Point) -> Rejected:
    return Rejected(
        "log.not_next",
        f"These events cannot follow event {after.seq} as they are. {trouble.message}",
        fix="Nothing was stored. Take them from a log that continues this one.",
        seq=trouble.fields["seq"],
    )


def _not_text(head: Head) -> Rejected:
    texts = {"session_id": head.session_id, "run_id": head.run_id, "cause": head.cause, "id": head.id}
    bad = [name for name, text in texts.items() if text and text.encode("utf-8", "replace").decode() != text]
    place = bad[0] if bad else "labels"
    return Rejected(
        "event.invalid",
        f"The event is not valid at {place}: it holds text that is not valid UTF-8 (a lone surrogate).",
        fix="Give it a name that is ordinary text.",
        place=place,
    )


def open_records(records: Sequence[Record], after: Point) -> list[Head]:
    """Check stored records, the first against the one before it, and return their heads.

    Raises Corrupt, naming the place, when a byte of one is not what was appended there.
    """
    heads: list[Head] = []
    try:
        _open_each(records, after, heads=heads)
    except TypeError as error:
        # A changed byte can turn the bytes of a column into a number, or into nothing.
        raise broken(after.seq + len(heads) + 1, "a column holds another kind of value") from error
    return heads


def _open_each(records: Sequence[Record], after: Point, *, heads: list[Head]) -> None:
    """Add the head of each record that fits."""
    prev, decode, sha256 = after.hash, _head_decoder.decode, _sha256
    for seq, record in enumerate(records, after.seq + 1):
        # This loop is written out in full because every read of the log goes through it.
        found, name, stored, salt, payload, digest = record
        if sha256(EVENT_DOMAIN + prev + len(stored).to_bytes(8) + stored).digest() != digest or found != seq:
            raise _unlinked(seq, found)
        try:
            head = decode(stored)
        except ValueError as error:
            raise broken(seq, f"its head cannot be read ({error})") from error
        if head.seq != seq or head.id != name:
            raise broken(seq, "its number or id column differs from its head")
        if payload is not None and (
            len(salt) != SALT_BYTES
            or sha256(PAYLOAD_DOMAIN + salt + payload).hexdigest() != head.payload_hash
        ):
            raise broken(seq, "its payload is not the one that was appended")
        heads.append(head)
        prev = digest


def _unlinked(seq: int, found: int) -> Corrupt:
    if found != seq:
        return broken(seq, f"it is missing; the next one found is {found}")
    return broken(seq, "its hash does not follow from its bytes and the event before it")


def broken(seq: int, reason: str) -> Corrupt:
    """Return the error for a log that is not what was appended, naming the event."""
    return Corrupt(
        "log.broken",
        f"The log is damaged at event {seq}: {reason}.",
        fix="Nothing was changed. Restore the log from a backup, or copy it aside and ask for help.",
        seq=seq,
    )
