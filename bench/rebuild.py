"""Rebuilding from a snapshot reads only what came after it, in memory that does not grow with the log."""

from __future__ import annotations

from typing import cast

from bench.home import long_home
from bench.measure import Figure, Json, Target
from bench.stage import Stage, in_child

MEMORY_MB = 200
GROWTH = 1.2
"""How much more memory ten times the events may take: what the page cache of the tables has not filled yet."""


async def run(stage: Stage) -> Figure:
    raw: dict[str, Json] = {}
    peaks: list[float] = []
    for count in (stage.size.short, stage.size.long):
        home, made = await long_home(stage, count)
        stage.say(f"rebuilding {count:,} events ...")
        tail = await in_child("rebuild", str(home))
        full = await in_child("rebuild-full", str(home))
        raw[str(count)] = {"make": made, "rebuild": tail, "rebuild_full": full}
        peaks.append(max(number(one, "peak_rss_mb") for one in (made, tail, full)))
    behind = number(tail, "seq") - number(tail, "snapshot")
    return Figure(
        f"Rebuild of {stage.size.long:,} events with a snapshot, beside {stage.size.short:,}",
        [
            Target(
                "records read, for each event behind the snapshot", number(tail, "read") / behind, "x", 1.01
            ),
            Target(f"peak memory, {stage.size.long:,} events", peaks[1], "MB", MEMORY_MB),
            Target(f"peak memory, {stage.size.short:,} events", peaks[0], "MB", MEMORY_MB),
            Target("memory with ten times the events", peaks[1] / peaks[0], "x", GROWTH),
            Target(
                "views that differed from the rebuilt ones", len(cast("list[str]", tail["differed"])), "", 0
            ),
            Target("from the snapshot", number(tail, "wall_s"), "s"),
            Target("from the beginning (--full)", number(full, "wall_s"), "s"),
        ],
        [
            f"{number(tail, 'read'):,.0f} records read for {behind:,.0f} events behind the snapshot of event",
            f"  {number(tail, 'snapshot'):,.0f}; both times include hashing all tables, the old and the new.",
            f"made in {number(made, 'write_s'):.0f} s, first projected in {number(made, 'project_s'):.0f} s,",
            f"  log {number(made, 'log_mb'):.0f} MB, tables {number(made, 'state_mb'):.0f} MB.",
            "peak memory: the largest of writing, projecting, keeping a snapshot, rebuilding, each in its own process.",
        ],
        raw,
    )


def number(told: dict[str, Json], name: str) -> float:
    return float(cast("float", told[name]))
