"""What wishes, hand edits and undos mean, said as plainly as can be; it knows nothing of the product.

It is a plain mapping of paths to what stands there, one for each step, and the plain meaning of undo:
an event is taken back while an undo that took it back holds, and an undo holds until all it did is taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.places import Thing

Files = dict[str, Thing]


def above(path: str) -> list[str]:
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names))]


def inside(path: str, directory: str) -> bool:
    return path.startswith(f"{directory}/")


def holds(files: Files, directory: str) -> bool:
    return any(inside(path, directory) for path in files)


def put(files: Files, path: str, thing: Thing) -> Files | None:
    """Return the files with a thing at a path, None when there is no place for it."""
    if any(files.get(parent, ("dir",))[0] != "dir" for parent in above(path)):
        return None
    if thing[0] != "dir" and holds(files, path):
        return None
    made = {parent: ("dir", 0o755, b"") for parent in above(path) if parent not in files}
    return {**files, **made, path: thing}


def without(files: Files, path: str) -> Files:
    return {other: thing for other, thing in files.items() if other != path and not inside(other, path)}


def moved(files: Files, path: str, to: str) -> Files | None:
    if path not in files or to in files or to == path or inside(to, path):
        return None
    rest: Files | None = without(files, path)
    for other in [path, *sorted(one for one in files if inside(one, path))]:
        rest = None if rest is None else put(rest, to + other[len(path) :], files[other])
    return rest


def forced(files: Files, path: str, thing: Thing) -> Files:
    """Return the files after somebody put a thing there by hand, whatever stood in the way."""
    for parent in above(path):
        if files.get(parent, ("dir",))[0] != "dir":
            files = without(files, parent)
    if thing[0] != "dir" or files.get(path, ("dir",))[0] != "dir":
        files = without(files, path)
    done = put(files, path, thing)
    assert done is not None
    return done


@dataclass
class Step:
    """One thing that happened: the numbers of its facts, and how everything stood before it."""

    seqs: tuple[int, ...]
    before: Files
    run: str | None = None
    touched: frozenset[str] = frozenset()
    moves: tuple[tuple[str, str], ...] = ()
    is_exact: bool = True
    """Whether it is known how everything stood right before it."""


@dataclass
class Taken:
    """One undo: its number, what it took back, by which facts, and how everything stood before it."""

    seq: int
    took: frozenset[int]
    by: tuple[int, ...]
    before: Files
    is_redo: bool
    last: int = 0


@dataclass
class Model:
    """All that happened."""

    files: Files = field(default_factory=dict[str, Thing])
    steps: list[Step] = field(default_factory=list[Step])
    undos: list[Taken] = field(default_factory=list[Taken])
    snapshots: dict[int, Files] = field(default_factory=dict[int, Files])
    """How everything stood right after the last event of each step."""

    def held(self) -> list[Taken]:
        """Return the undos that hold, the newest first."""
        held: list[Taken] = []
        for undo in reversed(self.undos):
            lifted = {seq for newer in held for seq in newer.took}
            if not undo.by or not lifted.issuperset(undo.by):
                held.append(undo)
        return held

    def gone(self) -> set[int]:
        """Return the numbers of the facts that are taken back."""
        return {seq for undo in self.held() for seq in undo.took}

    def last_unit(self) -> list[Step]:
        """Return what 'undo' without a name means."""
        gone = self.gone()
        live = [step for step in self.steps if not gone.issuperset(step.seqs)]
        if not live:
            return []
        newest = live[-1]
        return [newest] if newest.run is None else [step for step in live if step.run == newest.run]

    def of_run(self, run: str) -> list[Step]:
        gone = self.gone()
        return [step for step in self.steps if step.run == run and not gone.issuperset(step.seqs)]

    def compensations(self) -> dict[int, Taken]:
        return {seq: undo for undo in self.undos for seq in undo.by}

    def is_newest(self, group: list[Step]) -> bool:
        """Return whether all that came after the first of these is taken back, or took back only such."""
        if not group[0].is_exact:
            return False
        first = min(group[0].seqs)
        gone = self.gone()
        own = {seq for step in group for seq in step.seqs}
        by = self.compensations()
        if any(undo.seq > first > min(undo.took) for undo in self.held()):
            # What stood before it has been taken back meanwhile, in part: nobody comes back to that.
            return False
        everything = [*(seq for step in self.steps for seq in step.seqs), *by]
        return all(
            seq in gone or (seq in by and min(by[seq].took) >= first)
            for seq in everything
            if seq > first and seq not in own
        )

    def related(self, group: list[Step]) -> set[str]:
        """Return every path that these steps touched, wherever it was moved since or before, and above it."""
        found = {path for step in group for path in step.touched}
        moves = [pair for step in self.steps for pair in step.moves]
        grown = True
        while grown:
            size = len(found)
            for path, to in moves:
                if found & {path, to}:
                    found |= {path, to}
            grown = len(found) > size
        return found | {parent for path in found for parent in above(path)}
