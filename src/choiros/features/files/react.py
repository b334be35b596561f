"""The merger: the only part of ChoirOS that writes workspaces, and the one that notices what others wrote there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import UNSET, Struct, UnsetType

from choiros.features.files.commands import CaptureFiles, Change
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.files.ignore import Ignore
from choiros.features.files.load import IGNORE_FILE, FilesLoader
from choiros.features.files.view import FilesView, Shown, ShownTable
from choiros.features.workspaces.events import WorkspaceOpened, WorkspaceRemoved
from choiros.kernel.blob import BlobStore
from choiros.kernel.clock import Clock
from choiros.kernel.errors import ChoirError, Conflict, Rejected
from choiros.kernel.event import Event
from choiros.kernel.path import check_path, is_protected, parents
from choiros.kernel.tree import Entry, Stat, Step, Tree

RACY_NS = 20_000_000
"""A file that was written this shortly before it was looked at may have been written again unseen."""

ROUNDS = 5


class Folders(Protocol):
    """Gives the folder of a workspace."""

    def tree(self, workspace: str, *, closed: bool = False) -> Tree | None:
        """Return the folder; None when the workspace is not open, unless a closed one is wanted as well."""
        ...

    def owned(self, workspace: str) -> bool:
        """Return whether the folder was made by ChoirOS, so that it may be emptied."""
        ...

    def renewed(self, workspace: str) -> bool:
        """Return, once, whether the folder had to be made anew, so that what it lacks was not removed from it."""
        ...


class Captured(Struct, frozen=True):
    """What a look at a folder found: events that were recorded, and what cannot be kept, with the reason."""

    events: tuple[Event, ...]
    unkept: Mapping[str, str]
    restored: int = 0
    """How many paths the log held and the folder lacked."""


Capture = Callable[[CaptureFiles], Awaitable[Sequence[Event]]]


class Merger:
    """Keeps each workspace's folder equal to its log, and the log equal to what people do in the folder.

    The folder is only ever changed where it still shows what it showed last; where somebody wrote in the
    meantime, that is recorded first.
    """

    name = "files.merger"

    def __init__(
        self,
        folders: Folders,
        *,
        view: FilesView,
        shown: ShownTable,
        loader: FilesLoader,
        blobs: BlobStore,
        clock: Clock,
        record: Capture,
    ) -> None:
        self._folders = folders
        self._view = view
        self._shown = shown
        self._loader = loader
        self._blobs = blobs
        self._clock = clock
        self._record = record
        # What a look has found and is just being recorded; it enters the table only when the record is safe.
        self._finding: dict[tuple[str, str], Shown | None] = {}

    async def react(self, events: Sequence[Event]) -> None:
        """Bring the folders to what the log says about the paths of these events."""
        touched: defaultdict[str, set[str]] = defaultdict(set)
        for event in events:
            match event.payload:
                case WorkspaceRemoved(workspace):
                    await self._clear(workspace)
                case WorkspaceOpened(workspace):
                    touched[workspace] |= self._view.below(workspace).keys()
                case FileMoved(workspace, path, to):
                    touched[workspace] |= {path, to}
                case FileWritten(workspace, path) | FileDeleted(workspace, path):
                    touched[workspace].add(path)
                case _:
                    pass
        for workspace, paths in touched.items():
            await self.materialise(workspace, paths)

    async def _clear(self, workspace: str) -> None:
        """Take a removed workspace's files out of its folder; what the log does not hold stays there."""
        tree = self._folders.tree(workspace, closed=True)
        if tree is None or not self._folders.owned(workspace):
            return
        shown = self._shown.all(workspace)
        await tree.apply([Step(path, None, last.stat) for path, last in shown.items()], self._blobs)
        self._shown.forget(workspace)

    def _tree(self, workspace: str) -> Tree | None:
        """Return the folder; what was known about one that had to be made anew is forgotten."""
        tree = self._folders.tree(workspace)
        if tree is not None and self._folders.renewed(workspace):
            self._shown.forget(workspace)
        return tree

    async def materialise(self, workspace: str, paths: Iterable[str]) -> None:
        """Let the folder show what the log says about these paths; what others wrote there is captured first.

        Raises Conflict (`files.unsettled`) when somebody keeps writing the same paths.
        """
        tree = self._tree(workspace)
        if tree is None:
            return
        left = set(paths)
        for _ in range(ROUNDS):
            left = await self._show(workspace, tree, left)
            if not left:
                return
            left |= await self._capture_paths(workspace, tree, left)
        raise unsettled(sorted(left))

    async def _show(self, workspace: str, tree: Tree, paths: Iterable[str]) -> set[str]:
        """Apply what differs and return the paths at which the folder shows something unexpected."""
        paths = sorted(paths)
        wanted, shown = self._view.entries(workspace, paths), self._last_shown(workspace, paths)
        steps = [
            Step(path, entry, shown[path].stat if path in shown else None)
            for path, entry in wanted.items()
            if entry != (shown[path].entry if path in shown else None)
        ]
        if not steps:
            return set()
        done = await tree.apply(steps, self._blobs)
        now = self._clock.now_ms() * 1_000_000
        known: list[tuple[str, Shown | None]] = []
        for step in steps:
            result = done[step.path]
            if result.diverged:
                continue
            seen = None if step.entry is None or result.stat is None else Shown(step.entry, result.stat, now)
            known.append((step.path, seen))
        self._shown.put(workspace, known)
        return {step.path for step in steps if done[step.path].diverged}

    def _last_shown(self, workspace: str, paths: Iterable[str]) -> dict[str, Shown]:
        shown = self._shown.get(workspace, paths)
        for path in paths:
            found = self._finding.get((workspace, path), shown.get(path))
            if found is not None:
                shown[path] = found
            else:
                shown.pop(path, None)
        return shown

    async def _capture_paths(self, workspace: str, tree: Tree, paths: set[str]) -> set[str]:
        """Record what the folder shows at diverged paths, and above and below them; return what that touched."""
        around = {above for path in paths for above in parents(path)} | paths
        looks = await tree.look(sorted(around))
        events, _ = await self._capture(workspace, tree, looks, {})
        return {path for event in events for path in _paths(event.payload)}

    async def capture(self, workspace: str, paths: Iterable[str] | None = None) -> Captured:
        """Record what people did in the folder: at these paths and below them, or anywhere.

        What cannot be kept (too large, not UTF-8, a device) is named with the reason and stays untouched.
        """
        tree = self._tree(workspace)
        if tree is None:
            return Captured((), {})
        if paths is not None:
            return await self._capture_named(workspace, tree, paths)
        await self._capture(workspace, tree, await tree.look([IGNORE_FILE]), {})
        ignore = await self._loader.ignore(workspace)
        looks, unkept = await self._scan(workspace, tree, ignore)
        shown = self._shown.all(workspace)
        everything: dict[str, Stat | None] = {**dict.fromkeys(shown), **looks}
        events, failed = await self._capture(workspace, tree, everything, shown)
        restored = await self._restore_missing(workspace, looks)
        return Captured(tuple(events), {**unkept, **failed}, restored)

    async def _capture_named(self, workspace: str, tree: Tree, paths: Iterable[str]) -> Captured:
        """Look at named paths alone, at directories above them and at what is known below them."""
        wanted: set[str] = set()
        for path in paths:
            wanted |= {path, *parents(check_path(path)), *self._view.below(workspace, path)}
        ignore = await self._loader.ignore(workspace)
        known = self._view.entries(workspace, wanted)
        kept = [path for path in sorted(wanted) if known[path] or not _ignored(path, ignore)]
        events, failed = await self._capture(workspace, tree, await tree.look(kept), {})
        return Captured(tuple(events), failed)

    async def _scan(
        self, workspace: str, tree: Tree, ignore: Ignore
    ) -> tuple[dict[str, Stat], dict[str, str]]:
        tracked = set(self._view.below(workspace))
        above = {parent for path in tracked for parent in parents(path)}
        reserved: dict[str, str] = {}

        def skip(path: str, is_directory: bool) -> bool:  # noqa: FBT001 - the port calls it by position
            if path in tracked or path in above:
                return False
            if ignore.matches(path, is_directory):
                return True
            if is_protected(path):
                reserved[path] = "the name is reserved"
                return True
            return False

        looks, unkept = await tree.scan(skip)
        return looks, {**unkept, **reserved}

    async def _restore_missing(self, workspace: str, looks: Mapping[str, Stat]) -> int:
        """Materialise what the log holds and the folder lacks; return how many paths that were."""
        missing = [path for path in self._view.below(workspace) if path not in looks]
        if missing:
            await self.materialise(workspace, missing)
        return len(missing)

    async def _capture(
        self,
        workspace: str,
        tree: Tree,
        looks: Mapping[str, Stat | None],
        shown: Mapping[str, Shown],
    ) -> tuple[list[Event], dict[str, str]]:
        """Record every path whose look differs from what the folder showed last."""
        shown = shown or self._shown.get(workspace, looks)
        current = self._view.entries(workspace, looks)
        changes: list[Change] = []
        seen: list[tuple[str, Shown | None]] = []
        failed: dict[str, str] = {}
        for path, look in looks.items():
            last = shown.get(path)
            if _same(look, last):
                continue
            if look is None:
                if last is not None:
                    changes.append(Change(path, None, last.entry))
                    seen.append((path, None))
                continue
            try:
                entry, stat = await tree.take(path, self._blobs)
            except ChoirError as error:
                if not isinstance(error, (Rejected, Conflict)):
                    raise
                failed[path] = error.message
                continue
            seen.append((path, Shown(entry, stat, self._clock.now_ms() * 1_000_000)))
            if entry != current[path]:
                changes.append(Change(path, entry, _base(last, current[path])))
        events = await self._recorded(workspace, changes, seen)
        self._shown.put(workspace, seen)
        if changes:
            await self._show(workspace, tree, [change.path for change in changes])
        return events, failed

    async def _recorded(
        self, workspace: str, changes: Sequence[Change], seen: Sequence[tuple[str, Shown | None]]
    ) -> list[Event]:
        if not changes:
            return []
        finding = {(workspace, path): shown for path, shown in seen}
        self._finding.update(finding)
        try:
            return list(await self._record(CaptureFiles(workspace, tuple(changes))))
        finally:
            for key in finding:
                self._finding.pop(key, None)


