"""How long the command line takes to answer, over what Python itself takes to start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.home import long_home
from bench.measure import Figure, Target, interleaved, median, spread
from bench.stage import Stage, checkout

BARE, VERSION, LOG, SCRIPT = "python -I -c pass", "choir --version", "choir log -n 20", "./choir --version"


class Starts:
    """Starts programs one after the other; each call returns milliseconds until the program has ended."""

    def __init__(self, home: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment: Mapping[str, str] = {**kept, "CHOIR_HOME": str(home)}
        self._choir = str(Path(sys.executable).with_name("choir"))

    def _run(self, command: Sequence[str]) -> float:
        start = time.perf_counter()
        subprocess.run(command, env=self._environment, stdout=subprocess.DEVNULL, check=True)
        return 1000 * (time.perf_counter() - start)

    async def bare(self) -> float:
        return self._run([sys.executable, "-I", "-c", "pass"])

    async def version(self) -> float:
        return self._run([self._choir, "--version"])

    async def log(self) -> float:
        return self._run([self._choir, "log", "-n", "20"])

    async def script(self) -> float:
        return self._run([str(checkout() / "choir"), "--version"])


async def run(stage: Stage) -> Figure:
    home, _ = await long_home(stage, stage.size.long)
    starts = Starts(home)
    ways = {BARE: starts.bare, VERSION: starts.version, LOG: starts.log}
    if Path(sys.executable).is_relative_to(checkout()):
        # The script prepares an environment that is not ready, so it is only called from its own.
        ways[SCRIPT] = starts.script
    for way in ways.values():
        await way()
    took = await interleaved(ways, stage.size.starts)
    middle = {name: median(values) for name, values in took.items()}
    return Figure(
        f"Start of the command line, {stage.size.long:,} events, medians of {stage.size.starts} interleaved",
        [
            Target(f"{VERSION}, over Python's own start", middle[VERSION] - middle[BARE], "ms", 80),
            Target(f"{LOG}, over Python's own start", middle[LOG] - middle[BARE], "ms", 150),
            *(Target(name, value, "ms") for name, value in middle.items()),
        ],
        [],
        {name: spread(values) for name, values in took.items()},
    )
