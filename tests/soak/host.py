"""A process that has imported ChoirOS once and forks for each job, so that a fault costs milliseconds.

A job is one line of JSON: which act, its arguments, and what happens to the process that carries it out. The
answer is one line of JSON: how that process ended, and what it had printed by then.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import pkgutil
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import choiros
from tests.soak import sabotage
from tests.soak.acts import ACTS
from tests.soak.disk import cut

PR_SET_PTRACER = 0x59616D61
ANY_PROCESS = -1
PATIENCE_S = 3
AFTERWARDS_S = 0.02
FAILED = 111
"""The exit code of an act that raised."""


def main() -> None:
    # A fault is to meet the data, never the source of a module that was not imported yet.
    for module in pkgutil.walk_packages(choiros.__path__, "choiros."):
        importlib.import_module(module.name)
    sabotage.apply(os.environ.get("CHOIROS_SABOTAGE", ""))
    answers = os.fdopen(os.dup(1), "w")
    folder = Path(tempfile.mkdtemp(prefix="choiros-host-", dir=sys.argv[1]))
    os.environ["CHOIR_HOME"] = str(folder)
    for line in sys.stdin:
        job = json.loads(line)
        pid, release = _forked(job, folder)
        job_end = _watched(job, pid, release=release, folder=folder)
        job_end |= {name: _read(folder / name) for name in ("out", "err", "trace")}
        answers.write(json.dumps(job_end) + "\n")
        answers.flush()


def _read(path: Path) -> str:
    if not path.exists():
        return ""
    return path.read_text(encoding="utf-8", errors="replace")


def _forked(job: Mapping[str, Any], folder: Path) -> tuple[int, int]:
    """Start the act in a child that waits until something is written to the descriptor."""
    (folder / "trace").unlink(missing_ok=True)
    (folder / "out").write_bytes(b"")
    gate, release = os.pipe()
    pid = os.fork()
    if pid:
        os.close(gate)
        return pid, release
    os.close(release)
    status = FAILED
    try:
        _redirect(folder)
        if job.get("strace"):
            ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANY_PROCESS, 0, 0, 0)
        os.read(gate, 1)
        os.close(gate)
        status = ACTS[job["act"]](job["arguments"]) or 0
    except BaseException:  # noqa: BLE001 - the job tells it
        traceback.print_exc()
    finally:
        _flush(sys.stdout, sys.stderr)
        os._exit(status)


def _flush(*streams: TextIO) -> None:
    for stream in streams:
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _redirect(folder: Path) -> None:
    for number, name in ((0, os.devnull), (1, folder / "out"), (2, folder / "err")):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        descriptor = os.open(name, flags, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)


def _watched(job: Mapping[str, Any], pid: int, *, release: int, folder: Path) -> dict[str, Any]:
    """Let the child go, do to it what the job says, and return how it ended."""
    tracer = _attached(job["strace"], pid, folder / "trace") if job.get("strace") else None
    os.write(release, b"x")
    os.close(release)
    late, before = "", 0
    if job.get("end"):
        before = _end(job["end"], pid, said=folder / "out")
    _, status = os.waitpid(pid, 0)
    if job.get("end") and job["end"]["cut"]:
        # While the power fails nobody can say which came first: what counts was printed before.
        said = (folder / "out").read_bytes()
        late = said[before:].decode()
        (folder / "out").write_bytes(said[:before])
    if tracer is not None:
        tracer.wait()
    return {"status": os.waitstatus_to_exitcode(status), "late": late}


def _end(how: Mapping[str, Any], pid: int, *, said: Path) -> int:
    """Kill the child, or cut the power under it, some time after its start or its first word.

    Returns how many bytes it had printed right before that.
    """
    patience = time.monotonic() + PATIENCE_S
    while how["after_first_word"] and not said.stat().st_size and time.monotonic() < patience:
        time.sleep(0.001)
    time.sleep(how["after_s"])
    before = said.stat().st_size
    if how["cut"]:
        cut(Path(how["cut"]))
        # What it says now, it says without a disk.
        time.sleep(AFTERWARDS_S)
    os.kill(pid, signal.SIGKILL)
    return before


def _attached(options: list[str], pid: int, trace: Path) -> subprocess.Popen[str]:
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(pid), "-o", str(trace), *options],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert tracer.stderr is not None
    said = tracer.stderr.readline()
    if "attached" not in said:
        os.kill(pid, signal.SIGKILL)
        raise RuntimeError(f"strace: {said}")
    return tracer


if __name__ == "__main__":
    random.seed(0)
    main()
