"""A lock inside one process, for data that lives in memory."""

from __future__ import annotations

import asyncio

from choiros.kernel.errors import Unavailable


class MemoryLock:
    """Is held by one task at a time."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def acquire(self, timeout_s: float) -> None:
        """Wait until the lock is free."""
        if not self._lock.locked():
            # Taken here because `wait_for` with no time left gives up without a look at the lock.
            await self._lock.acquire()
            return
        try:
            await asyncio.wait_for(self._lock.acquire(), timeout_s)
        except TimeoutError as error:
            raise Unavailable(
                "lock.held", "Somebody else is changing this data.", fix="Wait, then try again."
            ) from error

    def release(self) -> None:
        """Let go."""
        self._lock.release()
