"""How a figure is measured and told: interleaved rounds, medians, targets, and the machine that it was taken on."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Spent(NamedTuple):
    """What something took: seconds on the wall, and seconds of this process on any core."""

    wall: float
    cpu: float


class Stopwatch:
    """Measures what happens inside `with`."""

    def __enter__(self) -> Self:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.spent = Spent(time.perf_counter() - self._wall, time.process_time() - self._cpu)


class Target(NamedTuple):
    """One number with the bound that the issue sets; `bound` is None for a number for our own eyes."""

    what: str
    value: float
    unit: str
    bound: float | None = None
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.bound is None:
            return ""
        held = self.value >= self.bound if self.at_least else self.value <= self.bound
        return "PASS" if held else "MISS"

    def line(self) -> str:
        bound = (
            "" if self.bound is None else f"{'>=' if self.at_least else '<='} {shown(self.bound)} {self.unit}"
        )
        return f"  {self.what:<58} {shown(self.value):>10} {self.unit:<9} {bound:<22} {self.verdict}".rstrip()


@dataclass
class Figure:
    """What one file of this folder found out."""

    title: str
    targets: list[Target] = field(default_factory=list[Target])
    notes: list[str] = field(default_factory=list[str])
    raw: dict[str, Json] = field(default_factory=dict[str, Json])

    def text(self) -> str:
        lines = [self.title, *(target.line() for target in self.targets)]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def as_json(self) -> dict[str, Json]:
        told: dict[str, Json] = {}
        for what, value, unit, bound, _ in self.targets:
            told[what] = {"value": rounded(value), "unit": unit}
            if bound is not None:
                told[what] = {"value": rounded(value), "unit": unit, "bound": bound}
        misses: list[Json] = [target.what for target in self.targets if target.verdict == "MISS"]
        return {"targets": told, "misses": misses, "raw": self.raw}


def shown(value: float) -> str:
    """Return a number with as many digits as mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def median(values: list[float]) -> float:
    return statistics.median(values)


async def interleaved(
    contestants: Mapping[str, Callable[[], Awaitable[float]]], rounds: int
) -> dict[str, list[float]]:
    """Measure each contestant once a round, every round beginning with another one."""
    found: dict[str, list[float]] = {name: [] for name in contestants}
    order = list(contestants)
    for turn in range(rounds):
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            found[name].append(await contestants[name]())
    return found


def spread(values: list[float]) -> dict[str, Json]:
    """Return the median and the extremes of what the rounds gave."""
    return {
        "median": rounded(median(values)),
        "min": rounded(min(values)),
        "max": rounded(max(values)),
        "rounds": len(values),
    }


def fdatasync_rate(directory: Path, seconds: float = 0.3) -> float:
    """Return how many 4 KiB writes with fdatasync a second the disk below a directory confirms right now."""
    path = directory / "fdatasync"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.pwrite(descriptor, bytes(4 << 20), 0)
        os.fsync(descriptor)
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            os.pwrite(descriptor, os.urandom(4096), (count % 1024) * 4096)
            os.fdatasync(descriptor)
            count += 1
        return count / (time.perf_counter() - start)
    finally:
        os.close(descriptor)
        path.unlink()


def peak_rss_mb() -> float:
    """Return the most memory that this process has ever held; getrusage would count its parent's as well."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def file_system(directory: Path) -> str:
    """Return the type of the file system that a directory is on."""
    best, found = "", "unknown"
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, mount, kind, *_ = line.split()
        if directory.is_relative_to(mount) and len(mount) >= len(best):
            best, found = mount, kind
    return found
