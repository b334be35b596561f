"""Notices what people did in a workspace's folder, and records it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType

from choiros.features.files.commands import CaptureFiles, Change
from choiros.features.files.ignore import Ignore
from choiros.features.files.load import IGNORE_FILE, FilesLoader
from choiros.features.files.view import FilesView, Shown, ShownTable
from choiros.kernel.blob import BlobStore
from choiros.kernel.clock import Clock
from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.event import Event, Source
from choiros.kernel.path import check_path, is_below, is_protected, parents
from choiros.kernel.tree import Entry, Stat, Tree

RACY_NS = 20_000_000
"""A file that was written this shortly before it was looked at may have been written again unseen."""

Looks = Mapping[str, Stat | None]


Record = Callable[[CaptureFiles, Source], Awaitable[Sequence[Event]]]
"""Records what was found: as the person's doing, or as ChoirOS's own when nobody did anything."""


class Found(Struct, frozen=True):
    """What a look at a folder led to: events, the paths that looked new, and what cannot be kept, with the reason."""

    events: tuple[Event, ...] = ()
    paths: frozenset[str] = frozenset()
    unkept: Mapping[str, str] = {}


class Capturer:
    """Compares a folder with what it showed last and records the difference as the person's doing."""

    def __init__(
        self,
        *,
        view: FilesView,
        shown: ShownTable,
        loader: FilesLoader,
        blobs: BlobStore,
        clock: Clock,
        record: Record,
    ) -> None:
        self._view = view
        self._shown = shown
        self._loader = loader
        self._blobs = blobs
        self._clock = clock
        self._record = record
        self.remembered_until: int | None = None
        """The event up to which the folders are remembered, when a power cut took what came later."""
        # What a look has found and is just being recorded; it enters the table only when the record is safe.
        self._finding: dict[tuple[str, str], Shown | None] = {}

    def last_shown(self, workspace: str, paths: Iterable[str]) -> dict[str, Shown]:
        """Return what the folder is known to show at these paths, what is just being recorded included."""
        shown = self._shown.get(workspace, paths)
        for path in paths:
            found = self._finding.get((workspace, path), shown.get(path))
            if found is not None:
                shown[path] = found
            else:
                shown.pop(path, None)
        return shown

    async def everything(self, workspace: str, tree: Tree, *, adopt: bool = False) -> Found:
        """Record whatever was done anywhere in the folder; with `adopt`, what was there before ChoirOS came.

        What is adopted is nobody's change, so no undo will ever take it away.
        """
        await self._compare(workspace, tree, looks=await tree.look([IGNORE_FILE]))
        looks, unkept = await self._scan(workspace, tree, within=None)
        gone = dict.fromkeys(path for path in self._shown.all(workspace) if _was_reached(path, unkept))
        found = await self._compare(workspace, tree, looks={**gone, **looks}, adopt=adopt)
        problem = self._loader.ignore_problem(workspace)
        problems = {} if problem is None else {IGNORE_FILE: problem}
        return Found(found.events, found.paths, {**unkept, **found.unkept, **problems})

    async def named(
        self, workspace: str, tree: Tree, *, paths: Iterable[str], anew: frozenset[str] = frozenset()
    ) -> Found:
        """Record what was done at these paths, to the directories above them, and below those that are directories.

        The paths in `anew` are read even if they look as before.
        """
        named = [check_path(path) for path in paths]
        around = {above for path in named for above in parents(path)}
        looks: dict[str, Stat | None] = dict(await tree.look(sorted(around.union(named))))
        directories = [path for path in named if (look := looks[path]) is not None and look.kind == "dir"]
        below: dict[str, str] = {}
        if directories:
            inside, below = await self._scan(workspace, tree, within=directories)
            looks |= inside
        replaced = [path for path in around if (look := looks[path]) is not None and look.kind != "dir"]
        for path in [*named, *replaced]:
            known = [one for one in self._view.below(workspace, path) if _was_reached(one, below)]
            looks = {**dict.fromkeys(known), **looks}
        looks = {**await self._left_behind(workspace, tree, looks=looks), **looks}
        found = await self._compare(workspace, tree, looks=await self._kept(workspace, looks), anew=anew)
        return Found(found.events, found.paths, {**below, **found.unkept})

    async def _left_behind(self, workspace: str, tree: Tree, *, looks: Looks) -> Looks:
        """Return the places, gone by now, where a file was seen that stands somewhere else today.

        Looked at alone, the new place of a renamed file would be a new file, and its history lost.
        """
        shown = self._shown.get(workspace, looks)
        arrived = {
            look.inode
            for path, look in looks.items()
            if look is not None and look.kind == "file" and path not in shown
        }
        former = [one for one in self._shown.with_inodes(workspace, arrived) if one not in looks]
        return {path: None for path, look in (await tree.look(former)).items() if look is None}

    async def _kept(self, workspace: str, looks: Looks) -> Looks:
        """Leave out what is ignored or protected, but for what the log holds already."""
        ignore = await self._loader.ignore(workspace)
        known = self._view.entries(workspace, looks)
        return {
            path: look
            for path, look in looks.items()
            if known[path] or not (is_protected(path) or ignore.matches(path, False))  # noqa: FBT003 - by position
        }

    async def _scan(
        self, workspace: str, tree: Tree, *, within: Sequence[str] | None
    ) -> tuple[dict[str, Stat], dict[str, str]]:
        """Look at the whole folder, or only at what lies below some directories."""
        ignore = await self._loader.ignore(workspace)
        reserved: dict[str, str] = {}
        is_left_out = leaving_out(self._view.below(workspace), ignore, reserved=reserved)

        def skip(path: str, is_directory: bool) -> bool:  # noqa: FBT001 - the port calls it by position
            if within is not None and not _on_the_way(path, within):
                return True
            return is_left_out(path, is_directory)

        looks, unkept = await tree.scan(skip)
        return looks, {**unkept, **reserved}

    async def _compare(
        self,
        workspace: str,
        tree: Tree,
        *,
        looks: Looks,
        anew: frozenset[str] = frozenset(),
        adopt: bool = False,
    ) -> Found:
        """Record every path whose look differs from what the folder showed last."""
        shown = self._shown.get(workspace, looks)
        current = self._view.entries(workspace, looks)
        changes: dict[Source, list[Change]] = {"user": [], "system": []}
        seen: dict[str, Shown | None] = {}
        unkept: dict[str, str] = {}
        for path, look in looks.items():
            last = shown.get(path)
            if looks_same(look, last) and path not in anew:
                continue
            try:
                found = None if look is None else await self._read(tree, path)
            except (Rejected, Conflict) as reason:
                unkept[path] = reason.message
                continue
            seen[path] = found
            entry = found.entry if found else None
            if entry != current[path] and (found or last):
                if self._was_put_there(workspace, path, entry=entry):
                    continue
                source = "system" if adopt or _stayed(last, found, current=current[path]) else "user"
                base = _base(last, current[path], raced=path in anew)
                changes[source].append(Change(path, entry, base))
        events: list[Event] = []
        for source, some in changes.items():
            events += await self._recorded(CaptureFiles(workspace, tuple(some)), source, seen=seen)
        # What was read without a change to record may have made damaged content whole again.
        await self._blobs.flush()
        self._shown.put(workspace, seen.items())
        return Found(tuple(events), frozenset(seen), unkept)

    def _was_put_there(self, workspace: str, path: str, *, entry: Entry | None) -> bool:
        """Return whether the folder shows a version that we put there later than is remembered."""
        if self.remembered_until is None:
            return False
        versions = self._view.changed_after(workspace, path, seq=self.remembered_until)
        last = self._view.at(workspace, path, seq=self.remembered_until)
        return entry in [version.entry for version in (*versions, last) if version]

    async def _read(self, tree: Tree, path: str) -> Shown:
        entry, stat = await tree.take(path, self._blobs)
        return Shown(entry, stat, self._clock.now_ms() * 1_000_000)

    async def _recorded(
        self, command: CaptureFiles, source: Source, *, seen: Mapping[str, Shown | None]
    ) -> Sequence[Event]:
        if not command.changes:
            return ()
        finding = {(command.workspace, path): shown for path, shown in seen.items()}
        self._finding.update(finding)
        try:
            return await self._record(command, source)
        finally:
            for key in finding:
                self._finding.pop(key, None)


