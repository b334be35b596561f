"""Ids and salts that a test can foretell."""

from __future__ import annotations

import hashlib


class CountingIds:
    """Counts; the same calls give the same ids and salts."""

    def __init__(self, start: int = 0) -> None:
        self._count = start

    def event_id(self, now_ms: int) -> str:
        """Return the next id in the form of a UUIDv7."""
        del now_ms
        self._count += 1
        return f"01900000-0000-7000-8000-{self._count:012x}"

    def salt(self) -> bytes:
        """Return the next 16 bytes."""
        self._count += 1
        return hashlib.sha256(self._count.to_bytes(8)).digest()[:16]
