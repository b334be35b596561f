"""The reference session: a person's commands and outside edits, given through the real command line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from choiros.cli import main as cli

OUTSIDE = ("notes/big.txt", "outside.txt", "outside-dir", "outside-dir/inner.txt")
"""The paths that somebody else writes during the session."""

SETTINGS = ("--set", "snapshots.events_max=12", "--set", "lock_timeout_s=1")

Step = tuple[str, ...]

SOURCES = {
    "today": "".join(f"line {number}\n" for number in range(40)).encode(),
    "big": b"".join(b"%07d\n" % number for number in range(150_000)),
    "inside": b"inside of another workspace\n",
    "one": b"the first of the last\n",
    "two": b"the second of the last\n",
    "three": b"it goes on\n",
    "four": b"it goes on again\n",
}
"""What the written files hold: each content is written by one step alone."""

SESSION: tuple[Step, ...] = (
    ("write", "notes/today.md", "--from", "today"),
    ("write", "notes/big.txt", "--from", "big"),
    ("edit", "notes/today.md", "--old", "line 33", "--new", "line thirty-three"),
    ("outside: change",),
    ("files",),
    ("mv", "notes/today.md", "moved/yesterday.md"),
    ("chmod", "755", "moved/yesterday.md"),
    ("ln", "yesterday.md", "moved/link"),
    ("checkpoint", "the first"),
    ("undo", "--yes"),
    ("redo", "--yes"),
    ("rm", "-r", "notes"),
    ("undo", "--yes"),
    ("workspaces", "new", "lab"),
    ("write", "inside.txt", "--from", "inside", "--workspace", "lab"),
    ("workspaces", "use", "lab"),
    ("outside: remove",),
    ("workspaces", "use", "main"),
    ("files",),
    ("rebuild", "--full"),
    ("mkdir", "empty"),
    ("workspaces", "archive", "lab"),
    ("checkpoint", "the second"),
    ("gc",),
    ("write", "last/one.txt", "--from", "one"),
    ("write", "last/two.txt", "--from", "two"),
)

GOES_ON: tuple[Step, ...] = (
    ("write", "goes/on.txt", "--from", "three"),
    ("write", "goes/on-again.txt", "--from", "four"),
)
"""What is tried in the same process after a fault that is over."""

STRETCH = 3
"""So many steps make a stretch of the session, which is carried out on a copy of what came before."""


def stretches() -> list[tuple[Step, ...]]:
    """Return the session in short pieces, each with an answer in it."""
    return [SESSION[start : start + STRETCH] for start in range(0, len(SESSION), STRETCH)]


def answered(steps: Iterable[Step]) -> list[Step]:
    """Return the steps that print an answer."""
    return [step for step in steps if not step[0].startswith("outside")]


def prepare(folder: Path) -> None:
    """Make the files that the session takes content from."""
    folder.mkdir(exist_ok=True)
    for name, content in SOURCES.items():
        (folder / name).write_bytes(content)


def session(arguments: Mapping[str, Any]) -> int:
    """Carry out some steps; each prints what it acknowledges, as one line of JSON."""
    home = Path(arguments["home"])
    folder = home / "users" / "me" / "workspace"
    os.chdir(arguments["sources"])
    os.environ["CHOIR_HOME"] = str(home)
    for step in arguments["steps"]:
        if step[0].startswith("outside"):
            # Whoever works outside meets the same disk, and does not hold our steps up.
            with contextlib.suppress(OSError):
                ACTS_OUTSIDE[step[0]](folder)
        else:
            cli.run([*step, "--json", *SETTINGS])
        with contextlib.suppress(OSError):
            sys.stdout.flush()
    return 0


def _change(folder: Path) -> None:
    with (folder / "notes" / "big.txt").open("r+b") as file:
        file.write(b"changed")
    (folder / "outside.txt").write_text("made outside\n")
    (folder / "outside-dir").mkdir()
    (folder / "outside-dir" / "inner.txt").write_text("inside a folder\n")


def _remove(folder: Path) -> None:
    (folder / "outside.txt").unlink()


ACTS_OUTSIDE: dict[str, Callable[[Path], None]] = {"outside: change": _change, "outside: remove": _remove}
