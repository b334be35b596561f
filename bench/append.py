"""Durable append, one event a call, 32 callers: beside bare INSERTs of the same bytes, and beside `eventsourcing`."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast
from uuid import UUID, uuid4

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from bench.measure import Figure, Target, fdatasync_rate, interleaved, median, rounded, spread
from bench.stage import Stage
from bench.story import USER, Story, contents
from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import LogFile, Pending, SqliteLog
from choiros.engines.worker.thread import ThreadWorker
from choiros.kernel.event import GENESIS, Draft, Point, Record, seal

CALLERS = 32
_SLOWER = 8
"""`eventsourcing` is given this many times fewer events, so that a round takes about as long."""

_names = itertools.count()


class BareFile(LogFile):
    """The same file and table, written without anything that makes it a log of ours."""

    def commit(self, group: Sequence[Pending]) -> list[list[Record] | Exception]:
        records = cast("list[Record]", [row for pending in group for row in pending.drafts])
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", records)
        self._db.execute("COMMIT")
        return [[record] for record in records]


class BareLog(SqliteLog):
    """The same queue, the same groups, the same thread, around a bare file."""

    def _file(self, user: str) -> LogFile:
        if user not in self._files:
            self._files[user] = BareFile(self._path_of(user))
        return self._files[user]


async def shared_out(call: Callable[[], Awaitable[object]], count: int) -> float:
    """Let 32 tasks make `count` calls between them and return calls a second."""

    async def caller() -> None:
        for _ in range(count // CALLERS):
            await call()

    start = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return count // CALLERS * CALLERS / (time.perf_counter() - start)


class Contest:
    """The contestants; each call is one round of one of them on a fresh file, and returns events a second."""

    def __init__(self, directory: Path, count: int) -> None:
        self._directory = directory
        self._count = count
        self._story = Story(1000, contents(200))
        self.facts = [self._story.fact() for _ in range(count)]
        self.drafts = [self._story.draft(fact, "user", cause=None) for fact in self.facts]
        self.records = sealed(self.drafts)
        self.settings: dict[str, str] = {}

    def _path(self) -> Path:
        return self._directory / f"{next(_names)}.db"

    async def ours(self) -> float:
        """Drafts go into the log: order, duplicates, encoding of the head, two hashes, the record given back."""
        return await self._appended(SqliteLog, iter(self.drafts))

    async def made(self) -> float:
        """The same, with each draft made from its payload on the way: id, salt, encoding, check of the type."""
        story = self._story
        return await self._appended(SqliteLog, (story.draft(fact, "user", cause=None) for fact in self.facts))

    async def bare(self) -> float:
        """Rows that were made beforehand go into the same table."""
        return await self._appended(BareLog, cast("Iterator[Draft]", iter(self.records)))

    async def _appended(self, kind: type[SqliteLog], drafts: Iterator[Draft]) -> float:
        path, worker = self._path(), ThreadWorker("log")
        log = kind(lambda _: path, worker, clock=SystemClock())
        await log.head(USER)
        rate = await shared_out(lambda: log.append(USER, [next(drafts)]), self._count)
        await log.close()
        worker.close()
        return rate

    def _recorder(self) -> tuple[SQLiteDatastore, SQLiteApplicationRecorder]:
        store = SQLiteDatastore(str(self._path()))
        recorder = SQLiteApplicationRecorder(store)
        recorder.create_table()
        with store.transaction(commit=False) as cursor:
            for name in ("journal_mode", "synchronous"):
                cursor.execute(f"PRAGMA {name}")
                self.settings[name] = str(cursor.fetchone()[0])
        return store, recorder

    def _foreign(self) -> Iterator[StoredEvent]:
        """The same bytes, made beforehand; each of 32 aggregates gets one event after the other."""
        aggregates: list[UUID] = [uuid4() for _ in range(CALLERS)]
        records = self.records[: self._count // _SLOWER]
        return iter(
            [
                StoredEvent(aggregates[number % CALLERS], number // CALLERS + 1, "file.write", body(record))
                for number, record in enumerate(records)
            ]
        )

    async def foreign_tasks(self) -> float:
        """32 tasks hand their calls to one thread, as ours do."""
        events, worker = self._foreign(), ThreadWorker("foreign")
        store, recorder = self._recorder()

        async def call() -> None:
            event = next(events)
            await worker.run(lambda: recorder.insert_events([event]))

        rate = await shared_out(call, self._count // _SLOWER)
        worker.close()
        store.close()
        return rate

    async def foreign_threads(self) -> float:
        """32 threads call, each by itself."""
        events = list(self._foreign())
        store, recorder = self._recorder()

        def caller(number: int) -> None:
            for event in events[number::CALLERS]:
                recorder.insert_events([event])

        with ThreadPoolExecutor(CALLERS) as threads:
            start = time.perf_counter()
            for _ in threads.map(caller, range(CALLERS)):
                pass
            took = time.perf_counter() - start
        store.close()
        return len(events) / took

    async def disk(self) -> float:
        return fdatasync_rate(self._directory)


def sealed(drafts: Sequence[Draft]) -> list[Record]:
    """Return what our log would store for these drafts."""
    records: list[Record] = []
    place = Point(0, GENESIS)
    for draft in drafts:
        records.append(seal(draft, place))
        place = Point(records[-1].seq, records[-1].hash)
    return records


def body(record: Record) -> bytes:
    """Return all bytes that our log stores for an event."""
    return record.head + record.salt + (record.payload or b"") + record.hash


async def run(stage: Stage) -> Figure:
    with stage.room("append") as directory:
        contest = Contest(directory, stage.size.appends)
        rates = await interleaved(
            {
                "ours": contest.ours,
                "ours, with making the events": contest.made,
                "bare": contest.bare,
                "eventsourcing, tasks": contest.foreign_tasks,
                "eventsourcing, threads": contest.foreign_threads,
                "fdatasync": contest.disk,
            },
            stage.size.rounds,
        )
    middle = {name: median(values) for name, values in rates.items()}
    foreign = max(middle["eventsourcing, tasks"], middle["eventsourcing, threads"])
    stored = sum(len(body(record)) for record in contest.records) / len(contest.records)
    return Figure(
        f"Durable append, one event a call, {CALLERS} callers (events/s)",
        [
            Target(
                "ours, share of bare INSERTs", 100 * middle["ours"] / middle["bare"], "%", 70, at_least=True
            ),
            Target("ours, times eventsourcing", middle["ours"] / foreign, "x", 8, at_least=True),
            *(Target(name, rate, "/s") for name, rate in middle.items()),
        ],
        [
            "each is given what it takes: ours drafts, the others finished rows or bytes.",
            "ours: order, duplicates, head encoded, two SHA-256, id index; making an event adds id, salt, payload",
            "  encoded and checked against its type.",
            f"bare: the same queue, groups, thread and table (id index too); rows of the same bytes ({stored:.0f});",
            "  no head, no hash; one executemany for a group.",
            "eventsourcing: SQLiteApplicationRecorder.insert_events([one]), bytes made beforehand, its own",
            f"  settings: {', '.join(f'{name}={value}' for name, value in contest.settings.items())} (2 is FULL);",
            "  the better of two ways of calling it counts.",
        ],
        {
            "rates": {name: spread(values) for name, values in rates.items()},
            "bytes_per_event": rounded(stored),
            "eventsourcing_pragmas": dict(contest.settings),
        },
    )
