"""The port to exclusion: one process at a time changes the data of a person."""

from __future__ import annotations

from typing import Protocol


class Lock(Protocol):
    """Is held by one holder at a time, and let go when its process ends, however it ends."""

    async def acquire(self, timeout_s: float) -> None:
        """Wait until it is free; with no time to wait, take it if it is free now.

        Raises Unavailable: `lock.held`, naming the holder, after the time-out, or `lock.unavailable` when there
        is no place for a lock.
        """
        ...

    def release(self) -> None:
        """Let go."""
        ...
