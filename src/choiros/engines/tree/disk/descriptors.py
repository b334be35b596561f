"""Ways to a path by directory descriptors, one name after the other and never through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from choiros.kernel.tree import Kind, Stat

# O_PATH: to go through a directory one needs no right to list it.
WALK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# A fifo that is swapped in must not stall the open.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

NINE_BITS = 0o777
HIDDEN = Stat("other", 0, 0, 0, 0, 0)
"""The look of what may or may not stand behind a directory that we are not allowed to enter."""

_HELD_MAX = 64


class Spot(NamedTuple):
    """A name in a directory that is held open."""

    directory: int
    name: str


class Way:
    """Goes to many directories in turn and keeps open what the next way shares with the last one.

    Only for looking: a directory that is held open may have been moved in the meantime.
    """

    def __init__(self, root: int) -> None:
        self._names: list[str] = []
        self._held = [root]
        # One directory below those, for paths too deep to hold them all.
        self._deep = -1
        self._deep_names: list[str] = []

    def to(self, names: Sequence[str]) -> int:
        """Return a descriptor of the directory, which stays open until the next call; raises OSError."""
        wanted = list(names)
        if self._deep < 0 or wanted[: len(self._deep_names)] != self._deep_names:
            self._forget(_shared(wanted, self._names))
        descriptor = self._held[-1] if self._deep < 0 else self._deep
        begin = len(self._names) if self._deep < 0 else len(self._deep_names)
        for number, name in enumerate(wanted[begin:], begin + 1):
            descriptor = os.open(name, WALK, dir_fd=descriptor)
            if self._deep < 0 and len(self._held) < _HELD_MAX:
                self._names.append(name)
                self._held.append(descriptor)
            else:
                # Holding every directory of so deep a path could use up the descriptors: the last will do.
                self._let_go_of_deep()
                self._deep, self._deep_names = descriptor, wanted[:number]
        return descriptor

    def close(self) -> None:
        """Close all but the root."""
        self._forget(0)

    def _forget(self, depth: int) -> None:
        self._let_go_of_deep()
        while len(self._names) > depth:
            self._names.pop()
            os.close(self._held.pop())

    def _let_go_of_deep(self) -> None:
        if self._deep >= 0:
            os.close(self._deep)
            self._deep = -1


def _shared(some: list[str], others: list[str]) -> int:
    """Return with how many equal names two lists begin."""
    pairs = zip(some, others, strict=False)
    return next(
        (number for number, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others))
    )


@contextmanager
def way(root: int) -> Generator[Way]:
    """Hold a Way for the block."""
    held = Way(root)
    try:
        yield held
    finally:
        held.close()


@contextmanager
def directory(root: int, names: Sequence[str]) -> Generator[int]:
    """Go to the directory now and hold it for the block; raises OSError when there is no way but a link."""
    descriptor = os.open(".", WALK, dir_fd=root)
    try:
        for name in names:
            above, descriptor = descriptor, -1
            try:
                descriptor = os.open(name, WALK, dir_fd=above)
            finally:
                os.close(above)
        yield descriptor
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def split(path: str) -> tuple[list[str], str]:
    """Return the names of the directories above a path, and its own."""
    *above, name = path.split("/")
    return above, name


def look_at(spot: Spot) -> Stat | None:
    """Return how a name looks, itself and not what a link points to; None for nothing there."""
    try:
        return stat_of(os.stat(spot.name, dir_fd=spot.directory, follow_symlinks=False))
    except FileNotFoundError:
        return None


def look_along(ways: Way, path: str) -> Stat | None:
    """Return how a path looks; None for nothing there or no way but a link, HIDDEN where we may not enter."""
    above, name = split(path)
    try:
        return look_at(Spot(ways.to(above), name))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        return HIDDEN


def stat_of(found: os.stat_result) -> Stat:
    """Return the port's form of what the operating system says."""
    mode = found.st_mode
    return Stat(
        kind_of(mode),
        mode & NINE_BITS,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_ino,
    )


def kind_of(mode: int) -> Kind | Literal["other"]:
    """Return the kind of thing that these mode bits belong to."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "link" if stat.S_ISLNK(mode) else "other"


def is_utf8(text: str) -> bool:
    """Return whether a name or target can be written as UTF-8, and so be kept."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
