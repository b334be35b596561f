"""SQLite's file layer on a simulated disk: what its own layer for Unix does, with the same syncs, in memory."""

# ruff: noqa: N802 - apsw names the methods

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import apsw

from choiros.testing.simulator.calls import Calls
from choiros.testing.simulator.disk import Disk, Node

NAME = "simulated"

_SHARED, _RESERVED, _EXCLUSIVE = 1, 2, 4
_POWERSAFE_OVERWRITE = 0x1000
_SECTOR = 4096
_WITH_DIRECTORY = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL


class Database:
    """One file that SQLite has open."""

    def __init__(self, disk: Disk, node: Node, *, directory: Node | None) -> None:
        self._disk = disk
        self._node = node
        # A journal is of use only when its name is on the platter too, and that of an older one is not.
        self._directory = directory

    def _act(self, what: str, node: Node) -> None:
        act(self._disk, what, node=node)

    def xRead(self, amount: int, offset: int) -> bytes:
        """Read; SQLite fills up what is missing."""
        self._act("read", self._node)
        return bytes(self._node.data[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write."""
        self._act("write", self._node)
        self._disk.write(self._node, offset, data=bytes(data))

    def xTruncate(self, size: int) -> None:
        """Change the length."""
        self._act("truncate", self._node)
        self._disk.truncate(self._node, size)

    def xSync(self, flags: int) -> None:
        """Bring the file onto the platter, and the name of a new journal with it."""
        del flags
        self._act("sync", self._node)
        self._disk.sync(self._node)
        if self._directory is not None:
            directory, self._directory = self._directory, None
            self._act("sync", directory)
            self._disk.sync(directory)

    def xFileSize(self) -> int:
        """Return the length."""
        return len(self._node.data)

    def xLock(self, level: int) -> None:
        """Take a lock, unless another connection holds one that excludes it."""
        locks = self._node.locks
        others = max((held for owner, held in locks.items() if owner is not self), default=0)
        if others >= _EXCLUSIVE or (level >= _RESERVED and others >= _RESERVED):
            raise apsw.BusyError("another connection holds it")
        if level >= _EXCLUSIVE and others:
            raise apsw.BusyError("another connection reads it")
        locks[self] = level

    def xUnlock(self, level: int) -> None:
        """Let go."""
        if level:
            self._node.locks[self] = level
        else:
            self._node.locks.pop(self, None)

    def xCheckReservedLock(self) -> bool:
        """Return whether anybody is about to write."""
        return any(level >= _RESERVED for level in self._node.locks.values())

    def xFileControl(self, operation: int, pointer: int) -> bool:
        """Nothing is known beyond the usual."""
        del operation, pointer
        return False

    def xSectorSize(self) -> int:
        """Return what SQLite assumes on Unix."""
        return _SECTOR

    def xDeviceCharacteristics(self) -> int:
        """Return what SQLite assumes on Unix: a write does not hurt the bytes beside it."""
        return _POWERSAFE_OVERWRITE

    def xClose(self) -> None:
        """Let go."""
        self._node.locks.pop(self, None)


class Files(apsw.VFS):
    """All files that SQLite opens while this is the default layer."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(NAME, "", makedefault=True)
        self._calls = calls
        self._disk = calls.disk

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        """Open or make a file; those without a name are forgotten with their connection."""
        flags[1] = flags[0]
        if name is None:
            return self._opened(self._disk.new("file", 0o600), None)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        directory, base = self._calls.above(path)
        node = directory.entries.get(base)
        if node is None:
            if not flags[0] & apsw.SQLITE_OPEN_CREATE:
                raise apsw.CantOpenError(path)
            act(self._disk, "create", node=directory)
            node = self._disk.new("file", 0o600)
            self._disk.name((directory, base, node))
        # As on Unix: every journal that may be made syncs its directory once, also one that was there already.
        is_journal = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _WITH_DIRECTORY)
        return self._opened(node, directory if is_journal else None)

    def _opened(self, node: Node, directory: Node | None) -> apsw.VFSFile:
        # Any object with the methods of a VFSFile will do for apsw; the class itself would want a real file.
        return cast("apsw.VFSFile", Database(self._disk, node, directory=directory))

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001 - apsw calls it
        """Remove a file."""
        directory, base = self._calls.above(filename)
        if base not in directory.entries:
            raise apsw.IOError("no such file")
        act(self._disk, "unlink", node=directory)
        self._disk.name((directory, base, None))
        if syncdir:
            act(self._disk, "sync", node=directory)
            self._disk.sync(directory)

    def xAccess(self, pathname: str, flags: int) -> bool:
        """Return whether a file is there."""
        del flags
        directory, base = self._calls.above(pathname)
        return base in directory.entries

    def xFullPathname(self, name: str) -> str:
        """Return the path, which is whole already."""
        return name

    def xRandomness(self, numbytes: int) -> bytes:
        """Return what the seed of the disk gives."""
        return self._disk.chance.some_bytes(numbytes)

    def xSleep(self, microseconds: int) -> int:
        """Nobody else would do anything meanwhile."""
        return microseconds


class Connection(apsw.Connection):
    """A connection that fails where one on a real disk fails, and only there.

    SQLite passes over errors of a checkpoint after a commit or before closing, because nothing is lost by them;
    apsw raises what a file layer in Python has raised all the same, unless it is caught in between.
    """

    checkpoint_pages = 1000

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__(*values, **options)
        # The index of the write-ahead log cannot be shared from Python: each connection has it in its own memory,
        # which SQLite does for whoever has the file alone. The files on the disk are the same.
        self.execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY")
        self.pragma("wal_autocheckpoint", self.checkpoint_pages)

    def pragma(self, name: str, value: Any = None, **options: Any) -> Any:
        """Carry out a pragma; the checkpoint after commits is made by a hook of ours."""
        if name != "wal_autocheckpoint":
            return super().pragma(name, *(() if value is None else (value,)), **options)
        self.set_wal_hook(partial(_checkpoint, pages_max=int(value)))
        return value

    def close(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 - apsw's
        """Close."""
        with suppress(apsw.IOError, apsw.FullError):
            super().close(force)


def _checkpoint(connection: apsw.Connection, database: str, pages: int, *, pages_max: int) -> int:
    if pages >= pages_max:
        with suppress(apsw.Error):
            connection.wal_checkpoint(database)
    return apsw.SQLITE_OK


@contextmanager
def databases_on(calls: Calls) -> Generator[None]:
    """Let every database that is opened in the block lie on the simulated disk."""
    files, real = Files(calls), apsw.Connection
    apsw.Connection = Connection
    try:
        apsw.randomness(0)
        yield
    finally:
        apsw.Connection = real
        files.unregister()


def act(disk: Disk, what: str, *, node: Node) -> None:
    """Count an operation of SQLite; what fails is told in its words."""
    try:
        disk.act(what, node)
    except OSError as error:
        kind = apsw.FullError if error.errno == errno.ENOSPC else apsw.IOError
        raise kind(str(error)) from error
