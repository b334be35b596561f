"""Looking at a folder: a scan that finds nothing new, and the first import of files that are new; for our own eyes."""

from __future__ import annotations

import random
from pathlib import Path

from bench.home import long_home, opened
from bench.measure import Figure, Stopwatch, Target, median, spread
from bench.stage import Stage
from bench.story import WORKSPACE

FILE_BYTES = 4096


def fill(folder: Path, count: int) -> None:
    """Write files that look like nothing before."""
    chance = random.Random(3)
    for number in range(count):
        path = folder / f"part_{number // 100:03d}" / f"file_{number % 100:02d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chance.randbytes(FILE_BYTES // 2).hex().encode())


async def scanned(stage: Stage) -> tuple[int, list[float]]:
    """Return how many paths a folder holds, and milliseconds for finding out that nothing has changed."""
    home, _ = await long_home(stage, stage.size.long)
    computer = await opened(home)
    await computer.merger.materialise(WORKSPACE, computer.files.below(WORKSPACE))
    took: list[float] = []
    for _ in range(stage.size.rounds + 1):
        with Stopwatch() as watch:
            found = await computer.merger.capture(WORKSPACE)
        assert not found.events
        took.append(1000 * watch.spent.wall)
    count = len(computer.files.below(WORKSPACE))
    await computer.close()
    # The first look after writing reads what was written a moment ago once more.
    return count, took[1:]


async def imported(stage: Stage) -> tuple[int, float, float]:
    """Return how many events an import of new files led to, seconds on the wall, and of the processor."""
    with stage.room("import") as directory:
        home = directory / "home"
        home.mkdir()
        computer = await opened(home)
        workspace = computer.workspaces.all()[0]
        fill(Path(computer.place(workspace)), stage.size.imported)
        with Stopwatch() as watch:
            found = await computer.merger.capture(workspace.id)
        await computer.close()
    return len(found.events), watch.spent.wall, watch.spent.cpu


async def run(stage: Stage) -> Figure:
    count, took = await scanned(stage)
    events, wall, cpu = await imported(stage)
    return Figure(
        f"A scan of {count:,} files and folders, and an import of {stage.size.imported:,} files",
        [
            Target("scan that finds nothing new", median(took), "ms"),
            Target(f"import of files of {FILE_BYTES} bytes, durable", stage.size.imported / wall, "files/s"),
            Target("import", wall, "s"),
            Target("of it the processor", cpu, "s"),
        ],
        [f"the import led to {events:,} events in one batch; every content is on disk before them."],
        {
            "paths": count,
            "scan_ms": spread(took),
            "import_s": wall,
            "import_cpu_s": cpu,
            "import_events": events,
        },
    )
