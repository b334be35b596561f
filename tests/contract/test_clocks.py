"""Every clock keeps the promises of the port, the one for tests too."""

import asyncio
import time

import pytest

from choiros.engines.clock.system import SystemClock
from choiros.testing.clock import START_MS, FakeClock
from choiros.testing.clock_contract import ClockContract


class TestSystemClock(ClockContract):
    @pytest.fixture
    def clock(self) -> SystemClock:
        return SystemClock()


class TestFakeClock(ClockContract):
    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()


def test_the_clock_of_the_machine_tells_its_time() -> None:
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 1000


def test_a_clock_for_tests_moves_only_when_told() -> None:
    clock = FakeClock()
    assert (clock.now_ms(), clock.monotonic_ns()) == (START_MS, 0)
    clock.move(-5000)
    assert (clock.now_ms(), clock.monotonic_ns()) == (START_MS - 5000, 0)
    asyncio.run(clock.sleep(2.5))
    assert (clock.now_ms(), clock.monotonic_ns()) == (START_MS - 2500, 2_500_000_000)
