"""The verbs that change files, and take changes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from choiros.cli.client import (
    Asked,
    Changed,
    UndoPreview,
)
from choiros.cli.direct.opened import Opened
from choiros.features.files.changeset import not_directory, not_empty
from choiros.features.files.commands import Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.files.decide import not_a_file, not_found
from choiros.features.undo.commands import Redo, Undo
from choiros.kernel.path import check_path
from choiros.kernel.tree import Entry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence


class Writes(Opened):
    """Changes files and takes changes back."""

    async def write(
        self, path: str, chunks: AsyncIterator[bytes], *, mode: int | None, run: str | None, base: int | None
    ) -> Changed | Asked:
        """Write a whole file in constant memory."""
        check_path(path)
        await self._capture([path])
        blobs = self._computer.parts.blobs
        digest = await blobs.put(chunks)
        # Also when nothing is to be recorded: it may be whole again now where it had been damaged.
        await blobs.flush()
        size = await blobs.size(digest) or 0
        current = self._computer.files.entry(self._id, path)
        kept = current.mode if current is not None and current.kind == "file" else 0o644
        entry = Entry("file", kept if mode is None else mode, size, digest)
        if base is None:
            change = Change(path, entry)
        else:
            await self._check_seq(base)
            version = self._computer.files.at(self._id, path, seq=base)
            change = Change(path, entry, version.entry if version else None)
        return await self._handle(ChangeFiles(self._id, (change,)), run=run)

    async def make_directory(self, path: str, run: str | None) -> Changed | Asked:
        """Make a directory and those above it."""
        await self._capture([path])
        current = self._computer.files.entry(self._id, path)
        if current is not None and current.kind != "dir":
            raise not_directory(path, path)
        entry = current or Entry("dir", 0o755)
        return await self._handle(ChangeFiles(self._id, (Change(path, entry),)), run=run)

    async def make_link(self, path: str, target: str, *, run: str | None) -> Changed | Asked:
        """Make a symbolic link."""
        await self._capture([path])
        return await self._handle(
            ChangeFiles(self._id, (Change(path, Entry("link", 0o777, target=target)),)), run=run
        )

    async def edit(
        self, path: str, old: str, *, new: str, everywhere: bool, run: str | None
    ) -> Changed | Asked:
        """Replace text in a file."""
        await self._capture([path])
        return await self._handle(EditFile(self._id, path, old, new, everywhere), run=run)

    async def move(self, path: str, to: str, *, run: str | None) -> Changed | Asked:
        """Give a file or directory another path."""
        await self._capture([path, to])
        target = self._computer.files.entry(self._id, to)
        if target is not None and target.kind == "dir":
            to = f"{to}/{path.rpartition('/')[2]}"
            await self._capture([to])
        return await self._handle(MoveFile(self._id, path, to), run=run)

    async def remove(self, paths: Sequence[str], *, recursive: bool, run: str | None) -> Changed | Asked:
        """Remove files, or directories with what they hold, all or none."""
        await self._capture(paths)
        if len(paths) == 1:
            return await self._handle(RemoveFile(self._id, paths[0], recursive), run=run)
        wish = ChangeFiles(self._id, self._removals(paths, recursive=recursive))
        return await self._handle(wish, run=run)

    def _removals(self, paths: Sequence[str], *, recursive: bool) -> tuple[Change, ...]:
        gone: dict[str, Change] = {}
        for path in paths:
            entry = self._computer.files.entry(self._id, check_path(path))
            if entry is None:
                raise not_found(path)
            below = self._computer.files.below(self._id, path) if entry.kind == "dir" else {}
            if below and not recursive:
                raise not_empty(path)
            gone.update({one: Change(one, None) for one in [*below, path]})
        return tuple(gone.values())

    async def set_mode(self, path: str, mode: int, *, run: str | None) -> Changed | Asked:
        """Set the permission bits of a file or directory."""
        await self._capture([path])
        entry = self._computer.files.entry(self._id, check_path(path))
        if entry is None:
            raise not_found(path)
        if entry.kind == "link":
            raise not_a_file(path, entry)
        change = Change(path, replace(entry, mode=mode), entry)
        return await self._handle(ChangeFiles(self._id, (change,)), run=run)

    async def preview_undo(
        self, *, run: str | None, seq: int | None, since: int | None, leave: Sequence[str]
    ) -> UndoPreview:
        """Return what an undo would do."""
        await self._capture()
        command = Undo(self._id, run, seq, since, tuple(leave))
        return await self._answers.preview(
            await self._computer.planner.undo(command, self._computer.context())
        )

    async def undo(
        self, *, run: str | None, seq: int | None, since: int | None, leave: Sequence[str]
    ) -> Changed | Asked:
        """Take something back."""
        await self._capture()
        return await self._handle(Undo(self._id, run, seq, since, tuple(leave)))

    async def preview_redo(self, leave: Sequence[str]) -> UndoPreview:
        """Return what a redo would do."""
        await self._capture()
        plan = await self._computer.planner.redo(Redo(self._id, tuple(leave)), self._computer.context())
        return await self._answers.preview(plan)

    async def redo(self, leave: Sequence[str]) -> Changed | Asked:
        """Bring back what the newest undo took."""
        await self._capture()
        return await self._handle(Redo(self._id, tuple(leave)))
