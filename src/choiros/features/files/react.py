"""The merger: the only part of ChoirOS that writes workspaces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from choiros.features.files.capture import Capturer
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.files.view import FilesView, Shown, ShownTable
from choiros.features.workspaces.events import WorkspaceOpened, WorkspaceRemoved
from choiros.kernel.blob import BlobStore
from choiros.kernel.clock import Clock
from choiros.kernel.errors import Conflict
from choiros.kernel.event import Event
from choiros.kernel.path import parents
from choiros.kernel.tree import Step, Tree

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


class Merger:
    """Keeps each workspace's folder equal to its log, and the log equal to what people do in the folder.

    The folder is only ever changed where it still shows what it showed last; where somebody wrote in the
    meantime, that is recorded first.
    """

    name = "files.merger"

    def __init__(
        self,
        folders: Folders,
        capturer: Capturer,
        *,
        view: FilesView,
        shown: ShownTable,
        blobs: BlobStore,
        clock: Clock,
    ) -> None:
        self._folders = folders
        self._capturer = capturer
        self._view = view
        self._shown = shown
        self._blobs = blobs
        self._clock = clock

    async def react(self, events: Sequence[Event]) -> None:
        """Bring the folders to what the log says about the paths of these events."""
        touched: defaultdict[str, set[str]] = defaultdict(set)
        for event in events:
            if isinstance(event.payload, WorkspaceRemoved):
                await self._clear(event.payload.workspace)
            for workspace, paths in self._touched(event):
                touched[workspace].update(paths)
        troubles: list[Conflict] = []
        for workspace, paths in touched.items():
            try:
                await self.materialise(workspace, paths)
            except Conflict as trouble:
                # What stands in the way in one folder must not keep the others behind.
                troubles.append(trouble)
        if troubles:
            raise troubles[0]

    def _touched(self, event: Event) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield the paths at which a folder may have to show something else because of an event."""
        match event.payload:
            case WorkspaceOpened(workspace):
                yield workspace, self._view.below(workspace)
                yield workspace, self._shown.all(workspace)
            case FileMoved(workspace, path, to):
                yield workspace, (path, to)
            case FileWritten(workspace, path) | FileDeleted(workspace, path):
                yield workspace, (path,)
            case _:
                pass

    async def _clear(self, workspace: str) -> None:
        """Take a removed workspace's files out of its folder; what the log does not hold stays there."""
        tree = self._folders.tree(workspace, closed=True)
        if tree is None or not self._folders.owned(workspace):
            return
        shown = self._shown.all(workspace)
        await tree.apply([Step(path, None, last.stat) for path, last in shown.items()], self._blobs)
        self._shown.forget(workspace)

    async def _tree(self, workspace: str) -> Tree | None:
        """Return the folder, cleared of what a crash left; what was known about a new one is forgotten."""
        tree = self._folders.tree(workspace)
        if tree is None:
            return None
        if self._folders.renewed(workspace):
            self._shown.forget(workspace)
        if self._shown.was_broken_off(workspace):
            await tree.sweep()
            self._shown.end(workspace)
        return tree

    async def materialise(self, workspace: str, paths: Iterable[str]) -> None:
        """Let the folder show what the log says about these paths; what others wrote there is captured first.

        Raises Conflict (`files.unsettled`) when somebody keeps writing the same paths, or when something that
        cannot be kept stands in the way.
        """
        tree = await self._tree(workspace)
        if tree is None:
            return
        left, unkept = self._with_way(workspace, paths), dict[str, str]()
        for _ in range(ROUNDS):
            left = await self._show(workspace, tree, paths=left)
            if not left:
                return
            found = await self._capturer.named(workspace, tree, paths=left, anew=frozenset(left))
            left |= found.paths
            unkept.update(found.unkept)
        raise unsettled(sorted(left), unkept)

    def _with_way(self, workspace: str, paths: Iterable[str]) -> set[str]:
        """Return these paths with the directories above them that the folder lacks, as one that was made anew does."""
        wanted = set(paths)
        above = sorted({parent for path in wanted for parent in parents(path)})
        shown = self._capturer.last_shown(workspace, above)
        entries = self._view.entries(workspace, above)
        return wanted | {path for path in above if entries[path] is not None and path not in shown}

    async def _show(self, workspace: str, tree: Tree, *, paths: Iterable[str]) -> set[str]:
        """Apply what differs and return the paths at which the folder shows something unexpected."""
        paths = sorted(paths)
        wanted, shown = self._view.entries(workspace, paths), self._capturer.last_shown(workspace, paths)
        steps = [
            Step(path, entry, shown[path].stat if path in shown else None)
            for path, entry in wanted.items()
            if entry != (shown[path].entry if path in shown else None)
        ]
        if not steps:
            return set()
        self._shown.begin(workspace)
        done = await tree.apply(steps, self._blobs)
        self._shown.end(workspace)
        now = self._clock.now_ms() * 1_000_000
        known: list[tuple[str, Shown | None]] = []
        for step in steps:
            entry, result = step.entry, done[step.path]
            if not result.diverged:
                stat = result.stat
                seen = None if entry is None or stat is None else Shown(entry, stat, now)
                known.append((step.path, seen))
        self._shown.put(workspace, known)
        return {step.path for step in steps if done[step.path].diverged}

    async def capture(
        self, workspace: str, paths: Iterable[str] | None = None, *, adopt: bool = False
    ) -> Captured:
        """Record what people did in the folder: at these paths and below them, or anywhere.

        With `adopt` everything is recorded as having been there before, which no undo takes away.

        What cannot be kept (too large, not UTF-8, a device) is named with the reason and stays untouched.
        """
        tree = await self._tree(workspace)
        if tree is None:
            return Captured((), {})
        if paths is not None:
            found = await self._capturer.named(workspace, tree, paths=paths)
            await self.materialise(workspace, found.paths)
            return Captured(found.events, found.unkept)
        found = await self._capturer.everything(workspace, tree, adopt=adopt)
        missing = await self._missing(workspace, tree)
        await self.materialise(workspace, found.paths.union(missing))
        return Captured(found.events, found.unkept, len(missing))

    async def _missing(self, workspace: str, tree: Tree) -> list[str]:
        """Return what the log holds and the folder was never seen to show."""
        shown = self._shown.all(workspace)
        absent = [path for path in self._view.below(workspace) if path not in shown]
        looks = await tree.look(absent)
        return [path for path in absent if looks[path] is None]


def unsettled(paths: Sequence[str], unkept: Mapping[str, str]) -> Conflict:
    """Return the error for paths at which the folder cannot be made to show what the log says."""
    reasons = [unkept[path] for path in paths if path in unkept]
    reason = reasons[0] if reasons else "Somebody keeps writing there."
    return Conflict(
        "files.unsettled",
        f"The folder does not show {', '.join(paths[:3])} as recorded. {reason} What stands there is untouched.",
        fix="Move what stands there away, or stop the program that writes there, then run 'choir files'.",
        paths=list(paths),
    )
