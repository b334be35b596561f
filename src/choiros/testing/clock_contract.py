"""What every clock promises, as tests that an engine inherits: override the fixture."""

# ruff: noqa: D102 - a test's name is its sentence

from __future__ import annotations

import asyncio

import pytest

from choiros.kernel.clock import Clock


@pytest.mark.anyio
class ClockContract:
    """The promises of `choiros.kernel.clock`."""

    @pytest.fixture
    def clock(self) -> Clock:
        """Return a clock."""
        raise NotImplementedError

    async def test_the_time_is_a_whole_number_of_milliseconds_of_our_age(self, clock: Clock) -> None:
        assert isinstance(clock.now_ms(), int)
        assert 1_500_000_000_000 < clock.now_ms() < 2**48

    async def test_the_count_of_nanoseconds_never_goes_backwards(self, clock: Clock) -> None:
        counts: list[int] = []
        for _ in range(50):
            counts.append(clock.monotonic_ns())
            await clock.sleep(0)
        assert counts == sorted(counts)
        assert all(isinstance(count, int) for count in counts)

    async def test_sleeping_lets_the_time_pass(self, clock: Clock) -> None:
        started, began = clock.monotonic_ns(), clock.now_ms()
        await clock.sleep(0.05)
        assert clock.monotonic_ns() - started >= 45_000_000
        assert clock.now_ms() - began >= 40

    async def test_others_work_while_somebody_sleeps(self, clock: Clock) -> None:
        turns = 0

        async def work() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(work())
        for _ in range(3):
            await clock.sleep(0.001)
        task.cancel()
        assert turns >= 2
