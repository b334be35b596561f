"""The port to chance: new ids and salts come from here, so that one seed can repeat a whole history."""

from __future__ import annotations

from typing import Protocol


class Ids(Protocol):
    """Makes values that nobody else makes."""

    def event_id(self, now_ms: int) -> str:
        """Return a new UUIDv7 in its usual text form, greater than every one returned before."""
        ...

    def salt(self) -> bytes:
        """Return 16 unpredictable bytes."""
        ...
