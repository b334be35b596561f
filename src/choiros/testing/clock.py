"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio

START_MS = 1_780_000_000_000


class FakeClock:
    """Tells the time that a test has set; sleeping moves it."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.time_ms = now_ms
        self._passed_ns = 0

    def now_ms(self) -> int:
        """Return the time that was set."""
        return self.time_ms

    def monotonic_ns(self) -> int:
        """Return how far the clock was moved forward, which never shrinks."""
        return self._passed_ns

    def move(self, milliseconds: int) -> None:
        """Move the wall clock, backwards too; the monotonic count only grows."""
        self.time_ms += milliseconds
        self._passed_ns += max(milliseconds, 0) * 1_000_000

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass at once, and others do something."""
        self.move(int(seconds * 1000))
        await asyncio.sleep(0)
