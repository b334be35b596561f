"""What every worker promises, as tests that an engine inherits: override the fixture."""

# ruff: noqa: D102 - a test's name is its sentence

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import pytest

from choiros.kernel.errors import Conflict
from choiros.kernel.worker import Worker

Pause: TypeAlias = Callable[[], None]


@pytest.mark.anyio
class WorkerContract:
    """The promises of `choiros.kernel.worker`."""

    @pytest.fixture
    def worker(self) -> Worker:
        """Return a worker."""
        raise NotImplementedError

    @pytest.fixture
    def pause(self) -> Pause:
        """Return a call that takes a while."""
        raise NotImplementedError

    async def test_the_result_of_a_call_comes_back(self, worker: Worker) -> None:
        kept = ["the same object"]
        assert await worker.run(lambda: kept) is kept

    @pytest.mark.parametrize("error", [Conflict("a.b", "No.", fix="Yes."), OSError(5), KeyError("k")])
    async def test_the_exception_of_a_call_is_raised_here(self, worker: Worker, error: Exception) -> None:
        def fail() -> None:
            raise error

        with pytest.raises(type(error)) as caught:
            await worker.run(fail)
        assert caught.value is error
        assert await worker.run(lambda: 1) == 1

    async def test_calls_run_one_after_the_other_in_the_order_they_were_handed_over(
        self, worker: Worker, pause: Pause
    ) -> None:
        told: list[str] = []

        def call(number: int) -> int:
            told.append(f"{number} begins")
            pause()
            told.append(f"{number} ends")
            return number

        results = await asyncio.gather(
            *(worker.run(lambda number=number: call(number)) for number in range(9))
        )
        assert results == list(range(9))
        assert told == [f"{number} {what}" for number in range(9) for what in ("begins", "ends")]

    async def test_a_caller_that_leaves_disturbs_no_other(self, worker: Worker, pause: Pause) -> None:
        done: list[int] = []

        def call(number: int) -> None:
            pause()
            done.append(number)

        tasks = [asyncio.create_task(worker.run(lambda number=number: call(number))) for number in range(4)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [number for number in done if number != 2] == [0, 1, 3]

    async def test_closing_finishes_what_is_under_way_and_accepts_nothing_more(
        self, worker: Worker, pause: Pause
    ) -> None:
        done: list[int] = []

        def call() -> None:
            pause()
            done.append(1)

        task = asyncio.create_task(worker.run(call))
        await asyncio.sleep(0)
        worker.close()
        assert done == [1]
        await task
        with pytest.raises(RuntimeError):
            await worker.run(call)
        worker.close()
        assert done == [1]
