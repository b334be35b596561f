"""Reading a log of file events back on one core: decoded, verified, both, and through every view."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import msgspec

from bench.measure import Figure, Spent, Stopwatch, Target, interleaved, median, spread
from bench.stage import Stage
from bench.story import USER, Story, contents, write
from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import SqliteLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.event import GENESIS, Head, Point, open_records
from choiros.kernel.journal import BATCH, READ, Journal
from choiros.kernel.projector import ProjectorRunner
from choiros.wiring import projectors, registry

PROJECTIONS_ROUNDS = 3


class Replays:
    """Ways to read one log from its beginning; each returns events a second of processor time."""

    def __init__(self, log: SqliteLog, directory: Path) -> None:
        self._log = log
        self._journal = Journal(log, registry(), user=USER)
        self._directory = directory
        self._tables = 0
        self.walls: dict[str, list[float]] = {}

    def _rate(self, name: str, count: int, *, spent: Spent) -> float:
        self.walls.setdefault(name, []).append(count / spent.wall)
        return count / spent.cpu

    async def read(self) -> float:
        count = 0
        with Stopwatch() as watch:
            async for records in self._log.read(USER, batch=READ):
                count += len(records)
        return self._rate("read", count, spent=watch.spent)

    async def decoded(self) -> float:
        """Each head and each payload as its type declares it, but no hash."""
        head, payload = msgspec.json.Decoder(Head).decode, self._journal.registry.decode
        count = 0
        with Stopwatch() as watch:
            async for records in self._log.read(USER, batch=READ):
                pairs = [(found := head(record.head), payload(found, record.payload)) for record in records]
                count += len(pairs)
        return self._rate("decoded", count, spent=watch.spent)

    async def verified(self) -> float:
        """The chain and the hash of each payload; this reads heads, but no payload."""
        count, place = 0, Point(0, GENESIS)
        with Stopwatch() as watch:
            async for records in self._log.read(USER, batch=READ):
                count += len(open_records(records, place))
                place = Point(records[-1].seq, records[-1].hash)
        return self._rate("verified", count, spent=watch.spent)

    async def both(self) -> float:
        """What the rest of the kernel gets: Journal.events."""
        count = 0
        with Stopwatch() as watch:
            async for events in self._journal.events(Point(0, GENESIS)):
                count += len(events)
        return self._rate("both", count, spent=watch.spent)

    async def projected(self) -> float:
        """Read, decoded, verified, and through every view into a new file."""
        self._tables += 1
        tables = SqliteTables(self._directory / f"state-{self._tables}.sqlite")
        runner = ProjectorRunner(self._journal, tables, projectors=projectors(self._journal.registry))
        runner.prepare()
        with Stopwatch() as watch:
            position = await runner.catch_up()
        tables.close()
        return self._rate("projected", position.seq, spent=watch.spent)


@contextmanager
def on_one_core() -> Generator[None]:
    """Keep this process on a single core inside `with`."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


async def told(log: SqliteLog, stage: Stage) -> int:
    """Write the log and return how many events it holds."""
    story = Story(stage.size.files, contents(1000))
    return await write(log, chain(story.opening(), story.middle()), until=stage.size.replayed)


async def run(stage: Stage) -> Figure:
    with stage.room("replay") as directory, on_one_core():
        log = SqliteLog(lambda _: directory / "log.db", InlineWorker(), clock=SystemClock())
        count = await told(log, stage)
        replays = Replays(log, directory)
        ways: dict[str, Callable[[], Awaitable[float]]] = {
            "read": replays.read,
            "decoded": replays.decoded,
            "verified": replays.verified,
            "both": replays.both,
        }
        rates = await interleaved(ways, stage.size.rounds)
        rates |= await interleaved(
            {"projected": replays.projected}, min(stage.size.rounds, PROJECTIONS_ROUNDS)
        )
        await log.close()
    middle = {name: median(values) for name, values in rates.items()}
    return Figure(
        f"Replay of {count:,} file events on one core (events per second of processor time)",
        [
            Target("read and decoded, not verified", middle["decoded"], "/s", 350_000, at_least=True),
            Target(
                "read, chain and payload hashes verified", middle["verified"], "/s", 300_000, at_least=True
            ),
            Target("through all views", middle["projected"], "/s", 50_000, at_least=True),
            Target("read, verified and decoded (Journal.events)", middle["both"], "/s"),
            Target("read alone", middle["read"], "/s"),
        ],
        [
            "on the wall: "
            + ", ".join(f"{name} {median(values):,.0f}/s" for name, values in replays.walls.items()),
            f"read in lists of {READ}, views follow in lists of {BATCH}; three events in ten are verdicts,",
            f"  the others file events in {stage.size.files:,} files.",
        ],
        {
            "events": count,
            "batch": [READ, BATCH],
            "cpu": {name: spread(values) for name, values in rates.items()},
            "wall": {name: spread(values) for name, values in replays.walls.items()},
        },
    )
