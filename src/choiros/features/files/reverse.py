"""How changes of files are taken back: event by event, the newest first, merged with what came later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from choiros.features.files.changeset import ChangeSet
from choiros.features.files.decide import Clash, combine, digest_of
from choiros.features.files.events import FileDeleted, FileFact, FileMoved, FileWritten
from choiros.features.files.load import read_all
from choiros.features.files.text import TEXT_BYTES_MAX
from choiros.features.files.view import FilesView, Version
from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Event
from choiros.kernel.path import is_below, parents
from choiros.kernel.reverser import Obstacle, Reversal
from choiros.kernel.tree import Entry


class FilesReverser:
    """Takes back file.write, file.delete and file.move."""

    types = frozenset({"file.write", "file.delete", "file.move"})

    def __init__(self, view: FilesView, blobs: BlobStore, *, check_open: Callable[[str], None]) -> None:
        """Take what raises Rejected when nothing in a workspace may change."""
        self._view = view
        self._blobs = blobs
        self._check_open = check_open

    async def reverse(self, events: Sequence[Event], leave: frozenset[str]) -> Reversal:
        """Return the facts that take back these events, and what stands against it."""
        by_workspace: defaultdict[str, list[tuple[int, FileFact]]] = defaultdict(list)
        for event in events:
            if isinstance(event.payload, FileWritten | FileDeleted | FileMoved):
                by_workspace[event.payload.workspace].append((event.seq, event.payload))
        parts: list[Reversal] = []
        for workspace, facts in by_workspace.items():
            self._check_open(workspace)
            parts.append(
                await _Reversing(self._view, self._blobs, workspace=workspace, leave=leave).run(facts)
            )
        return Reversal(
            tuple(fact for part in parts for fact in part.facts),
            tuple(content for part in parts for content in part.contents),
            tuple(one for part in parts for one in part.obstacles),
            tuple(one for part in parts for one in part.notes),
        )


class _Reversing:
    """One reversal inside one workspace, drawn up on paper."""

    def __init__(self, view: FilesView, blobs: BlobStore, *, workspace: str, leave: frozenset[str]) -> None:
        self._view = view
        self._blobs = blobs
        self._workspace = workspace
        self._leave = leave
        self._changes = ChangeSet(workspace, {})
        self._reversed: set[int] = set()
        self._reversed_moves: set[int] = set()
        self._contents: dict[str, bytes] = {}
        self._made: list[bytes] = []
        self._obstacles: list[Obstacle] = []
        self._notes: list[Obstacle] = []

    async def run(self, facts: Sequence[tuple[int, FileFact]]) -> Reversal:
        facts = [(seq, fact) for seq, fact in facts if not self._is_left(*_paths(fact))]
        self._reversed = {seq for seq, _ in facts}
        self._changes = ChangeSet(self._workspace, self._known(facts))
        later = self._later_changes(facts)
        removals: list[str] = []
        for seq, fact in reversed(facts):
            match fact:
                case FileWritten(_, path, entry, before):
                    where = self._where(path, seq, later=later)
                    if where is None:
                        self._note_gone(path, entry, before=before)
                    elif self._is_left(where):
                        self._notes.append(Obstacle(where, "it stays as it is"))
                    elif before is None and entry.kind == "dir" and self._changes.holds(where):
                        removals.append(where)
                    else:
                        await self._unwrite(where, entry, before=before)
                case FileDeleted(_, path, before):
                    self._undelete(path, before)
                case FileMoved():
                    self._unmove(fact, seq, later=later)
        self._remove_directories(removals)
        drawn = self._changes.facts()
        return Reversal(drawn, self._named(drawn), tuple(self._obstacles), tuple(self._notes))

    def _is_left(self, *paths: str) -> bool:
        return any(path == left or is_below(path, left) for path in paths for left in self._leave)

    def _known(self, facts: Sequence[tuple[int, FileFact]]) -> dict[str, Entry | None]:
        """Return what stands at every path concerned, wherever it has moved since, above it and below it."""
        paths: set[str] = set()
        for seq, fact in facts:
            for path in _paths(fact):
                paths |= {path, *parents(path)}
                paths |= self._moved_on(path, seq)
        known = self._view.entries(self._workspace, sorted(paths))
        for path, entry in list(known.items()):
            if entry is not None and entry.kind == "dir":
                known.update(self._view.below(self._workspace, path))
        return known

    def _moved_on(self, path: str, seq: int) -> set[str]:
        found: set[str] = set()
        for version in self._view.changed_after(self._workspace, path, seq=seq):
            if version.moved_to is not None and version.moved_to not in found:
                found |= {version.moved_to, *parents(version.moved_to)}
                found |= self._moved_on(version.moved_to, version.seq)
        return found

    def _later_changes(self, facts: Sequence[tuple[int, FileFact]]) -> dict[str, list[Version]]:
        return {
            path: self._view.changed_after(self._workspace, path, seq=seq)
            for seq, fact in reversed(facts)
            for path in _paths(fact)
        }

    def _where(self, path: str, seq: int, *, later: dict[str, list[Version]]) -> str | None:
        """Return where the thing that stood at a path after an event stands now; None when it was removed."""
        for version in later.get(path) or self._view.changed_after(self._workspace, path, seq=seq):
            if version.seq <= seq or version.seq in self._reversed_moves:
                continue
            if version.moved_to is not None:
                return self._where(version.moved_to, version.seq, later={})
        return path if self._changes.get(path) is not None else None

    async def _unwrite(self, path: str, entry: Entry, *, before: Entry | None) -> None:
        current = self._changes.get(path)
        if current == entry:
            self._set(path, before)
            return
        if before is not None:
            await self._load(current, entry, before)
            merged = combine(entry, current, theirs=before, contents=self._contents)
            if not isinstance(merged, Clash):
                if merged.entry is not None:
                    self._set(path, merged.entry)
                self._keep(merged.contents)
                return
        reason = (
            "it was made by this and changed since"
            if before is None
            else "it was changed since in the same place"
        )
        self._obstacles.append(Obstacle(path, reason))

    def _undelete(self, path: str, before: Entry) -> None:
        current = self._changes.get(path)
        if current is None or (current.kind == before.kind == "dir"):
            self._set(path, before)
        elif current != before:
            self._obstacles.append(Obstacle(path, "something else stands there now"))

    def _unmove(self, fact: FileMoved, seq: int, *, later: dict[str, list[Version]]) -> None:
        path, to = fact.path, fact.to
        where = None if self._was_replaced(fact, seq) else self._where(to, seq, later=later)
        if where is None:
            self._notes.append(
                Obstacle(to, "it was moved there by this and removed since; nothing to take back")
            )
        elif where != to:
            self._notes.append(Obstacle(where, f"it was moved on since, so it stays there and not at {path}"))
        elif self._changes.get(path) is not None:
            self._obstacles.append(Obstacle(path, "something else stands there now"))
        else:
            self._reversed_moves.add(seq)
            try:
                self._changes.move(to, path)
            except Rejected as error:
                self._obstacles.append(Obstacle(path, error.message))

    def _was_replaced(self, fact: FileMoved, seq: int) -> bool:
        """Return whether what was moved was removed since, and something else was put there."""
        last, is_gone = fact.entry, False
        for version in self._view.changed_after(self._workspace, fact.to, seq=seq):
            if version.moved_to is not None:
                return False
            if version.seq in self._reversed:
                continue
            if version.entry is None:
                is_gone = True
            elif version.entry.kind != last.kind or (is_gone and version.entry != last):
                return True
            else:
                last, is_gone = version.entry, False
        return False

    def _set(self, path: str, entry: Entry | None) -> None:
        try:
            if entry is None:
                self._changes.remove(path)
            else:
                self._changes.put(path, entry)
        except Rejected as error:
            self._obstacles.append(Obstacle(path, error.message))

    def _remove_directories(self, paths: Sequence[str]) -> None:
        """Remove directories that the events made, but for those in which others have put something since."""
        for path in sorted(set(paths), reverse=True):
            if self._changes.holds(path):
                self._notes.append(Obstacle(path, "the directory stays, because it holds something newer"))
            elif self._changes.get(path) is not None:
                self._changes.remove(path)

    def _note_gone(self, path: str, entry: Entry, *, before: Entry | None) -> None:
        if entry.kind != "dir" and before is not None:
            self._notes.append(Obstacle(path, "it was removed since; nothing to take back"))

    async def _load(self, *entries: Entry | None) -> None:
        for entry in entries:
            known = entry is None or entry.kind != "file" or entry.content in self._contents
            if entry is not None and not known and entry.size <= TEXT_BYTES_MAX:
                self._contents[entry.content] = await read_all(self._blobs, entry.content)

    def _named(self, facts: Sequence[FileFact]) -> tuple[bytes, ...]:
        """Return the contents that these facts name; what was merged on the way to them is nowhere kept."""
        named = {fact.entry.content for fact in facts if isinstance(fact, FileWritten)}
        return tuple(content for content in self._made if digest_of(content) in named)

    def _keep(self, contents: Sequence[bytes]) -> None:
        for content in contents:
            self._made.append(content)
            self._contents[digest_of(content)] = content


def _paths(fact: FileFact) -> tuple[str, ...]:
    return (fact.path, fact.to) if isinstance(fact, FileMoved) else (fact.path,)
