"""Everything of a person goes into one file and comes back from it, in memory that does not grow with the log."""

from __future__ import annotations

from bench.home import long_home
from bench.measure import Figure, Json, Target
from bench.rebuild import number
from bench.stage import Stage, clear, in_child

SECONDS = 60
GROWTH = 1.2
"""How much more memory ten times the events may take: what the page cache of the tables has not filled yet."""


async def run(stage: Stage) -> Figure:
    raw: dict[str, Json] = {}
    peaks: dict[str, list[float]] = {"export": [], "import": []}
    for count in (stage.size.short, stage.size.long):
        home, _ = await long_home(stage, count)
        with stage.room(f"portable-{count}") as room:
            stage.say(f"exporting {count:,} events ...")
            exported = await in_child("export", str(home), str(room / "me.tar"))
            stage.say(f"importing {count:,} events ...")
            imported = await in_child("import", str(room / "home"), str(room / "me.tar"))
            clear(room / "home")
        raw[str(count)] = {"export": exported, "import": imported}
        peaks["export"].append(number(exported, "peak_rss_mb"))
        peaks["import"].append(number(imported, "peak_rss_mb"))
    return Figure(
        f"Export and import of {stage.size.long:,} events and {stage.size.files:,} files",
        [
            Target("export", number(exported, "wall_s"), "s", SECONDS),
            Target("export, this process alone", number(exported, "cpu_s"), "s"),
            Target("import, up to the same state hash", number(imported, "wall_s"), "s", SECONDS),
            Target("import, this process alone", number(imported, "cpu_s"), "s"),
            *(
                Target(f"memory of {act} with ten times the events", both[1] / both[0], "x", GROWTH)
                for act, both in peaks.items()
            ),
            Target("peak memory of export", peaks["export"][1], "MB"),
            Target("peak memory of import", peaks["import"][1], "MB"),
            Target("size of the file", number(exported, "file_mb"), "MB"),
        ],
        ["each in a process of its own; the time with folders restored is in the raw numbers."],
        raw,
    )
