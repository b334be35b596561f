"""What every lock promises, as tests that an engine inherits: override the fixture."""

# ruff: noqa: D102 - a test's name is its sentence

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import pytest

from choiros.kernel.errors import Unavailable
from choiros.kernel.lock import Lock

MakeLock: TypeAlias = Callable[[], Lock]


async def refused(lock: Lock, timeout_s: float = 0) -> None:
    """Try to take what somebody else holds."""
    with pytest.raises(Unavailable) as caught:
        await lock.acquire(timeout_s)
    assert caught.value.code == "lock.held"
    assert caught.value.fix


@pytest.mark.anyio
class LockContract:
    """The promises of `choiros.kernel.lock`."""

    @pytest.fixture
    def locks(self) -> MakeLock:
        """Return what gives one more contender its end of the same lock."""
        raise NotImplementedError

    @pytest.mark.parametrize("timeout_s", [0, 0.01, 5])
    async def test_a_free_lock_is_taken_at_once_however_little_time_there_is(
        self, locks: MakeLock, timeout_s: float
    ) -> None:
        lock = locks()
        await asyncio.wait_for(lock.acquire(timeout_s), 2)
        await refused(locks())
        lock.release()

    async def test_a_held_lock_is_refused_after_the_time_out(self, locks: MakeLock) -> None:
        holder, loop = locks(), asyncio.get_running_loop()
        await holder.acquire(0)
        started = loop.time()
        await refused(locks(), 0.1)
        assert 0.05 < loop.time() - started < 5
        holder.release()

    async def test_who_waits_gets_the_lock_when_it_is_let_go(self, locks: MakeLock) -> None:
        holder, waiting = locks(), locks()
        await holder.acquire(0)
        task = asyncio.create_task(waiting.acquire(10))
        await asyncio.sleep(0.05)
        assert not task.done()
        holder.release()
        await asyncio.wait_for(task, 5)
        await refused(locks())
        waiting.release()

    async def test_the_lock_can_be_taken_again_and_again(self, locks: MakeLock) -> None:
        one, other = locks(), locks()
        for lock in (one, one, other, one):
            await lock.acquire(0)
            lock.release()

    async def test_who_gives_up_does_not_get_it_later(self, locks: MakeLock) -> None:
        holder, waiting = locks(), locks()
        await holder.acquire(0)
        await refused(waiting, 0.02)
        task = asyncio.create_task(waiting.acquire(10))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        holder.release()
        third = locks()
        await third.acquire(0)
        third.release()

    async def test_many_contenders_never_hold_it_together_and_each_gets_a_turn(self, locks: MakeLock) -> None:
        inside = 0
        turns: list[int] = []

        async def contend(number: int) -> None:
            nonlocal inside
            lock = locks()
            await lock.acquire(20)
            inside += 1
            assert inside == 1
            await asyncio.sleep(0.001)
            inside -= 1
            turns.append(number)
            lock.release()

        await asyncio.gather(*map(contend, range(10)))
        assert sorted(turns) == list(range(10))
