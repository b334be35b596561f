"""The moments at which a session touches the disk, and what becomes of it when each goes wrong."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.soak.hosted import Ended, Host
from tests.soak.session import GOES_ON, OUTSIDE, SOURCES, Step, answered, prepare, stretches

CALLS = (
    *("openat", "write", "pwrite64", "sendfile", "ftruncate", "fsync", "fdatasync", "syncfs", "flock"),
    *("rename", "renameat2", "link", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "symlinkat"),
    *("fchmod", "fchown", "utimensat"),
)
"""The system calls by which anything reaches the disk."""

FAULTS = ("kill", "EIO", "ENOSPC", "EIO from then on", "ENOSPC from then on")

Acknowledged = list[tuple[int, str]]


class Point(NamedTuple):
    """One system call of a stretch of the session, by its name and how many of that name came before it."""

    stretch: int
    call: str
    number: int
    fault: str

    def options(self) -> list[str]:
        """Return what strace must be told."""
        error, stays, _ = self.fault.partition(" from")
        how = "signal=KILL" if error == "kill" else f"error={error}"
        when = f"{self.number}{'+' if stays else ''}"
        return ["-e", f"trace={self.call}", "-e", f"inject={self.call}:{how}:when={when}"]


class Session:
    """The reference session: how it goes without a fault, and with one."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host = host
        self._folder = folder
        self._sources = folder / "sources"
        self._stretches = stretches()
        self.counts: Counter[tuple[int, str]] = Counter()
        prepare(self._sources)
        made = host.do("work", home=str(folder / "before-0"), seed=7, acts=12)
        assert made.status == 0, made.err
        for number in range(len(self._stretches)):
            self._note(number)

    def _note(self, number: int) -> None:
        """Run a stretch once under strace alone, and note how it goes."""
        home = self._copy(number, f"before-{number + 1}")
        steps = self._stretches[number]
        ended = self._run(home, steps, [f"--trace={','.join(CALLS)}"])
        assert ended.status == 0, ended.err
        assert len(answers(ended.out)) == len(answered(steps)), ended.out
        assert not [one for one in answers(ended.out) if "error" in one], ended.out
        described = self.host.do("describe", home=str(home))
        assert described.status == 0, described.err
        (self._folder / f"reference-{number}").write_text(described.out)
        found = re.findall(r"^\d+ +(\w+)\(", ended.trace, re.MULTILINE)
        self.counts.update((number, call) for call in found)

    def _copy(self, number: int, name: str) -> Path:
        """Return a fresh copy of the data directory that a stretch begins with."""
        home = self._folder / name
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self._folder / f"before-{number}", home, symlinks=True)
        return home

    def _run(self, home: Path, steps: Sequence[Step], strace: Sequence[str]) -> Ended:
        """Carry steps out, watched."""
        return self.host.do("session", home=str(home), sources=str(self._sources), steps=steps, strace=strace)

    def suffer(self, point: Point) -> str | None:
        """Meet a fault; return what does not hold then, '' when all does, None when the fault did not come."""
        home = self._copy(point.stretch, "point")
        steps = self._stretches[point.stretch]
        if point.fault != "kill":
            steps = (*steps, *GOES_ON)
        ended = self._run(home, steps, point.options())
        said = answers(ended.out)
        if point.fault == "kill":
            if ended.status != -signal.SIGKILL:
                return None
            reference = str(self._folder / f"reference-{point.stretch}")
            return self.host.check(home, acknowledged(said), reference=reference, outside=OUTSIDE)
        if "INJECTED" not in ended.trace:
            return None
        wrong = "\n".join(unclear(ended, said))
        if point.fault in {"EIO", "ENOSPC"} and not any(map(is_done, said[-2:])):
            wrong += f"after one fault nothing goes on: {said[-2:]}"
        return wrong or self.host.check(
            home, acknowledged(said), refused=refused(said, answered(steps)), outside=OUTSIDE
        )


def answers(out: str) -> list[dict[str, object]]:
    """Return the answers that were printed whole."""
    found: list[dict[str, object]] = []
    for line in out.split("\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:
            found.append({})
    return found


def acknowledged(said: Sequence[dict[str, object]]) -> Acknowledged:
    """Return number and id of every event that was acknowledged."""
    lines = [line for one in said for line in one.get("lines", ())]  # type: ignore[attr-defined]
    return [(line["seq"], line["id"]) for line in lines]


def is_done(answer: dict[str, object]) -> bool:
    """Return whether a change was acknowledged."""
    return "seqs" in answer


def refused(said: Sequence[dict[str, object]], steps: Sequence[Step]) -> list[str]:
    """Return the contents of the writes that were refused, so far as it is clear which these were."""
    if len(said) != len(steps):
        return []
    return [
        hashlib.sha256(SOURCES[step[3]]).hexdigest()
        for step, answer in zip(steps, said, strict=True)
        if step[0] == "write" and "error" in answer and _code(answer) != "log.uncertain"
    ]


def _code(answer: dict[str, object]) -> str:
    error = answer.get("error")
    return str(error["code"]) if isinstance(error, dict) else ""


def unclear(ended: Ended, said: Sequence[dict[str, object]]) -> Iterator[str]:
    """Yield what no person would understand."""
    if ended.status != 0 or "Traceback" in ended.err:
        yield f"it ended with {ended.status}: {ended.err[-3000:]}"
    for answer in said:
        if _code(answer) == "internal.bug":
            yield f"an error that nobody foresaw: {answer}"


def chosen(counts: Mapping[tuple[int, str], int], budget: int) -> list[Point]:
    """Return about so many points: every call and fault has its share, and each share is spread evenly.

    What is rare is taken whole, and what it leaves of its share goes to what is frequent. A budget that is too
    small for all takes one point of some.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for (stretch, call), count in sorted(counts.items()):
        places.setdefault(call, []).extend((stretch, number) for number in range(1, count + 1))
    rows = sorted((len(some), call, fault) for call, some in places.items() for fault in FAULTS)
    rows = [rows[index * len(rows) // min(budget, len(rows))] for index in range(min(budget, len(rows)))]
    points: list[Point] = []
    for place, (count, call, fault) in enumerate(rows):
        share = min(count, max((budget - len(points)) // (len(rows) - place), 1))
        some = [places[call][index * count // share] for index in range(share)]
        points += [Point(stretch, call, number, fault) for stretch, number in some]
    return points
