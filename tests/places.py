"""Computers with a folder within reach of a test, in memory and on a disk, and a hand that works at them."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.features.files.commands import Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.undo.commands import Redo, Undo
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Done
from choiros.kernel.event import GENESIS, Draft, Event, Point, Source
from choiros.kernel.journal import Journal
from choiros.kernel.projector import Projector
from choiros.kernel.tree import Entry
from choiros.settings import FileSettings, Settings, resolve
from choiros.wiring import Computer, Rebuilt, disk_parts, open_computer, rebuild
from choiros.wiring.parts import registry
from tests.computers import Desk

Thing = tuple[str, int, bytes]
"""What stands at a path: its kind, its mode, and its content or target."""

SIZE_MAX = 64 * 1024
"""The largest file that these computers keep."""


class Place(Protocol):
    """Where a computer stands; what is done here to the folder is done without it."""

    async def open(self) -> Computer: ...
    def look(self, workspace: str = "main") -> dict[str, Thing]: ...
    def write(self, path: str, data: bytes, mode: int | None = None) -> None: ...
    def link(self, path: str, target: str) -> None: ...
    def mkdir(self, path: str, mode: int = 0o755) -> None: ...
    def chmod(self, path: str, mode: int) -> None: ...
    def move(self, path: str, to: str) -> None: ...
    def remove(self, path: str) -> None: ...
    async def rebuild(self, computer: Computer) -> tuple[Computer, Rebuilt]: ...


class MemoryPlace:
    """A desk with engines in memory."""

    def __init__(self, directory: Path, settings: Settings | None = None) -> None:
        self.desk = Desk(
            directory, blobs=MemoryBlobs(size_bytes_max=SIZE_MAX), settings=settings or Settings()
        )

    @property
    def tree(self):
        return self.desk.trees["main"]

    async def open(self) -> Computer:
        return await self.desk.open()

    def look(self, workspace: str = "main") -> dict[str, Thing]:
        nodes = self.desk.trees[workspace]._nodes
        return {
            path: (node.kind, node.mode, node.target.encode() if node.kind == "link" else node.data)
            for path, node in sorted(nodes.items())
        }

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        self.tree.outside_write(path, data, mode=mode)

    def link(self, path: str, target: str) -> None:
        self.tree.outside_link(path, target)

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        self.tree.outside_mkdir(path, mode)

    def chmod(self, path: str, mode: int) -> None:
        self.tree.outside_chmod(path, mode)

    def move(self, path: str, to: str) -> None:
        self.tree.outside_move(path, to)

    def remove(self, path: str) -> None:
        self.tree.outside_remove(path)

    async def rebuild(self, computer: Computer) -> tuple[Computer, Rebuilt]:
        computer.tables.close()
        rebuilt = await rebuild(self.desk.parts(), self.desk.settings, full=True)
        return await self.open(), rebuilt


class DiskPlace:
    """A data directory on a real disk."""

    def __init__(self, home: Path) -> None:
        resolved = resolve({"home": str(home)}, {})
        settings = replace(resolved.settings, files=FileSettings(size_bytes_max=SIZE_MAX))
        self.resolved = replace(resolved, settings=settings)
        self.root = home / "users" / settings.user / "workspace"

    async def open(self) -> Computer:
        return await open_computer(
            disk_parts(self.resolved), self.resolved.settings, write=True, notice=_unexpected
        )

    def look(self, workspace: str = "main") -> dict[str, Thing]:
        assert workspace == "main"
        found: dict[str, Thing] = {}
        for top, folders, names in os.walk(self.root):
            for path in (Path(top, name) for name in [*folders, *names]):
                found[path.relative_to(self.root).as_posix()] = _thing(path)
        # Checkpoints leave a pointer to the repository, which lies outside the folder.
        found.pop(".git", None)
        return dict(sorted(found.items()))

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        place = self.root / path
        self._make_above(place)
        if place.is_symlink() or place.is_dir():
            self.remove(path)
        fresh = not place.exists()
        place.write_bytes(data)
        if fresh or mode is not None:
            place.chmod(0o644 if mode is None else mode)

    def link(self, path: str, target: str) -> None:
        self.remove(path)
        self._make_above(self.root / path)
        (self.root / path).symlink_to(target)

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        self._make_above(self.root / path)
        (self.root / path).mkdir()
        (self.root / path).chmod(mode)

    def chmod(self, path: str, mode: int) -> None:
        (self.root / path).chmod(mode)

    def move(self, path: str, to: str) -> None:
        self.remove(to)
        self._make_above(self.root / to)
        (self.root / path).rename(self.root / to)

    def remove(self, path: str) -> None:
        place = self.root / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        elif os.path.lexists(place):
            place.unlink()

    def _make_above(self, place: Path) -> None:
        missing = [above for above in place.parents if above.is_symlink() or not above.is_dir()]
        for above in reversed(missing):
            above.unlink(missing_ok=True)
            above.mkdir()
            above.chmod(0o755)

    async def rebuild(self, computer: Computer) -> tuple[Computer, Rebuilt]:
        await computer.close()
        parts = disk_parts(self.resolved)
        rebuilt = await rebuild(parts, self.resolved.settings, full=True)
        await parts.log.close()
        return await self.open(), rebuilt


def _unexpected(notice: str) -> None:
    raise AssertionError(notice)


def _thing(path: Path) -> Thing:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return "link", 0o777, os.fsencode(path.readlink())
    mode = stat.S_IMODE(status.st_mode)
    return ("dir", mode, b"") if stat.S_ISDIR(status.st_mode) else ("file", mode, path.read_bytes())


class Outcome(Struct, frozen=True):
    """What a wish led to: its events without the verdict, and what could not be carried out."""

    events: tuple[Event, ...]
    troubles: tuple[str, ...]

    @property
    def seq(self) -> int:
        return self.events[0].seq

    @property
    def kinds(self) -> list[str]:
        return [event.head.event_type for event in self.events]


class Hand:
    """Somebody who works at a computer: a person, or an agent in a run."""

    def __init__(
        self,
        computer: Computer,
        *,
        run: str | None = None,
        workspace: str = "main",
        source: Source = "user",
    ) -> None:
        self.computer = computer
        self._workspace = workspace
        self._context = Context(computer.settings.user, source=source, run=run)

    async def do(self, command: Struct) -> Outcome:
        outcome = await self.computer.kernel.handle(command, self._context)
        assert isinstance(outcome, Done), outcome
        return Outcome(tuple(outcome.facts), tuple(trouble.code for trouble in outcome.troubles))

    async def entry(self, data: bytes, mode: int = 0o644) -> Entry:
        return Entry("file", mode, len(data), await self.computer.parts.blobs.put(data))

    async def change(self, *changes: Change) -> Outcome:
        return await self.do(ChangeFiles(self._workspace, changes))

    async def write(
        self, path: str, data: bytes, mode: int = 0o644, *, base: Entry | UnsetType | None = UNSET
    ) -> Outcome:
        return await self.change(Change(path, await self.entry(data, mode), base))

    async def mkdir(self, path: str, mode: int = 0o755) -> Outcome:
        return await self.change(Change(path, Entry("dir", mode)))

    async def link(self, path: str, target: str) -> Outcome:
        return await self.change(Change(path, Entry("link", 0o777, target=target)))

    async def chmod(self, path: str, mode: int) -> Outcome:
        entry = self.computer.files.entry(self._workspace, path)
        assert entry is not None
        return await self.change(Change(path, replace(entry, mode=mode)))

    async def edit(self, path: str, old: str, new: str) -> Outcome:
        return await self.do(EditFile(self._workspace, path, old, new))

    async def move(self, path: str, to: str) -> Outcome:
        return await self.do(MoveFile(self._workspace, path, to))

    async def remove(self, path: str, *, recursive: bool = False) -> Outcome:
        return await self.do(RemoveFile(self._workspace, path, recursive))

    async def undo(
        self,
        run: str | None = None,
        *,
        seq: int | None = None,
        since: int | None = None,
        leave: Sequence[str] = (),
    ) -> Outcome:
        return await self.do(Undo(self._workspace, run, seq, since, tuple(leave)))

    async def redo(self, leave: Sequence[str] = ()) -> Outcome:
        return await self.do(Redo(self._workspace, tuple(leave)))


async def head(computer: Computer) -> int:
    """Return the number of the newest event."""
    return (await computer.journal.head()).seq


async def recorded(computer: Computer, after: int = 0) -> list[Event]:
    """Return all events behind a number, each checked against the chain."""
    start = await computer.journal.point(after) if after else Point(0, GENESIS)
    return [event async for events in computer.journal.events(start) for event in events]


async def standing(computer: Computer, at: int | None = None, workspace: str = "main") -> dict[str, Thing]:
    """Return what stands according to the log now, or right after an event, with its content."""
    entries = (
        computer.files.below(workspace) if at is None else computer.files.below_at(workspace, "", seq=at)
    )
    found: dict[str, Thing] = {}
    for path, entry in entries.items():
        content = entry.target.encode()
        if entry.kind == "file":
            content = b"".join([chunk async for chunk in computer.parts.blobs.read(entry.content)])
            assert len(content) == entry.size
        found[path] = (entry.kind, entry.mode, content)
    return found


def events_of(*payloads: Struct) -> list[Event]:
    """Return these payloads as the first events of a log, from 1."""

    async def appended() -> list[Event]:
        known = registry()
        journal = Journal(MemoryLog(), known, user="me")
        drafts = [
            Draft(f"e{number}", number, "me", "user", known.type_of(one).name, known.encode(one), bytes(16))
            for number, one in enumerate(payloads, 1)
        ]
        return await journal.append(drafts)

    return asyncio.run(appended())


def empty_tables(*projectors: Projector) -> SqliteTables:
    """Return tables in memory with the schema of some views."""
    tables = SqliteTables()
    for projector in projectors:
        tables.script(projector.schema)
    return tables
