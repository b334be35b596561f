"""The port to exclusion: one process at a time changes the data of a person."""

from __future__ import annotations

from typing import Protocol


class Lock(Protocol):
    """Is held by one holder at a time, and let go when its process ends, however it ends."""

    async def acquire(self, timeout_s: float) -> None:
        """Wait until it is free; raises Unavailable (`lock.held`) naming the holder after the time-out."""
        ...

    def release(self) -> None:
        """Let go."""
        ...