def _base(last: Shown | None, current: Entry | None) -> Entry | None | UnsetType:
    """Return what the people who wrote in the folder had before them.

    A directory that the log has given up but that still holds something is simply there again. When nothing is
    known about the path, what stands in the folder is taken as newer: the log keeps the other version.
    """
    if current is None and (last is None or last.entry.kind == "dir"):
        return None
    return UNSET if last is None else last.entry


def _same(look: Stat | None, last: Shown | None) -> bool:
    if look is None or last is None:
        return look is None and last is None
    newest = max(look.mtime_ns, look.ctime_ns)
    return look == last.stat and newest < last.seen_ns - RACY_NS


def _ignored(path: str, ignore: Ignore) -> bool:
    return ignore.matches(path, False) or any(ignore.matches(above, True) for above in parents(path))  # noqa: FBT003


def _paths(payload: object) -> set[str]:
    match payload:
        case FileMoved(_, path, to):
            return {path, to}
        case FileWritten(_, path) | FileDeleted(_, path):
            return {path}
        case _:
            return set()


def unsettled(paths: Sequence[str]) -> Conflict:
    """Return the error for paths that somebody keeps writing."""
    return Conflict(
        "files.unsettled",
        f"Somebody keeps changing {', '.join(paths[:3])}; it is recorded, but the folder does not show it yet.",
        fix="Stop the program that writes there, then run 'choir files' once more.",
        paths=list(paths),
    )
