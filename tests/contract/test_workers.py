"""Every worker keeps the promises of the port."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from choiros.engines.worker.inline import InlineWorker
from choiros.engines.worker.thread import ThreadWorker
from choiros.testing.worker_contract import Pause, WorkerContract


class TestInlineWorker(WorkerContract):
    @pytest.fixture
    def worker(self) -> InlineWorker:
        return InlineWorker()

    @pytest.fixture
    def pause(self) -> Pause:
        return lambda: None


class TestThreadWorker(WorkerContract):
    @pytest.fixture
    def worker(self) -> Iterator[ThreadWorker]:
        worker = ThreadWorker("test")
        yield worker
        worker.close()

    @pytest.fixture
    def pause(self) -> Pause:
        return lambda: time.sleep(0.005)


def test_a_thread_leaves_the_event_loop_free() -> None:
    async def story() -> int:
        worker, turns = ThreadWorker("free"), 0
        release = threading.Event()
        task = asyncio.create_task(worker.run(lambda: release.wait(10)))
        for _ in range(10):
            turns += 1
            await asyncio.sleep(0)
        release.set()
        assert await task
        worker.close()
        return turns

    assert asyncio.run(story()) == 10


def test_the_thread_has_a_name_and_ends_with_the_worker() -> None:
    async def story() -> None:
        worker = ThreadWorker("named")
        name = await worker.run(lambda: threading.current_thread().name)
        assert name.startswith("choir-named")
        worker.close()
        assert name not in {thread.name for thread in threading.enumerate()}

    asyncio.run(story())