def leaving_out(
    kept: Iterable[str], ignore: Ignore, *, reserved: dict[str, str]
) -> Callable[[str, bool], bool]:
    """Return the rule about what a look at a folder leaves out; names that are reserved are noted as such."""
    tracked = set(kept)
    above = {parent for path in tracked for parent in parents(path)}

    def is_left_out(path: str, is_directory: bool) -> bool:  # noqa: FBT001 - the port calls it by position
        if path in tracked or path in above:
            return False
        if ignore.matches(path, is_directory):
            return True
        if is_protected(path):
            reserved[path] = "The name is reserved."
            return True
        return False

    return is_left_out


def _stayed(last: Shown | None, found: Shown | None, *, current: Entry | None) -> bool:
    """Return whether a directory that the log has given up is still there, because it holds what is not kept.

    It is the same one: a person may have made another of this name in the meantime.
    """
    if current is not None or last is None or found is None:
        return False
    return last.entry.kind == found.entry.kind == "dir" and last.stat.inode == found.stat.inode


def _base(last: Shown | None, current: Entry | None, *, raced: bool) -> Entry | UnsetType | None:
    """Return what the people who wrote in the folder had before them.

    A directory that the log has given up but that still holds something is simply there again. When nothing is
    known about the path, what stands in the folder is taken as newer and the log keeps the other version; but
    where it `raced` with a change that the folder was just about to show, both had nothing before them.
    """
    if current is None and (last is None or last.entry.kind == "dir"):
        return None
    if last is None:
        return None if raced else UNSET
    return last.entry


def looks_same(look: Stat | None, last: Shown | None) -> bool:
    """Return whether nothing was written since a path was seen."""
    if look is None or last is None:
        return look is None and last is None
    newest = max(look.mtime_ns, look.ctime_ns)
    return look == last.stat and newest < last.seen_ns - RACY_NS


def _was_reached(path: str, unkept: Mapping[str, str]) -> bool:
    """Return whether a scan could have seen a path: what lies in an unreadable directory is not gone."""
    return not any(above in unkept for above in (".", *parents(path)))


def _on_the_way(path: str, within: Sequence[str]) -> bool:
    return any(path == one or is_below(path, one) or is_below(one, path) for one in within)
