"""Every log engine keeps the promises of the port, so that another one fits in (F-16)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from choiros.engines.clock.system import SystemClock
from choiros.engines.log.memory import MemoryLog
from choiros.engines.log.sqlite import SqliteLog
from choiros.engines.worker.inline import InlineWorker
from choiros.engines.worker.thread import ThreadWorker
from choiros.kernel.log import EventLog
from choiros.kernel.worker import Worker
from choiros.testing.log_contract import LogContract, Reopen


class TestMemoryLog(LogContract):
    @pytest.fixture
    def log(self) -> MemoryLog:
        return MemoryLog()

    @pytest.fixture
    def reopen(self, log: EventLog) -> Reopen:
        async def reopen() -> EventLog:
            await log.close()
            return log

        return reopen


class TestSqliteLog(LogContract):
    @pytest.fixture
    def worker(self) -> Worker:
        return InlineWorker()

    @pytest.fixture
    def log(self, tmp_path: Path, worker: Worker) -> SqliteLog:
        return SqliteLog(lambda user: tmp_path / f"{user}.db", worker, clock=SystemClock())

    @pytest.fixture
    def reopen(self, log: EventLog, tmp_path: Path, worker: Worker) -> Reopen:
        async def reopen() -> EventLog:
            await log.close()
            return SqliteLog(lambda user: tmp_path / f"{user}.db", worker, clock=SystemClock())

        return reopen


class TestSqliteLogInAThread(TestSqliteLog):
    @pytest.fixture
    def worker(self) -> Iterator[Worker]:
        worker = ThreadWorker("log")
        yield worker
        worker.close()
