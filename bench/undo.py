"""Undo of a run of 100 files behind a long history, and one file as it was at any event."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from bench.home import RUN_FILES, long_home, opened
from bench.measure import Figure, Json, Spent, Stopwatch, Target, median, spread
from bench.stage import RUN, Stage
from bench.story import WORKSPACE
from choiros.features.files.load import read_all
from choiros.features.undo.commands import Redo, Undo
from choiros.kernel.dispatch import Done

if TYPE_CHECKING:
    from msgspec import Struct

    from choiros.wiring import Computer

ASKED = 500
UNDOS = 5


class Timed:
    """One computer, and how long each part of handling a wish takes on it."""

    def __init__(self, computer: Computer) -> None:
        self._computer = computer
        self._effects = Spent(0, 0)
        self._effects_of = computer.reactors.catch_up
        computer.reactors.catch_up = self._catch_up  # type: ignore[method-assign]

    async def _catch_up(self) -> object:
        with Stopwatch() as watch:
            found = await self._effects_of()
        self._effects = watch.spent
        return found

    async def plan(self, wish: Struct) -> float:
        with Stopwatch() as watch:
            await self._computer.kernel.propose(wish, self._computer.context())
        return 1000 * watch.spent.wall

    async def handle(self, wish: Struct) -> tuple[int, float, float, float]:
        """Return the events it led to, then milliseconds: on the wall and of the processor before effects; effects."""
        with Stopwatch() as watch:
            outcome = await self._computer.kernel.handle(wish, self._computer.context())
        assert isinstance(outcome, Done)
        assert not outcome.troubles, outcome.troubles
        before = watch.spent.wall - self._effects.wall
        cpu = watch.spent.cpu - self._effects.cpu
        return len(outcome.events), 1000 * before, 1000 * cpu, 1000 * self._effects.wall


async def asked(computer: Computer) -> tuple[list[float], list[float]]:
    """Return milliseconds for finding what stood at a path after an event, and with reading its content."""
    chance = random.Random(2)
    head = (await computer.journal.head()).seq
    paths = chance.sample(sorted(computer.files.below(WORKSPACE)), ASKED // 2)
    busiest = sorted(paths, key=lambda path: -len(computer.files.history(WORKSPACE, path)))[:5]
    finding: list[float] = []
    reading: list[float] = []
    for turn in range(ASKED):
        path = chance.choice(paths if turn % 2 else busiest)
        start = time.perf_counter()
        version = computer.files.at(WORKSPACE, path, seq=chance.randrange(head))
        found = time.perf_counter()
        if version is not None and version.entry is not None and version.entry.kind == "file":
            await read_all(computer.parts.blobs, version.entry.content)
            reading.append(1000 * (time.perf_counter() - start))
        finding.append(1000 * (found - start))
    return finding, reading


async def run(stage: Stage) -> Figure:
    home, _ = await long_home(stage, stage.size.long)
    computer = await opened(home)
    stage.say("showing the workspace in its folder ...")
    with Stopwatch() as showing:
        await computer.merger.materialise(WORKSPACE, computer.files.below(WORKSPACE))
    timed = Timed(computer)
    undos: list[tuple[int, float, float, float]] = []
    plans: list[float] = []
    for _ in range(UNDOS):
        wish = Undo(WORKSPACE, run=RUN)
        plans.append(await timed.plan(wish))
        undos.append(await timed.handle(wish))
        await timed.handle(Redo(WORKSPACE))
    finding, reading = await asked(computer)
    files = len(computer.files.below(WORKSPACE))
    head = (await computer.journal.head()).seq
    await computer.close()
    kernel = [one[1] for one in undos]
    raw: dict[str, Json] = {
        "events": head,
        "entries": files,
        "undo_events": undos[0][0],
        "plan_ms": spread(plans),
        "undo_ms": spread(kernel),
        "undo_cpu_ms": spread([one[2] for one in undos]),
        "effects_ms": spread([one[3] for one in undos]),
        "at_ms": spread(finding),
        "at_with_content_ms": spread(reading),
        "show_all_s": round(showing.spent.wall, 2),
    }
    return Figure(
        f"Undo of a run of {RUN_FILES} files: {files:,} files and folders, {head:,} events",
        [
            Target("undo: plan, judge, append durably, project", median(kernel), "ms", 100),
            Target("of it the plan alone (what a preview takes)", median(plans), "ms"),
            Target("undo: the folder then shows it (file I/O)", median([one[3] for one in undos]), "ms"),
            Target("one file as of an event", percentile(finding, 0.99), "ms", 5),
            Target("the same with its content", percentile(reading, 0.99), "ms", 5),
        ],
        [
            f"undo and redo {UNDOS} times; medians. The first undo took {kernel[0]:.1f} ms; processor alone",
            f"  {median([one[2] for one in undos]):.1f} ms. {undos[0][0]} events each.",
            f"as of an event: {ASKED} questions, half of them for the five busiest files; 99th percentile",
            f"  (median {median(finding):.2f} ms, with content {median(reading):.2f} ms).",
            f"showing all {files:,} in an empty folder took {showing.spent.wall:.1f} s.",
        ],
        raw,
    )


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]
