"""Gathers what the rules for files need to know before they decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import UNSET

from choiros.features.files.changeset import names_beside
from choiros.features.files.commands import CaptureFiles, Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.files.decide import (
    CONFLICT,
    FilesState,
    decide_capture,
    decide_change,
    decide_edit,
    decide_move,
    decide_remove,
)
from choiros.features.files.ignore import Ignore
from choiros.features.files.text import TEXT_BYTES_MAX
from choiros.features.files.view import FilesView
from choiros.kernel.blob import BlobStore
from choiros.kernel.command import Commands, CommandType, Context, any_command
from choiros.kernel.errors import Rejected
from choiros.kernel.path import check_path, parents
from choiros.kernel.tree import Entry

IGNORE_FILE = ".choirignore"


class Workspaces(Protocol):
    """What the files room must know about workspaces."""

    def check_open(self, workspace: str) -> None:
        """Raise Rejected (`workspaces.*`) when there is no such workspace or it is archived."""
        ...


class FilesLoader:
    """Loads states for the commands of this room."""

    def __init__(self, view: FilesView, blobs: BlobStore, *, workspaces: Workspaces) -> None:
        self._view = view
        self._blobs = blobs
        self._workspaces = workspaces
        self._ignores: dict[tuple[str, bool], Ignore] = {}
        self._problems: dict[str, str] = {}

    async def change(self, command: ChangeFiles | CaptureFiles, context: Context) -> FilesState:
        """Load what a set of wishes concerns, and the contents that may have to be merged."""
        del context
        entries = self._entries(command.workspace, [check_path(change.path) for change in command.changes])
        if isinstance(command, ChangeFiles):
            await self._check_contents(command.changes)
        entries.update(self._beside(command, entries))
        contents = await self._contents(command.changes, entries)
        return await self._state(command.workspace, entries, contents=contents)

    async def edit(self, command: EditFile, context: Context) -> FilesState:
        """Load the file to edit."""
        del context
        entries = self._entries(command.workspace, [check_path(command.path)])
        entry = entries[command.path]
        if entry is None or entry.kind != "file":
            return await self._state(command.workspace, entries, contents={})
        if entry.size > TEXT_BYTES_MAX:
            raise Rejected(
                "files.too_large_to_edit",
                f"'{command.path}' has {entry.size} bytes; text up to {TEXT_BYTES_MAX} bytes can be edited.",
                fix="Write the whole file instead (choir write).",
                path=command.path,
            )
        contents = {entry.content: await read_all(self._blobs, entry.content)}
        return await self._state(command.workspace, entries, contents=contents)

    async def move(self, command: MoveFile, context: Context) -> FilesState:
        """Load what is moved and where it shall go."""
        del context
        entries = self._entries(command.workspace, [check_path(command.path), check_path(command.to)])
        return await self._state(command.workspace, entries, contents={})

    async def remove(self, command: RemoveFile, context: Context) -> FilesState:
        """Load what is removed."""
        del context
        entries = self._entries(command.workspace, [check_path(command.path)])
        return await self._state(command.workspace, entries, contents={})

    async def ignore(self, workspace: str) -> Ignore:
        """Return the rules of a workspace about what is left out of the log."""
        return await self._ignore(self._view.entry(workspace, IGNORE_FILE))

    async def ignore_in_commits(self, files: Mapping[str, Entry]) -> Ignore:
        """Return the rules about what is left out of a commit of these files, their own ignore file included."""
        return await self._ignore(files.get(IGNORE_FILE), checkpoint=True)

    def ignore_problem(self, workspace: str) -> str | None:
        """Return why the workspace's own rules are not followed, None when they are."""
        entry = self._view.entry(workspace, IGNORE_FILE)
        return None if entry is None else self._problems.get(entry.content)

    async def _ignore(self, entry: Entry | None, *, checkpoint: bool = False) -> Ignore:
        digest = entry.content if entry and entry.kind == "file" and entry.size <= TEXT_BYTES_MAX else ""
        key = (digest, checkpoint)
        if key not in self._ignores:
            lines = (await read_all(self._blobs, digest)).decode("utf-8", "replace") if digest else ""
            try:
                self._ignores[key] = Ignore(lines, checkpoint=checkpoint)
            except Rejected as problem:
                # Nothing could be written any more, not even a better rule: so only the defaults hold meanwhile.
                self._problems[digest] = f"{problem.message} {problem.fix}"
                self._ignores[key] = Ignore("", checkpoint=checkpoint)
        return self._ignores[key]

    def _entries(self, workspace: str, paths: Iterable[str]) -> dict[str, Entry | None]:
        self._workspaces.check_open(workspace)
        named = set(paths)
        wanted = {above for path in named for above in [*parents(path), path]}
        entries = self._view.entries(workspace, sorted(wanted))
        for path in named:
            entry = entries[path]
            if entry is not None and entry.kind == "dir":
                entries.update(self._view.below(workspace, path))
        return entries

    def _beside(
        self, command: ChangeFiles | CaptureFiles, entries: Mapping[str, Entry | None]
    ) -> dict[str, Entry | None]:
        """Return what stands at the names under which a version may have to be kept beside another one."""
        crowded = {change.path for change in command.changes if _may_clash(change, entries[change.path])}
        if isinstance(command, CaptureFiles):
            above = {parent for change in command.changes for parent in parents(change.path)}
            crowded |= {
                path for path in above if (entry := entries[path]) is not None and entry.kind != "dir"
            }
        beside: dict[str, Entry | None] = {}
        for path in crowded:
            for name in names_beside(path, CONFLICT):
                beside[name] = self._view.entry(command.workspace, name)
                if beside[name] is None:
                    break
        return beside

    async def _check_contents(self, changes: Iterable[Change]) -> None:
        """Refuse what names a content that is not stored, or not in this size: nobody could ever read it."""
        for change in changes:
            entry = change.entry
            if entry is None or entry.kind != "file":
                continue
            if await self._blobs.size(entry.content) != entry.size:
                raise Rejected(
                    "files.no_content",
                    f"There is no content of {entry.size} bytes that '{change.path}' could have.",
                    fix="Store the content first, then name it.",
                    path=change.path,
                )

    async def _contents(
        self, changes: Iterable[Change], entries: Mapping[str, Entry | None]
    ) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for change in changes:
            sides = (change.base, entries.get(change.path), change.entry)
            if change.base is UNSET or sides[0] == sides[1] or sides[1] == sides[2] or sides[0] == sides[2]:
                continue
            if all(isinstance(side, Entry) and _mergeable(side) for side in sides):
                for side in sides:
                    if isinstance(side, Entry) and side.content not in contents:
                        contents[side.content] = await read_all(self._blobs, side.content)
        return contents

    async def _state(
        self, workspace: str, entries: Mapping[str, Entry | None], *, contents: Mapping[str, bytes]
    ) -> FilesState:
        ignore = await self.ignore(workspace)
        absent = [path for path, entry in entries.items() if entry is None]
        alike = {path: self._view.alike(workspace, path) for path in absent}
        return FilesState(entries, contents, alike, ignore.matches)


