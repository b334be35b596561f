"""A set of changes being drawn up: paths are set, removed and moved on paper until the whole fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

from choiros.features.files.events import FileDeleted, FileFact, FileMoved, FileWritten
from choiros.kernel.errors import Rejected
from choiros.kernel.path import NAME_BYTES_MAX, PATH_BYTES_MAX, is_below, parents
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
        # At which path each thing stood in the beginning: the same one when left out, None for a new thing.
        self._origins: dict[str, str | None] = {}
        self._conflicts: dict[str, str] = {}
        for path, entry in known.items():
            self._set(path, entry)

    def _set(self, path: str, entry: Entry | None) -> None:
        """Note what shall stand at a path, and count for each directory above how much it holds."""
        difference = (entry is not None) - (self._after.get(path) is not None)
        self._after[path] = entry
        if entry is None:
            self._origins[path] = None
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
                target, origin = to + inner[len(path) :], self._origins.get(inner, inner)
                self.put(target, entry)
                self._origins[target] = origin
        self.remove_all(path)

    def free_name(self, path: str, word: str) -> str:
        """Return the first of `names_beside` at which nothing stands; it and those before it must be known."""
        return next(name for name in names_beside(path, word) if self.get(name) is None)

    def facts(self) -> tuple[FileFact, ...]:
        """Return the events that lead from what stands to what shall stand, in a possible order."""
        changed = {
            path: self._before.get(path)
            for path, entry in self._after.items()
            if self._before.get(path) != entry
        }
        moves = {
            to: path
            for to, path in sorted(self._origins.items())
            if path is not None and path in changed and to in changed and self._is_move(path, to)
        }
        order = _Order(self._workspace, changed, after=self._after, conflicts=self._conflicts)
        return order.facts(moves)

    def _is_move(self, path: str, to: str) -> bool:
        before, after = self._before.get(path), self._after[to]
        if before is None or after is None or path == to:
            return False
        return before.kind == after.kind != "dir"


class _Order:
    """Finds an order in which each change can happen when its turn comes, and tells the changes in it."""

    def __init__(
        self,
        workspace: str,
        changed: Mapping[str, Entry | None],
        *,
        after: Mapping[str, Entry | None],
        conflicts: Mapping[str, str],
    ) -> None:
        self._workspace = workspace
        self._stands = dict(changed)
        self._after = after
        self._conflicts = conflicts
        self._facts: list[FileFact] = []

    def facts(self, moves: Mapping[str, str]) -> tuple[FileFact, ...]:
        """Return the facts; `moves` gives for a new path the old one of what shall stand there."""
        waiting = dict(moves)
        while True:
            told = len(self._facts)
            self._make_directories(waiting)
            self._move(waiting)
            if not waiting:
                break
            if len(self._facts) == told:
                # Things change places in a circle: one of them is told as removed and written anew.
                waiting.popitem()
        for path in self._left(gone=True):
            self._delete(path)
        for path in reversed(self._left(gone=False)):
            self._write(path)
        return tuple(self._facts)

    def _left(self, *, gone: bool) -> list[str]:
        """Return the paths that do not stand as they shall, the deepest first."""
        paths = (path for path, entry in self._stands.items() if entry != self._after[path])
        return sorted((path for path in paths if (self._after[path] is None) == gone), reverse=True)

    def _make_directories(self, waiting: Mapping[str, str]) -> None:
        sources = set(waiting.values())
        for path in reversed(self._left(gone=False)):
            entry = self._after[path]
            if entry is not None and entry.kind == "dir" and path not in sources and self._has_place(path):
                self._write(path)

    def _move(self, waiting: dict[str, str]) -> None:
        sources = set(waiting.values())
        for to, path in list(waiting.items()):
            there = self._stands[to]
            in_the_way = to in sources or (there is not None and there.kind == "dir")
            if in_the_way or not self._has_place(to):
                continue
            if there is not None:
                self._delete(to)
            entry = self._stands[path]
            assert entry is not None
            self._facts.append(FileMoved(self._workspace, path, to, entry))
            self._stands[path], self._stands[to] = None, entry
            del waiting[to]

    def _has_place(self, path: str) -> bool:
        """Return whether the directory that shall hold a path is there by now."""
        above = self._stands.get(path.rpartition("/")[0], DIRECTORY)
        return above is not None and above.kind == "dir"

    def _write(self, path: str) -> None:
        entry = self._after[path]
        assert entry is not None
        before = self._stands[path]
        self._facts.append(FileWritten(self._workspace, path, entry, before, self._conflicts.get(path)))
        self._stands[path] = entry

    def _delete(self, path: str) -> None:
        before = self._stands[path]
        assert before is not None
        self._facts.append(FileDeleted(self._workspace, path, before))
        self._stands[path] = None


def names_beside(path: str, word: str) -> Iterator[str]:
    """Yield names for what shall stand beside a path, with a word that tells why it is there."""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.partition(".") if not name.startswith(".") else (name, "", "")
    for number in count(1):
        mark = word if number == 1 else f"{word} {number}"
        yield (
            _fitting(folder + slash, stem, end=f" ({mark}){dot}{ending}")
            or _fitting(folder + slash, name, end=f" ({mark})")
            or _fitting("", name, end=f" ({mark})")
        )


def _fitting(folder: str, stem: str, *, end: str) -> str:
    """Return the name with its stem cut to what a path may have; nothing when it would vanish."""
    room = min(NAME_BYTES_MAX, PATH_BYTES_MAX - len(folder.encode())) - len(end.encode())
    kept = stem.encode()[: max(room, 0)].decode("utf-8", "ignore").rstrip()
    return f"{folder}{kept}{end}" if kept else ""


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
