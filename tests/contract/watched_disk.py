"""A disk for SQLite that keeps a list of what is done to it, and fails when a test says so."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

import apsw

NAME = "watched"

Fault = Literal["write: no space", "write: error", "sync: error"]
FAULTS: tuple[Fault, ...] = ("write: no space", "write: error", "sync: error")


class Disk(apsw.VFS):
    """The real disk, watched. `calls` lists every write and flush, such as 'sync log.db-wal'."""

    def __init__(self) -> None:
        super().__init__(NAME, "", makedefault=True)
        self.calls: list[str] = []
        self.fault: Fault | None = None
        self.fails_at = 0
        self.stays_broken = False
        self.failed = 0
        self._counted = 0

    def break_at(self, call: int, fault: Fault, *, stays_broken: bool = False) -> None:
        """Let the n-th write, or the n-th flush, from now on fail, and with `stays_broken` all after it."""
        self.fault, self.fails_at, self.stays_broken = fault, call, stays_broken
        self.failed = self._counted = 0

    def heal(self) -> None:
        """Let nothing fail any more."""
        self.fault = None

    def note(self, what: str, name: str) -> None:
        """Count a call, and fail when it is its turn."""
        self.calls.append(f"{what} {name}")
        if self.fault is None or not self.fault.startswith(what):
            return
        self._counted += 1
        if self._counted == self.fails_at or (self.stays_broken and self._counted > self.fails_at):
            self.failed += 1
            raise apsw.FullError("no space") if self.fault.endswith("space") else apsw.IOError("broken")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's
        """Open a file that reports to this disk."""
        return File(self, name, flags)


class File(apsw.VFSFile):
    """A file on the watched disk."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary"
        self._name = path.rpartition("/")[2]
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - apsw's
        """Write."""
        self._disk.note("write", self._name)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's
        """Flush."""
        self._disk.note("sync", self._name)
        super().xSync(flags)


@contextmanager
def watched_disk() -> Generator[Disk]:
    """Let every database that is opened inside lie on a watched disk."""
    disk = Disk()
    try:
        yield disk
    finally:
        disk.heal()
        disk.unregister()