def _may_clash(change: Change, current: Entry | None) -> bool:
    """Return whether two versions may both have to be kept."""
    if change.base is UNSET or change.entry is None:
        return False
    return current != change.base or (current is not None and current.kind != change.entry.kind)


def _mergeable(entry: Entry) -> bool:
    return entry.kind == "file" and entry.size <= TEXT_BYTES_MAX


async def read_all(blobs: BlobStore, digest: str) -> bytes:
    """Return a whole content; for contents whose size was checked."""
    return b"".join([chunk async for chunk in blobs.read(digest)])


def command_types(loader: FilesLoader) -> Commands:
    """Return this room's commands."""
    return [
        any_command(
            CommandType(
                "files.change", ChangeFiles, load=loader.change, decide=decide_change, effect="reversible"
            )
        ),
        any_command(
            CommandType(
                "files.capture", CaptureFiles, load=loader.change, decide=decide_capture, effect="reversible"
            )
        ),
        any_command(
            CommandType("files.edit", EditFile, load=loader.edit, decide=decide_edit, effect="reversible")
        ),
        any_command(
            CommandType("files.move", MoveFile, load=loader.move, decide=decide_move, effect="reversible")
        ),
        any_command(
            CommandType(
                "files.remove", RemoveFile, load=loader.remove, decide=decide_remove, effect="reversible"
            )
        ),
    ]
