"""The test's side of a host: gives it jobs and reads how they ended."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.checkout import ROOT


class Ended(NamedTuple):
    """How a job ended: its exit code or, negative, its signal; what it printed; what strace wrote.

    `late` is what it printed while the power was failing already.
    """

    status: int
    late: str
    out: str
    err: str
    trace: str


class Host:
    """A process that carries out acts in forks of itself; see `tests.soak.host`."""

    def __init__(self, folder: Path, *, sabotage: str = "", preload: str = "") -> None:
        self.folder = folder
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CHOIR_")}
        environment |= {"CHOIROS_SABOTAGE": sabotage, "PYTHONHASHSEED": "0"}
        if preload:
            environment["LD_PRELOAD"] = preload
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.host", str(folder)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(
        self, act: str, *, strace: Sequence[str] = (), end: dict[str, Any] | None = None, **arguments: Any
    ) -> Ended:
        """Let a fork of the host carry out an act, and return how it ended."""
        job = {"act": act, "arguments": arguments, "strace": list(strace), "end": end}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the host has gone"
        return Ended(**json.loads(line))

    def check(self, home: Path, acknowledged: Sequence[tuple[int, str]] = (), **more: Any) -> str:
        """Return what does not hold of a data directory, '' when all does."""
        ended = self.do("check", home=str(home), acknowledged=list(acknowledged), **more)
        return "" if ended.status == 0 else ended.err

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


def moment(dice: random.Random, *, longest_s: float, cut: str = "") -> dict[str, Any]:
    """Return when a writer is to be killed, or the power of a disk cut: mostly while it is at work."""
    return {
        "after_first_word": dice.random() < 0.8,
        "after_s": dice.uniform(0, longest_s),
        "cut": cut,
    }
