"""A set of changes being drawn up: paths are set, removed and moved on paper until the whole is consistent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from choiros.features.files.events import FileDeleted, FileFact, FileMoved, FileWritten
from choiros.kernel.errors import Rejected
from choiros.kernel.path import is_below, parents
from choiros.kernel.tree import Entry

DIRECTORY = Entry("dir", 0o755)


class ChangeSet:
    """Starts from what stands in a workspace and collects what shall stand there.

    `known` must hold every path that is touched, the directories above it, and all that lies below it.
    """

    def __init__(self, workspace: str, known: Mapping[str, Entry | None]) -> None:
        self._workspace = workspace
        self._before = dict(known)
        self._after: dict[str, Entry | None] = {}
        self._held: Counter[str] = Counter()
        self._moves: dict[str, str] = {}
        self._conflicts: dict[str, str] = {}
        for path, entry in known.items():
            self._set(path, entry)

    def _set(self, path: str, entry: Entry | None) -> None:
        """Note what shall stand at a path, and count for each directory above how much it holds."""
        difference = (entry is not None) - (self._after.get(path) is not None)
        self._after[path] = entry
        if difference:
            for parent in parents(path):
                self._held[parent] += difference

    def get(self, path: str) -> Entry | None:
        """Return what would stand at a path."""
        return self._after.get(path)

    def holds(self, directory: str) -> bool:
        """Return whether anything would stand below a directory."""
        return self._held[directory] > 0

    def below(self, directory: str) -> list[str]:
        """Return the paths at which something would stand below a directory."""
        if directory and not self.holds(directory):
            return []
        return [
            path for path, entry in self._after.items() if entry is not None and is_below(path, directory)
        ]

    def put(self, path: str, entry: Entry, *, conflict_of: str | None = None) -> None:
        """Let something stand at a path; missing directories above it are made.

        Raises Rejected (`files.not_directory`, `files.directory_not_empty`).
        """
        for parent in parents(path):
            above = self.get(parent)
            if above is None:
                self._set(parent, DIRECTORY)
            elif above.kind != "dir":
                raise not_directory(parent, path)
        if entry.kind != "dir" and self.holds(path):
            raise not_empty(path)
        self._set(path, entry)
        if conflict_of is not None:
            self._conflicts[path] = conflict_of

    def remove(self, path: str) -> None:
        """Let nothing stand at a path; raises Rejected (`files.directory_not_empty`)."""
        if self.holds(path):
            raise not_empty(path)
        self._set(path, None)

    def remove_all(self, path: str) -> None:
        """Let nothing stand at a path nor below it."""
        for inner in [*self.below(path), path]:
            self._set(inner, None)

    def move(self, path: str, to: str) -> None:
        """Let what stands at a path, and below it, stand at another one instead."""
        for inner in sorted([path, *self.below(path)]):
            entry = self.get(inner)
            if entry is not None:
                target = to + inner[len(path) :]
                self.put(target, entry)
                self._moves[inner] = target
        self.remove_all(path)

    def free_name(self, path: str, word: str) -> str:
        """Return a path beside this one at which nothing stands, with a word that tells why it is there."""
        folder, slash, name = path.rpartition("/")
        stem, dot, ending = name.partition(".") if not name.startswith(".") else (name, "", "")
        number = 1
        while True:
            mark = word if number == 1 else f"{word} {number}"
            candidate = f"{folder}{slash}{stem} ({mark}){dot}{ending}"
            if self.get(candidate) is None:
                return candidate
            number += 1

    def facts(self) -> tuple[FileFact, ...]:
        """Return the events that lead from what stands to what shall stand, in an order without contradiction."""
        changed = {path for path in self._after if self._before.get(path) != self._after[path]}
        moves = {path: to for path, to in self._moves.items() if self._is_move(path, to)}
        facts: list[FileFact] = [
            self._written(path, self._before.get(path))
            for path in sorted(changed)
            if self._is_new_directory(path, moves)
        ]
        done = {fact.path for fact in facts}
        for path, to in sorted(moves.items()):
            entry = self._before[path]
            assert entry is not None
            facts.append(FileMoved(self._workspace, path, to, entry))
            if self._after[path] is None:
                done.add(path)
            if self._after[to] == entry:
                done.add(to)
        rest = sorted(changed - done)
        gone = [path for path in reversed(rest) if self._after[path] is None]
        kept = [path for path in rest if self._after[path] is not None]
        facts += [self._deleted(path) for path in gone]
        sources = {to: path for path, to in moves.items()}
        for path in kept:
            before = None if path in moves else self._before.get(sources.get(path, path))
            facts.append(self._written(path, before))
        return tuple(facts)

    def _is_move(self, path: str, to: str) -> bool:
        before, after = self._before.get(path), self._after.get(to)
        if before is None or after is None or before.kind == "dir" or after.kind != before.kind:
            return False
        return self._after[path] != before and self._before.get(to) is None

    def _is_new_directory(self, path: str, moves: Mapping[str, str]) -> bool:
        entry = self._after[path]
        return entry is not None and entry.kind == "dir" and path not in moves

    def _written(self, path: str, before: Entry | None) -> FileWritten:
        entry = self._after[path]
        assert entry is not None
        return FileWritten(self._workspace, path, entry, before, self._conflicts.get(path))

    def _deleted(self, path: str) -> FileDeleted:
        before = self._before[path]
        assert before is not None
        return FileDeleted(self._workspace, path, before)


def not_directory(parent: str, path: str) -> Rejected:
    """Return the error for a path below something that is no directory."""
    return Rejected(
        "files.not_directory",
        f"'{parent}' is not a directory, so nothing can stand at '{path}'.",
        fix=f"Choose another path, or remove '{parent}' first.",
        path=path,
    )


def not_empty(path: str) -> Rejected:
    """Return the error for a directory that would have to vanish with all it holds."""
    return Rejected(
        "files.directory_not_empty",
        f"'{path}' is a directory that still holds something.",
        fix="Remove what it holds first, or remove it with everything below it (choir rm --recursive).",
        path=path,
    )
