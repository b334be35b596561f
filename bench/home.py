"""A data directory with a long history, made once a run by a process of its own and shared by several figures."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import msgspec

from bench.measure import Json, Stopwatch, peak_rss_mb, rounded
from bench.stage import RUN, Stage, in_child, resolved
from bench.story import USER, Story, contents, write
from choiros.kernel.event import Record
from choiros.kernel.log import EventLog
from choiros.wiring import Computer, Parts, disk_parts, open_computer

RUN_FILES = 100


async def long_home(stage: Stage, count: int) -> tuple[Path, dict[str, Json]]:
    """Return where a history of about `count` events lies, and what making it took."""
    path = stage.home(count)
    if path not in stage.made:
        stage.say(f"making a history of {count:,} events ...")
        numbers = [str(one) for one in (count, stage.size.files, stage.size.tail)]
        stage.made[path] = await in_child("make", str(path), *numbers)
    return path, stage.made[path]


async def opened(home: Path, parts: Parts | None = None, *, snapshots: int | None = None) -> Computer:
    """Open the computer in a data directory."""
    wanted = resolved(home) if snapshots is None else resolved(home, snapshots=snapshots)
    return await open_computer(parts or disk_parts(wanted), wanted.settings, write=True, notice=print)


async def make(home: Path, count: int, *, files: int, tail: int) -> dict[str, Json]:
    """Write the log, project all of it but a tail, keep a snapshot, write the tail, project it."""
    home.mkdir()  # noqa: ASYNC240 - a benchmark waits for its own folder
    texts = contents(1000)
    story = Story(files, texts)
    parts = disk_parts(resolved(home))
    for text in texts:
        await parts.blobs.put(text)
    await parts.blobs.flush()
    middle = story.middle()
    with Stopwatch() as writing:
        await write(parts.log, chain(story.opening(), middle), until=count - tail)
    with Stopwatch() as projecting:
        computer = await opened(home, parts, snapshots=1)
    projected = computer.projectors.position().seq
    with Stopwatch() as keeping:
        await computer.keep_snapshot()
    await write(parts.log, middle, until=count - 2 * RUN_FILES)
    await write(parts.log, story.last_run(RUN, RUN_FILES))
    await computer.projectors.catch_up()
    await computer.close()
    data = home / "users" / USER / ".choir"
    return {
        "events": projected,
        "write_s": rounded(writing.spent.wall),
        "project_s": rounded(projecting.spent.wall),
        "project_cpu_s": rounded(projecting.spent.cpu),
        "snapshot_s": rounded(keeping.spent.wall),
        "log_mb": rounded((data / "log.db").stat().st_size / 1e6),
        "state_mb": rounded((data / "state.sqlite").stat().st_size / 1e6),
        "peak_rss_mb": rounded(peak_rss_mb()),
    }


class CountingLog:
    """Passes a log on and counts the records that are read from it."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.count = 0
        self.head, self.append, self.follow, self.close = log.head, log.append, log.follow, log.close

    async def read(self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000):  # noqa: ANN201
        async for records in self._log.read(user, after, limit=limit, batch=batch):
            self.count += len(records)
            yield records

    async def fetch(self, user: str, seqs: list[int]) -> list[Record]:
        records = await self._log.fetch(user, seqs)
        self.count += len(records)
        return records


def counted(parts: Parts) -> tuple[Parts, CountingLog]:
    """Return the same engines, with a log that counts."""
    log = CountingLog(parts.log)
    return msgspec.structs.replace(parts, log=log), log
