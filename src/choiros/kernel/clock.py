"""The port to time: the only place from which the kernel learns what time it is."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def now_ms(self) -> int:
        """Return the wall clock as Unix milliseconds; it may jump, also backwards."""
        ...

    def monotonic_ns(self) -> int:
        """Return a count of nanoseconds that never goes backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after about that many seconds."""
        ...
