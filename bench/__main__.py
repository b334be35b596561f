"""Takes the figures: `python -m bench [NAME...] [--json] [--quick]`; without a name all of them."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import apsw
import msgspec

from bench.measure import Figure, Json, fdatasync_rate, file_system, median, rounded
from bench.stage import FULL, QUICK, Stage, checkout

NAMES = ("append", "replay", "rebuild", "portable", "undo", "queries", "proof", "scan", "start")
"""In this order: what makes the long history comes before what reads it."""

HISTORY = Path(__file__).with_name("history.ndjson")


def main() -> int:
    options = parsed()
    stage_of = Stage
    size = QUICK if options.quick else FULL
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=options.directory) as name:
        stage = stage_of(Path(name), size, options.quick)
        machine = described(stage.directory)
        figures = asyncio.run(taken(stage, options.names or list(NAMES), quiet=options.json))
        rates = [float(str(machine["fdatasync_per_s"])), fdatasync_rate(stage.directory)]
    machine["fdatasync_per_s"] = rounded(median(rates))
    entry: dict[str, Json] = {
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": bool(options.quick),
        "seconds": rounded(time.perf_counter() - started),
        "machine": machine,
        "figures": {name: figure.as_json() for name, figure in figures.items()},
    }
    if not options.unkept:
        with HISTORY.open("ab") as file:
            file.write(msgspec.json.encode(entry) + b"\n")
    if options.json:
        print(msgspec.json.encode(entry).decode())
    else:
        print(f"\n{machine_line(machine)}, {entry['seconds']} s in all")
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*NAMES, []], help=", ".join(NAMES))
    parser.add_argument("--json", action="store_true", help="print one JSON line, the one that history keeps")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, less than a minute")
    parser.add_argument(
        "--directory", help="a directory on the disk to measure, instead of the system's for temporary files"
    )
    parser.add_argument("--unkept", action="store_true", help="do not add this run to bench/history.ndjson")
    return parser.parse_args()


async def taken(stage: Stage, names: list[str], *, quiet: bool) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for name in NAMES:
        if name in names:
            stage.say(f"{name} ...")
            figures[name] = await importlib.import_module(f"bench.{name}").run(stage)
            if not quiet:
                print("\n" + figures[name].text(), flush=True)
    return figures


def described(directory: Path) -> dict[str, Json]:
    """Return what a reader must know of the machine, and nothing that names it."""
    import os  # noqa: PLC0415

    kind = file_system(directory)
    if kind in {"tmpfs", "ramfs"}:
        print(f"bench: {directory} is {kind}: nothing is durable there; give --directory", file=sys.stderr)
    return {
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": rounded(os.getloadavg()[0]),
        "file_system": kind,
        "fdatasync_per_s": rounded(fdatasync_rate(directory)),
    }


def machine_line(machine: dict[str, Json]) -> str:
    return (
        f"Python {machine['python']}, SQLite {machine['sqlite']}, {machine['cores']} cores, load {machine['load']} at"
        f" the start, {machine['file_system']}, raw fdatasync {machine['fdatasync_per_s']}/s"
    )


def commit() -> str:
    """Return the commit that was measured, with a mark when the checkout differs from it."""

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(checkout()), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    changed = bool(git("status", "--porcelain", "--untracked-files=no"))
    return git("rev-parse", "HEAD") + ("+changed" if changed else "")


if __name__ == "__main__":
    raise SystemExit(main())
