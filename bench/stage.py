"""Where figures are taken: a temporary directory, how much time there is, and one long history that several share."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import msgspec

from bench.measure import Json
from choiros.settings import CheckpointSettings, Resolved, Settings, SnapshotSettings

RUN = "run-last"
"""The newest run of the long history."""

NEVER = 10**9


class Size(msgspec.Struct, frozen=True):
    """How much is measured."""

    rounds: int
    appends: int
    replayed: int
    long: int
    short: int
    tail: int
    files: int
    imported: int
    starts: int


FULL = Size(
    rounds=5,
    appends=16_000,
    replayed=200_000,
    long=1_000_000,
    short=100_000,
    tail=20_000,
    files=10_000,
    imported=2_000,
    starts=15,
)
QUICK = Size(
    rounds=3,
    appends=6_400,
    replayed=40_000,
    long=100_000,
    short=20_000,
    tail=5_000,
    files=2_000,
    imported=500,
    starts=5,
)


@dataclass
class Stage:
    """What every figure is given."""

    directory: Path
    size: Size
    is_quick: bool
    made: dict[Path, dict[str, Json]] = field(default_factory=dict[Path, dict[str, Json]])
    """What making each long history took."""

    @contextmanager
    def room(self, name: str) -> Generator[Path]:
        """Give an empty directory that is gone afterwards."""
        path = self.directory / name
        path.mkdir()
        try:
            yield path
        finally:
            clear(path)

    def say(self, text: str) -> None:
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def home(self, count: int) -> Path:
        """Return where the long history with about this many events lies, once a figure has asked for it."""
        return self.directory / f"home-{count}"


def clear(path: Path) -> None:
    """Remove a directory with all that is in it."""
    for inner in sorted(path.rglob("*"), reverse=True):
        if inner.is_dir() and not inner.is_symlink():
            inner.rmdir()
        else:
            inner.unlink()
    path.rmdir()


def resolved(home: Path, *, snapshots: int = NEVER) -> Resolved:
    """Return settings under which nothing happens by itself: no checkpoint, and a snapshot only when wished."""
    settings = Settings(
        checkpoints=CheckpointSettings(events_max=NEVER, minutes_max=NEVER),
        snapshots=SnapshotSettings(events_max=snapshots),
    )
    return Resolved(home, settings, {})


async def in_child(*arguments: str) -> dict[str, Json]:
    """Run `python -m bench.child` with these arguments in a process of its own and return what it measured."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.child", *arguments, stdout=asyncio.subprocess.PIPE, cwd=checkout()
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"bench.child {' '.join(arguments)} ended with {process.returncode}")
    return cast("dict[str, Json]", msgspec.json.decode(output))


def checkout() -> Path:
    """Return the directory that holds this package."""
    return Path(__file__).parents[1]
