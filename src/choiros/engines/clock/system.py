"""The clock of the machine."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Tells the time of the machine."""

    def now_ms(self) -> int:
        """Return Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic_ns(self) -> int:
        """Return a count of nanoseconds that never goes backwards."""
        return time.monotonic_ns()

    async def sleep(self, seconds: float) -> None:
        """Return after about that many seconds."""
        await asyncio.sleep(seconds)
