"""Events in the form of CloudEvents 1.0, as other programs read them: one JSON object for each, nothing lost.

What CloudEvents has a place for stands there; everything else of ours becomes an extension attribute, whose names
are lower-case letters and digits. What is null with us is absent there, and what CloudEvents has no type for
(numbers beyond 32 bits, lists) is written as text.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Raw, Struct

SPEC = "1.0"
TYPE_BEGINS = "choiros."
CONTENT_TYPE = "application/json"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS = -62_135_596_800_000
_LAST_MS = 253_402_300_799_999
"""The years 1 to 9999, which is as far as a date in RFC 3339 goes."""


class _Labels(Struct, frozen=True):
    origin: tuple[str, ...]
    private: bool


class _Event(Struct, frozen=True):
    """An event as `choir log --json` holds it; the payload stays as it was written."""

    id: str
    seq: int
    timestamp: int
    user_id: str
    source: str
    event_type: str
    payload: Raw
    session_id: str | None
    run_id: str | None
    cause: str | None
    labels: _Labels
    v: int
    prev: str
    hash: str


class _About(Struct, frozen=True):
    """What a payload may tell about its subject."""

    workspace: str | None = None
    path: str | None = None


_decoder = msgspec.json.Decoder(_Event)
_about = msgspec.json.Decoder(_About)


def as_cloudevent(event: Raw) -> dict[str, object]:
    """Return one event, given as our JSON, as a CloudEvent."""
    one = _decoder.decode(event)
    erased = bytes(one.payload) == b"null"
    attributes: dict[str, object | None] = {
        "specversion": SPEC,
        "id": one.id,
        "source": f"/users/{one.user_id}",
        "type": TYPE_BEGINS + one.event_type,
        "subject": None if erased else _subject(one.payload),
        "time": _time(one.timestamp),
        "datacontenttype": None if erased else CONTENT_TYPE,
        "seq": str(one.seq),
        # A time that no calendar holds is kept as the number that it is.
        "timestamp": None if _time(one.timestamp) else str(one.timestamp),
        "userid": one.user_id,
        "actor": one.source,
        "sessionid": one.session_id,
        "runid": one.run_id,
        "cause": one.cause,
        "origin": msgspec.json.encode(one.labels.origin).decode(),
        "private": one.labels.private,
        "schema": one.v,
        "prev": one.prev,
        "hash": one.hash,
        "data": None if erased else one.payload,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _time(timestamp: int) -> str | None:
    if not _FIRST_MS <= timestamp <= _LAST_MS:
        return None
    moment = _EPOCH + timedelta(milliseconds=timestamp)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _subject(payload: Raw) -> str | None:
    """Return what an event is about: a path in a workspace, or a workspace."""
    try:
        about = _about.decode(payload)
    except msgspec.ValidationError:
        return None
    return "/".join(name for name in (about.workspace, about.path) if name) or None
