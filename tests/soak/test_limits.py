"""Little memory, and clocks that jump: nothing is lost, and no order depends on the time of day (C-68)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from choiros.engines.clock.system import SystemClock
from choiros.engines.ids.system import SystemIds
from choiros.engines.log.sqlite import SqliteLog
from choiros.engines.worker.inline import InlineWorker
from choiros.features.files.events import FileWritten
from choiros.kernel.event import Draft
from choiros.kernel.tree import Entry
from choiros.wiring import registry
from tests.checkout import ROOT
from tests.conftest import SOAK
from tests.soak.hosted import Host
from tests.soak.needs import need_library
from tests.soak.points import acknowledged, answers
from tests.soak.witness import log_of, read_log

MEMORY_BYTES_MAX = 200 << 20
LINES = 1_000_000 if SOAK else 100_000
LARGE_BYTES = 300 << 20 if SOAK else 40 << 20
EVENTS = 200_000 if SOAK else 10_000


class Answer(NamedTuple):
    """What a command said, and the most memory that it held."""

    status: int
    out: str
    err: str
    memory_bytes: int


MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status if status >= 0 else 128 - status)
"""
"""Runs a command from a small process: what the kernel counts for a child begins with what its parent held."""


def choir(
    home: Path, *words: str, room_bytes: int = 0, environment: Mapping[str, str] | None = None
) -> Answer:
    """Run the real command line in a process of its own, with so much room for addresses."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("CHOIR_")}
    limit = ["prlimit", f"--as={room_bytes}"] if room_bytes else []
    out, err = home.parent / "out", home.parent / "err"
    with out.open("w") as said, err.open("w") as told:
        process = subprocess.Popen(
            [sys.executable, "-c", MEASURED, *limit, sys.executable, "-m", "choiros.cli.main", *words],
            env={**plain, "CHOIR_HOME": str(home), **(environment or {})},
            cwd=ROOT,
            stdout=said,
            stderr=told,
        )
        status = process.wait()
    *told_lines, most = err.read_text().splitlines()
    return Answer(status, out.read_text(), "\n".join(told_lines), int(most) * 1024)


def assert_modest(answers_: Sequence[Answer]) -> None:
    for answer in answers_:
        assert answer.status == 0, answer.err
        assert answer.memory_bytes < MEMORY_BYTES_MAX, f"{answer.memory_bytes >> 20} MB"


@pytest.mark.timeout(1200)
def test_a_large_file_and_many_lines_take_little_memory(tmp_path: Path, tally: Counter[str]) -> None:
    """C-68: constant memory."""
    home, source = tmp_path / "home", tmp_path / "source"
    with source.open("wb") as file:
        for number in range(LARGE_BYTES >> 20):
            file.write(number.to_bytes(4, "big") * (1 << 18))
    done = [choir(home, "write", "large", "--from", str(source))]
    source.write_bytes(b"".join(b"line %d\n" % number for number in range(LINES)))
    done += [
        choir(home, "write", "lines", "--from", str(source)),
        choir(home, "checkpoint", "large"),
        choir(home, "undo", "--yes"),
        choir(home, "files"),
    ]
    tally["commands with a limit of memory"] += len(done)
    assert_modest(done)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("room_mb", [110, 130, 150, 170, 200, 250, 300] if SOAK else [110, 160])
def test_with_too_little_memory_a_clear_error_is_told_and_nothing_is_lost(
    host: Host, bench: Path, tally: Counter[str], room_mb: int
) -> None:
    """C-68: RLIMIT_AS."""
    home, source = bench / "home", bench / "source"
    source.write_bytes(b"".join(b"line %d\n" % number for number in range(LINES)))
    assert choir(home, "write", "small", "--from", "/etc/hostname").status == 0
    words = ("write", "lines", "--from", str(source), "--json")
    edit = ("edit", "lines", "--old", "line 777\n", "--new", "x\n", "--json")
    done = [choir(home, *one, room_bytes=room_mb << 20) for one in (words, edit)]
    tally["commands with a limit of memory"] += len(done)
    known = [one for answer in done for one in acknowledged(answers(answer.out))]
    for answer in done:
        assert "internal.bug" not in answer.out
        assert answer.status in {0, 1} or "MemoryError" in answer.err or "libgit" in answer.err, answer.err
    assert not host.check(home, known)


@pytest.mark.timeout(1200)
def test_a_long_log_is_read_in_little_memory(tmp_path: Path, tally: Counter[str]) -> None:
    """C-68: constant memory."""
    home = tmp_path / "home"
    assert choir(home, "write", "small", "--from", "/etc/hostname").status == 0
    asyncio.run(_append(home, EVENTS))
    done = [
        choir(home, "log", "-n", "3"),
        choir(home, "rebuild", "--full"),
        choir(home, "mkdir", "more"),
        choir(home, "undo", "--yes"),
    ]
    tally["commands with a limit of memory"] += len(done)
    assert_modest(done)
    assert len(read_log(log_of(home))) > EVENTS


async def _append(home: Path, count: int) -> None:
    """Append the making and changing of directories, which need no contents."""
    log, known, ids = (
        SqliteLog(lambda _: log_of(home), InlineWorker(), clock=SystemClock()),
        registry(),
        SystemIds(),
    )
    for start in range(0, count, 1000):
        drafts: list[Draft] = []
        for number in range(start, min(start + 1000, count)):
            payload = FileWritten("main", f"d{number % 300}", Entry("dir", 0o755 if number % 2 else 0o700))
            encoded = known.encode(payload)
            drafts.append(
                Draft(ids.event_id(number), number, "me", "user", "file.write", encoded, ids.salt())
            )
        await log.append("me", drafts)
    await log.close()


TIMES = (
    "2026-03-29 01:59:59",
    "2038-01-19 03:14:08",
    "1999-12-31 23:59:59",
    "2026-10-25 02:30:00",
    "2106-02-07 06:28:16",
    "1971-01-01 00:00:00",
    "2026-10-25 02:00:00",
)
"""Around a change to summer time and back, past the end of 32 bits, signed and not, and long ago."""


@pytest.mark.timeout(300)
def test_no_order_depends_on_the_time_of_day(host: Host, bench: Path, tally: Counter[str]) -> None:
    """C-68: the clock jumps forth and back between commands, 2038 and a change to winter time among them."""
    library = need_library("faketime", "faketime")
    home, source = bench / "home", bench / "source"
    known: list[tuple[int, str]] = []
    for number, time in enumerate(TIMES):
        tally["jumps of the clock"] += 1
        source.write_text(f"version {number}\n")
        fake = {"LD_PRELOAD": library, "FAKETIME": f"@{time}", "TZ": "Europe/Berlin"}
        said = choir(home, "write", "a.txt", "--from", str(source), "--json", environment=fake)
        assert said.status == 0, said.out + said.err
        known += acknowledged(answers(said.out))
    assert [seq for seq, _ in known] == sorted(seq for seq, _ in known)
    times = [event.timestamp for event in read_log(log_of(home))]
    assert times != sorted(times), "the clock did not jump"
    undone = choir(home, "undo", "--yes")
    assert undone.status == 0, undone.err
    assert choir(home, "cat", "a.txt").out == f"version {len(TIMES) - 2}\n"
    assert not host.check(home, known)
