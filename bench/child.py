"""What figures let a process of its own do, so that its memory is its own: `python -m bench.child WORK HOME ...`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from bench.home import counted, make
from bench.measure import Json, Stopwatch, peak_rss_mb, rounded
from bench.stage import resolved
from choiros.wiring import disk_parts, rebuild


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


async def main(work: str, home: Path, *, numbers: list[int]) -> dict[str, Json]:
    match work:
        case "make":
            return await make(home, numbers[0], files=numbers[1], tail=numbers[2])
        case "rebuild" | "rebuild-full":
            return await rebuilt(home, full=work.endswith("full"))
        case _:
            raise ValueError(work)


if __name__ == "__main__":
    told = asyncio.run(main(sys.argv[1], Path(sys.argv[2]), numbers=[int(one) for one in sys.argv[3:]]))
    sys.stdout.buffer.write(msgspec.json.encode(told))
