"""The fact that the derived tables were kept as a snapshot."""

from __future__ import annotations

from msgspec import Struct

from choiros.kernel.registry import EventType


class SnapshotKept(Struct, frozen=True):
    """The tables as they were right after event `at` are kept in a file with this SHA-256."""

    at: int
    digest: str


EVENTS = (EventType("snapshot", SnapshotKept, effect="pure"),)
