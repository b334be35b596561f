"""A second reader of the log, written from its description alone: it shares no code with ChoirOS."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple


class Broken(Exception):
    """The log is not what was appended; the message names the event."""


class Stored(NamedTuple):
    """One event as it stands in the file."""

    seq: int
    id: str
    timestamp: int
    kind: str
    source: str
    run: str | None
    cause: str | None
    payload: Mapping[str, object]


def log_of(home: Path) -> Path:
    """Return the log below a data directory."""
    return home / "users" / "me" / ".choir" / "log.db"


def read_log(log: Path) -> list[Stored]:
    """Return every event of a log that nobody writes, without touching it; raises Broken."""
    with tempfile.TemporaryDirectory(prefix="choiros-witness-") as name:
        copy = Path(name, "log.db")
        for suffix in ("", "-wal"):
            source = log.with_name(log.name + suffix)
            if source.exists():
                shutil.copy(source, copy.with_name(copy.name + suffix))
        if not copy.exists():
            return []
        db = sqlite3.connect(copy)
        try:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchall():
                return []
            rows = db.execute("SELECT seq, id, head, salt, payload, hash FROM events ORDER BY seq").fetchall()
        finally:
            db.close()
    return list(verified(rows))


def verified(rows: Iterable[tuple[int, str, bytes, bytes, bytes, bytes]]) -> Iterable[Stored]:
    """Yield stored rows as events, each checked as the description of the log says."""
    prev = bytes(32)
    for number, (seq, name, head, salt, payload, digest) in enumerate(rows, 1):
        if seq != number:
            raise Broken(f"event {number} is missing")
        length = len(head).to_bytes(8, "big")
        if hashlib.sha256(b"choir-event-1\0" + prev + length + head).digest() != digest:
            raise Broken(f"event {seq} is not chained")
        fields = json.loads(head)
        sealed = hashlib.sha256(b"choir-payload-1\0" + salt + payload).hexdigest()
        if len(salt) != 16 or sealed != fields["payload_hash"]:
            raise Broken(f"event {seq} has another payload")
        if (fields["seq"], fields["id"]) != (seq, name):
            raise Broken(f"event {seq} says that it is {fields['seq']}")
        kind, run, cause = fields["event_type"], fields["run_id"], fields["cause"]
        yield Stored(seq, name, fields["timestamp"], kind, fields["source"], run, cause, json.loads(payload))
        prev = digest


def batches(events: list[Stored]) -> set[int]:
    """Return the numbers at which a batch ends; raises Broken when one is not whole."""
    known: set[str] = set()
    ends: set[int] = {0}
    for place, event in enumerate(events):
        if event.cause is not None and event.cause not in known:
            raise Broken(f"event {event.seq} has a cause that is not there")
        known.add(event.id)
        following = events[place + 1] if place + 1 < len(events) else None
        allows = event.kind == "policy.verdict" and event.payload["answer"] == "allow"
        if allows and (following is None or following.cause != event.id):
            raise Broken(f"event {event.seq} allows something, but nothing follows")
        if following is None or following.kind == "policy.verdict":
            ends.add(event.seq)
    return ends


def captured(events: list[Stored]) -> set[str]:
    """Return the paths at which changes were found in a folder and taken for somebody else's."""
    looks = {event.id for event in events if event.payload.get("command") == "files.capture"}
    return {str(event.payload["path"]) for event in events if event.cause in looks and event.source == "user"}
