"""What figures let a process of its own do, so that its memory is its own: `python -m bench.child WORK HOME ...`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from bench.home import counted, make, opened
from bench.measure import Json, Stopwatch, peak_rss_mb, rounded
from bench.stage import resolved
from bench.story import WORKSPACE
from choiros.wiring import disk_parts, rebuild
from choiros.wiring.portable.arriving import bring_in
from choiros.wiring.portable.backups import tar_archive
from choiros.wiring.portable.packing import export


async def rebuilt(home: Path, *, full: bool) -> dict[str, Json]:
    """Rebuild everything derived, and tell how much of the log was read for it."""
    wanted = resolved(home)
    parts, log = counted(disk_parts(wanted))
    await parts.lock.acquire(10)
    before = peak_rss_mb()
    with Stopwatch() as watch:
        result = await rebuild(parts, wanted.settings, full=full)
    parts.lock.release()
    await parts.log.close()
    return {
        "seq": result.seq,
        "snapshot": result.snapshot,
        "read": log.count,
        "differed": list(result.differed),
        "wall_s": rounded(watch.spent.wall),
        "cpu_s": rounded(watch.spent.cpu),
        "idle_rss_mb": rounded(before),
        "peak_rss_mb": rounded(peak_rss_mb()),
    }


def silent(what: str, done: int, of: int) -> None:  # noqa: PLR0917 - called by position
    """Take what is told about the progress."""


def spent(watch: Stopwatch) -> dict[str, Json]:
    return {
        "wall_s": rounded(watch.spent.wall),
        "cpu_s": rounded(watch.spent.cpu),
        "peak_rss_mb": rounded(peak_rss_mb()),
    }


async def exported(home: Path, file: Path) -> dict[str, Json]:
    """Export everything into a file."""
    computer = await opened(home)
    with Stopwatch() as watch:
        done = await export(computer, tar_archive(file), progress=silent)
    await computer.close()
    return {
        "seq": done.manifest.seq,
        "contents": done.manifest.contents.count,
        "file_mb": rounded(done.written.size_bytes / 1e6),
        **spent(watch),
    }


async def imported(home: Path, file: Path) -> dict[str, Json]:
    """Bring the file in where nothing is, then let the folders show it."""
    with Stopwatch() as watch:
        arrival = await bring_in(resolved(home), tar_archive(file), file=file.name, progress=silent)
    told = {"seq": arrival.manifest.seq, **spent(watch)}
    with Stopwatch() as showing:
        computer = await opened(home)
        shown = await computer.merger.capture(WORKSPACE)
        await computer.close()
    return {**told, "files": shown.restored, "folders_wall_s": rounded(showing.spent.wall)}


async def main(work: str, home: Path, *, rest: list[str]) -> dict[str, Json]:
    match work:
        case "make":
            count, files, tail = map(int, rest)
            return await make(home, count, files=files, tail=tail)
        case "export":
            return await exported(home, Path(rest[0]))
        case "import":
            return await imported(home, Path(rest[0]))
        case "rebuild" | "rebuild-full":
            return await rebuilt(home, full=work.endswith("full"))
        case _:
            raise ValueError(work)


if __name__ == "__main__":
    told = asyncio.run(main(sys.argv[1], Path(sys.argv[2]), rest=sys.argv[3:]))
    sys.stdout.buffer.write(msgspec.json.encode(told))
