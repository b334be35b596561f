"""The merger: the only part of ChoirOS that writes workspaces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from choiros.features.files.capture import Capturer
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.files.view import FilesView, Shown, ShownTable
from choiros.features.workspaces.events import WorkspaceOpened, WorkspaceRemoved
from choiros.kernel.blob import BlobStore
from choiros.kernel.clock import Clock
from choiros.kernel.errors import Conflict, Corrupt
from choiros.kernel.event import Event
from choiros.kernel.path import is_below, parents
from choiros.kernel.tree import Done, Step, Tree

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
                # What stands in the way in one folder must not keep the others behind, nor what came later.
                troubles.append(trouble)
                await self._catch_up(workspace, besides=paths)
        if troubles:
            raise troubles[0]

    async def _catch_up(self, workspace: str, *, besides: set[str]) -> None:
        """Show what later events say: they are not seen here as long as something keeps these ones waiting."""
        shown, wanted = self._shown.all(workspace), self._view.below(workspace)
        behind = {
            path
            for path in {*shown, *wanted} - besides
            if wanted.get(path) != (shown[path].entry if path in shown else None)
        }
        with suppress(Conflict):
            await self.materialise(workspace, behind)

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
        if tree is not None and (left := await self._settle(workspace, tree, paths=paths)):
            raise unsettled(left)

    async def _settle(self, workspace: str, tree: Tree, *, paths: Iterable[str]) -> Mapping[str, str]:
        """Do what `materialise` promises and return the paths at which it could not be done, with the reason."""
        left, unkept = dict.fromkeys(self._with_way(workspace, paths), ""), dict[str, str]()
        for _ in range(ROUNDS):
            left = await self._show(workspace, tree, paths=left)
            if not left:
                break
            found = await self._capturer.named(workspace, tree, paths=left, anew=frozenset(left))
            unkept.update(found.unkept)
            left.update(dict.fromkeys(found.paths.difference(left), "Somebody keeps writing there."))
        return {path: _in_the_way(path, unkept) or why for path, why in sorted(left.items())}

    def _with_way(self, workspace: str, paths: Iterable[str]) -> set[str]:
        """Return these paths with the directories above them that the folder lacks, as one that was made anew does."""
        wanted = set(paths)
        above = sorted({parent for path in wanted for parent in parents(path)})
        shown = self._capturer.last_shown(workspace, above)
        entries = self._view.entries(workspace, above)
        return wanted | {path for path in above if entries[path] is not None and path not in shown}

    async def _show(self, workspace: str, tree: Tree, *, paths: Iterable[str]) -> dict[str, str]:
        """Apply what differs and return the paths at which the folder shows something unexpected, and why."""
        paths = sorted(paths)
        wanted, shown = self._view.entries(workspace, paths), self._capturer.last_shown(workspace, paths)
        steps = [
            Step(path, entry, shown[path].stat if path in shown else None)
            for path, entry in wanted.items()
            if entry != (shown[path].entry if path in shown else None)
        ]
        if not steps:
            return {}
        self._shown.begin(workspace)
        done, left = await self._apply(tree, steps, shown=shown)
        self._shown.end(workspace)
        now = self._clock.now_ms() * 1_000_000
        known: list[tuple[str, Shown | None]] = []
        for path, result in done.items():
            entry = wanted[path]
            if result.diverged:
                left[path] = result.diverged
            else:
                seen = None if entry is None or result.stat is None else Shown(entry, result.stat, now)
                known.append((path, seen))
        self._shown.put(workspace, known)
        return left

    async def _apply(
        self, tree: Tree, steps: Sequence[Step], *, shown: Mapping[str, Shown]
    ) -> tuple[Mapping[str, Done], dict[str, str]]:
        """Apply what can be applied, and return what became of it; and what was left out, and why.

        A content that is damaged concerns its own paths alone. Where the folder shows it still, its last whole
        copy may stand there: that is left too, and read anew by those who look why it was left.
        """
        try:
            return await tree.apply(steps, self._blobs), {}
        except Corrupt:
            damaged = await self._damaged(steps)
            if not damaged:
                raise
        left: dict[str, str] = {}
        for step in steps:
            contents = [step.entry, shown[step.path].entry if step.path in shown else None]
            for entry in contents:
                if entry is not None and entry.content in damaged:
                    left[step.path] = damaged[entry.content]
        return await tree.apply([step for step in steps if step.path not in left], self._blobs), left

    async def _damaged(self, steps: Iterable[Step]) -> dict[str, str]:
        """Return which of the contents that are wanted cannot be read, and why."""
        found: dict[str, str] = {}
        for content in {step.entry.content for step in steps if step.entry is not None} - {""}:
            try:
                async for _ in self._blobs.read(content):
                    pass
            except Corrupt as damage:
                found[content] = damage.message
        return found

    async def capture(
        self, workspace: str, paths: Iterable[str] | None = None, *, adopt: bool = False
    ) -> Captured:
        """Record what people did in the folder: at these paths and below them, or anywhere.

        With `adopt` everything is recorded as having been there before, which no undo takes away.

        What cannot be kept (too large, not UTF-8, a device) is named with the reason and stays untouched; so is
        what the log holds and the folder cannot show. Neither keeps anybody from working elsewhere.
        """
        tree = await self._tree(workspace)
        if tree is None:
            return Captured((), {})
        if paths is not None:
            found = await self._capturer.named(workspace, tree, paths=paths)
            left = await self._settle(workspace, tree, paths=found.paths)
            return Captured(found.events, {**found.unkept, **_unshown(left)})
        found = await self._capturer.everything(workspace, tree, adopt=adopt)
        missing, other = await self._behind(workspace, tree)
        left = await self._settle(workspace, tree, paths=found.paths.union(missing, other))
        return Captured(found.events, {**found.unkept, **_unshown(left)}, len(missing - left.keys()))

    async def _behind(self, workspace: str, tree: Tree) -> tuple[set[str], set[str]]:
        """Return what the log holds and the folder lacks, and where it was last seen to show something else."""
        shown = self._shown.all(workspace)
        below = self._view.below(workspace)
        looks = await tree.look([path for path in below if path not in shown])
        other = {path for path, entry in below.items() if path in shown and shown[path].entry != entry}
        return {path for path, look in looks.items() if look is None}, other


def _in_the_way(path: str, unkept: Mapping[str, str]) -> str:
    """Return what that is not kept stands in the way of a path, '' when nothing does."""
    for one, reason in sorted(unkept.items()):
        if one == path or is_below(one, path) or is_below(path, one):
            return f"{one} stands in the way: {reason}"
    return ""


def _unshown(left: Mapping[str, str]) -> dict[str, str]:
    return {
        path: f"What the folder shows there is not what is recorded. {reason}"
        for path, reason in left.items()
    }


def unsettled(left: Mapping[str, str]) -> Conflict:
    """Return the error for paths at which the folder cannot be made to show what the log says."""
    paths = list(left)
    return Conflict(
        "files.unsettled",
        f"The folder does not show {', '.join(paths[:3])} as recorded. {left[paths[0]]} What stands there is "
        "untouched.",
        fix="Move away what stands there, or remove the reason, then run 'choir files'.",
        paths=paths,
    )
