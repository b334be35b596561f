"""Any sequence of wishes, hand edits, undos and restarts, against a model that knows nothing of the product.

The model is a plain mapping of paths to what stands there, one for each step, and the plain meaning of undo:
an event is taken back while an undo that took it back holds, and an undo holds until all it did is taken back.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from choiros.features.checkpoints.commands import MakeCheckpoint
from choiros.features.undo.events import Undone
from choiros.kernel.errors import Conflict, Rejected
from choiros.wiring import Computer
from tests.conftest import SOAK
from tests.places import DiskPlace, Hand, MemoryPlace, Outcome, Place, Thing, head, recorded, standing

T = TypeVar("T")
Files = dict[str, Thing]

PATHS = ("a", "b", "d", "d/x", "d/y", "d/e", "d/e/z", "n", "n/ü", "n/d")
paths = st.sampled_from(PATHS)
# Lines far enough from each other that two changes can be told apart.
LINES = [f"line {number}\n" for number in range(9)]
contents = st.one_of(
    st.sampled_from([b"", b"\x00\xff", b"same\n"]),
    st.tuples(st.sampled_from([0, 4, 8]), st.integers(0, 3)).map(
        lambda pick: "".join(
            f"{pick[1]}\n" if at == pick[0] else line for at, line in enumerate(LINES)
        ).encode()
    ),
)
file_modes = st.sampled_from([0o644, 0o755, 0o600])
directory_modes = st.sampled_from([0o755, 0o700])
runs = st.sampled_from([None, None, "r1", "r2"])

# --- What the words mean, said as plainly as can be ---


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


class History(RuleBasedStateMachine):
    """Works at a computer and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.directory = Path(tempfile.mkdtemp())
        self.place = self.settle(self.directory)
        self.computer: Computer = self.now(self.place.open())
        self.model = Model()
        self.model.snapshots[0] = {}
        self.seen = self.now(head(self.computer))
        self.model.snapshots[self.seen] = {}

    def settle(self, directory: Path) -> Place:
        """Return where the computer stands."""
        return MemoryPlace(directory)

    def now(self, what: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(what)

    def hand(self, run: str | None = None) -> Hand:
        return Hand(self.computer, run=run, source="user" if run is None else "agent")

    def teardown(self) -> None:
        if hasattr(self, "computer"):
            self.now(recorded(self.computer))
            self.now(self.computer.close())
        self.loop.close()
        shutil.rmtree(self.directory)

    # --- Telling the model ---

    def note(
        self,
        outcome: Outcome,
        files: Files,
        *,
        run: str | None = None,
        moves: Iterable[tuple[str, str]] = (),
    ) -> None:
        assert outcome.troubles == ()
        seqs = tuple(event.seq for event in outcome.events)
        before = self.model.files
        touched = {path for path in {*before, *files} if before.get(path) != files.get(path)}
        assert bool(seqs) == bool(touched)
        if seqs:
            self.model.steps.append(Step(seqs, before, run, frozenset(touched), tuple(moves)))
        self.keep(files)

    def keep(self, files: Files) -> None:
        self.model.files = files
        self.model.snapshots[self.now(head(self.computer))] = files

    def wish(
        self,
        what: Coroutine[Any, Any, Outcome],
        files: Files | None,
        *,
        run: str | None = None,
        moves: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Let a wish be done; one that the model finds impossible must be refused."""
        if files is None:
            try:
                outcome = self.now(what)
            except Rejected:
                self.keep(self.model.files)
                return
            raise AssertionError(f"it was not refused: {outcome.events}")
        self.note(self.now(what), files, run=run, moves=moves)

    # --- Wishes ---

    @initialize(data=contents)
    def begin(self, data: bytes) -> None:
        self.write("d/x", data, 0o644, None)

    @rule(path=paths, data=contents, mode=file_modes, run=runs)
    def write(self, path: str, data: bytes, mode: int, run: str | None) -> None:
        files = put(self.model.files, path, ("file", mode, data))
        self.wish(self.hand(run).write(path, data, mode), files, run=run)

    @rule(path=paths, at=st.sampled_from([0, 4, 8]), word=st.integers(0, 3), run=runs)
    def edit(self, path: str, at: int, word: int, run: str | None) -> None:
        old, new = LINES[at], f"{word}\n"
        kind, mode, data = self.model.files.get(path, ("", 0, b""))
        files = None
        if kind == "file" and data.count(old.encode()) == 1:
            files = {**self.model.files, path: ("file", mode, data.replace(old.encode(), new.encode()))}
        self.wish(self.hand(run).edit(path, old, new), files, run=run)

    @rule(path=paths, mode=directory_modes, run=runs)
    def mkdir(self, path: str, mode: int, run: str | None) -> None:
        self.wish(self.hand(run).mkdir(path, mode), put(self.model.files, path, ("dir", mode, b"")), run=run)

    @rule(path=paths, to=st.sampled_from(["a", "../nowhere"]), run=runs)
    def link(self, path: str, to: str, run: str | None) -> None:
        files = put(self.model.files, path, ("link", 0o777, to.encode()))
        self.wish(self.hand(run).link(path, to), files, run=run)

    @rule(path=paths, mode=file_modes, run=runs)
    def chmod(self, path: str, mode: int, run: str | None) -> None:
        kind, _, data = self.model.files.get(path, ("link", 0, b""))
        if kind != "link":
            files = {**self.model.files, path: (kind, mode, data)}
            self.wish(self.hand(run).chmod(path, mode), files, run=run)

    @rule(path=paths, to=paths, run=runs)
    def move(self, path: str, to: str, run: str | None) -> None:
        files = moved(self.model.files, path, to)
        moves = [(one, to + one[len(path) :]) for one in self.model.files if one == path or inside(one, path)]
        self.wish(self.hand(run).move(path, to), files, run=run, moves=moves)

    @rule(path=paths, recursive=st.booleans(), run=runs)
    def remove(self, path: str, recursive: bool, run: str | None) -> None:
        allowed = path in self.model.files and (recursive or not holds(self.model.files, path))
        files = without(self.model.files, path) if allowed else None
        self.wish(self.hand(run).remove(path, recursive=recursive), files, run=run)

    # --- By hand, in the folder itself ---

    @rule(data=st.data(), count=st.integers(1, 3))
    def by_hand(self, data: st.DataObject, count: int) -> None:
        files, moves = self.model.files, list[tuple[str, str]]()
        for _ in range(count):
            act = data.draw(st.sampled_from(["write", "write", "link", "mkdir", "chmod", "remove", "move"]))
            path = data.draw(paths)
            files = self.outside(act, path, files, moves=moves, data=data)
        assert self.place.look() == dict(sorted(files.items())), "the test itself is wrong"
        captured = self.now(self.computer.merger.capture("main"))
        assert captured.unkept == {}
        self.note(Outcome(captured.events, ()), files, moves=moves)

    def outside(
        self, act: str, path: str, files: Files, *, moves: list[tuple[str, str]], data: st.DataObject
    ) -> Files:
        kind, _, content = files.get(path, ("", 0, b""))
        match act:
            case "write":
                fresh, mode = data.draw(contents), data.draw(file_modes)
                self.place.write(path, fresh, mode)
                return forced(files, path, ("file", mode, fresh))
            case "link":
                self.place.link(path, "a")
                return forced(files, path, ("link", 0o777, b"a"))
            case "mkdir" if kind != "dir":
                self.place.remove(path)
                self.place.mkdir(path)
                return forced(files, path, ("dir", 0o755, b""))
            case "chmod" if kind in {"file", "dir"}:
                self.place.chmod(path, 0o700)
                return {**files, path: (kind, 0o700, content)}
            case "remove" if kind:
                self.place.remove(path)
                return without(files, path)
            case "move" if kind:
                to = data.draw(paths)
                way = all(files.get(parent, ("",))[0] == "dir" for parent in above(to))
                if to == path or inside(to, path) or inside(path, to) or not way:
                    return files
                self.place.move(path, to)
                done = moved(without(files, to), path, to)
                assert done is not None
                moves += [(one, to + one[len(path) :]) for one in files if one == path or inside(one, path)]
                return done
            case _:
                return files

    @rule(path=paths, data=contents, ours=contents, run=runs)
    def race(self, path: str, data: bytes, ours: bytes, run: str | None) -> None:
        """Somebody writes in the folder, and before that is seen somebody else writes the same file."""
        files = forced(self.model.files, path, ("file", 0o644, data))
        if put(self.model.files, path, ("file", 0o644, b"")) is None or set(self.model.files) - set(files):
            return
        before, first = self.model.files, self.now(head(self.computer))
        self.place.write(path, data)
        outcome = self.now(self.hand(run).write(path, ours, before.get(path, ("file", 0o644, b""))[1]))
        assert outcome.troubles == ()
        self.now(self.computer.merger.capture("main"))
        here = self.place.look()
        versions = [thing[2] for one, thing in here.items() if one.split(" ", 1)[0] == path]
        was = before.get(path, ("", 0, b""))
        assert (was[0] == "file" and b"\n" in ours) or {data, ours} <= {*versions, was[2]}
        # What came of it is not foretold; from here on it is known. Nothing of it may be lost again.
        events = [
            event
            for event in self.now(recorded(self.computer, first))
            if event.head.event_type.startswith("file.")
        ]
        touched = frozenset(one for one in {*before, *here} if before.get(one) != here.get(one))
        for number, cause in enumerate(dict.fromkeys(event.head.cause for event in events)):
            own = [event for event in events if event.head.cause == cause]
            seqs = tuple(event.seq for event in own)
            step = Step(seqs, before, own[0].head.run_id, touched, is_exact=number == 0)
            self.model.steps.append(step)
        self.keep(here)

    # --- Taking back ---

    def take_back(self, what: Coroutine[Any, Any, Outcome]) -> Outcome | None:
        """Return what an undo did; when it refuses, nothing at all may have changed (C-30)."""
        before = self.now(head(self.computer))
        try:
            return self.now(what)
        except (Conflict, Rejected) as refused:
            refusal = refused
        assert refusal.code == ("undo.conflict" if isinstance(refusal, Conflict) else "undo.nothing")
        assert self.now(head(self.computer)) == before
        return None

    def note_undo(self, outcome: Outcome, *, took: set[int], is_redo: bool = False) -> Undone:
        assert outcome.troubles == ()
        undone = outcome.events[0].payload
        assert isinstance(undone, Undone)
        spanned = {seq for first, last in undone.spans for seq in range(first, last + 1)}
        assert spanned == took
        cause = outcome.events[0].head.id
        assert {event.head.cause for event in outcome.events[1:]} <= {cause}
        by = tuple(event.seq for event in outcome.events[1:])
        taken = Taken(outcome.seq, frozenset(took), by, self.model.files, is_redo)
        self.model.undos.append(taken)
        self.keep(self.place.look())
        taken.last = self.now(head(self.computer))
        return undone

    def check_kept(self, group: list[Step], before: Files) -> None:
        """Nothing but what these steps touched may have changed, and that back to what it was."""
        after, related = self.model.files, self.model.related(group)
        for path in {*before, *after} - related:
            assert after.get(path) == before.get(path), path
        own = {seq for step in group for seq in step.seqs}
        for path in {path for step in group for path in step.touched}:
            first = next(step for step in group if path in step.touched)
            near = [path, *above(path), *(one for one in PATHS if inside(one, path))]
            others = [
                step
                for step in self.model.steps
                if step.seqs[0] > first.seqs[0] and not own.issuperset(step.seqs)
            ]
            alone = not any(step.touched.intersection(near) or step.moves for step in others)
            quiet = not any(undo.seq > first.seqs[0] for undo in self.model.undos[:-1])
            if first.is_exact and alone and quiet and not any(step.moves for step in group):
                assert after.get(path) == first.before.get(path), path

    def undone(self, outcome: Outcome | None, group: list[Step], before: Files) -> None:
        if outcome is None:
            return
        exact = self.model.is_newest(group)
        took = {seq for step in group for seq in step.seqs} - self.model.gone()
        self.note_undo(outcome, took=took)
        if exact:
            assert self.model.files == group[0].before
        self.check_kept(group, before)

    @rule()
    def undo_last(self) -> None:
        """C-30: several levels, each exactly to what stood before."""
        group, before = self.model.last_unit(), self.model.files
        outcome = self.take_back(self.hand().undo())
        if group and self.model.is_newest(group):
            assert outcome is not None or self.model.files == group[0].before
        assert group or outcome is None
        self.undone(outcome, group, before)

    @rule(run=st.sampled_from(["r1", "r2"]))
    def undo_run(self, run: str) -> None:
        """C-36: all that a run did, and nothing else."""
        group, before = self.model.of_run(run), self.model.files
        outcome = self.take_back(self.hand().undo(run))
        assert group or outcome is None
        self.undone(outcome, group, before)

    @precondition(lambda self: self.model.steps)
    @rule(data=st.data())
    def undo_event(self, data: st.DataObject) -> None:
        step = data.draw(st.sampled_from(self.model.steps))
        seq = data.draw(st.sampled_from(step.seqs))
        before, gone = self.model.files, seq in self.model.gone()
        outcome = self.take_back(self.hand().undo(seq=seq))
        assert outcome is None or not gone
        if outcome is not None:
            self.note_undo(outcome, took={seq})
            after, related = self.model.files, self.model.related([step])
            assert {path for path in {*before, *after} if before.get(path) != after.get(path)} <= related

    @rule(data=st.data())
    def undo_since(self, data: st.DataObject) -> None:
        """C-30, I6: exactly the state at N, whatever happened since."""
        seq = data.draw(st.sampled_from(sorted(self.model.snapshots)))
        then = self.model.snapshots[seq]
        outcome = self.take_back(self.hand().undo(since=seq))
        if outcome is None:
            assert self.model.files == then
            return
        later = {one for step in self.model.steps for one in step.seqs if one > seq}
        took = later | {one for one in self.model.compensations() if one > seq}
        self.note_undo(outcome, took=took)
        assert self.model.files == then

    @rule()
    def redo(self) -> None:
        held = [undo for undo in self.model.held() if not undo.is_redo and undo.by]
        outcome = self.take_back(self.hand().redo())
        if not held:
            assert outcome is None
            return
        last, unchanged = held[0], self.now(head(self.computer)) == held[0].last
        assert outcome is not None or not unchanged
        if outcome is not None:
            self.note_undo(outcome, took=set(last.by), is_redo=True)
            if unchanged:
                assert self.model.files == last.before

    @precondition(lambda self: self.model.undos)
    @rule(data=st.data())
    def undo_an_undo(self, data: st.DataObject) -> None:
        """C-30: an undo of an undo brings back what stood before it."""
        undo = data.draw(st.sampled_from(self.model.undos))
        held = undo in self.model.held()
        unchanged = self.now(head(self.computer)) == undo.last
        outcome = self.take_back(self.hand().undo(seq=undo.seq))
        assert outcome is None or held
        if outcome is not None:
            self.note_undo(outcome, took=set(undo.by), is_redo=True)
        if unchanged:
            assert self.model.files == undo.before

    # --- The computer itself ---

    @rule()
    def checkpoint(self) -> None:
        outcome = self.now(self.hand().do(MakeCheckpoint("main", "a point")))
        assert outcome.kinds == ["checkpoint"]
        commit = self.now(self.computer.repository("main").head())
        assert commit is not None
        assert commit.seq == outcome.seq
        self.keep(self.model.files)

    @rule()
    def reopen(self) -> None:
        self.now(self.computer.close())
        self.computer = self.now(self.place.open())

    @rule()
    def rebuild(self) -> None:
        """I4: the views made again from the log alone are the live ones."""
        live = self.computer.projectors.digests()
        self.computer, rebuilt = self.now(self.place.rebuild(self.computer))
        assert rebuilt.differed == ()
        assert rebuilt.digests == live
        # What the folder shows has to be learnt again; nobody did anything there.
        assert self.now(self.computer.merger.capture("main")).events == ()

    # --- What always holds ---

    @invariant()
    def the_log_only_grows(self) -> None:
        """C-03: no number is missing, none comes twice, and the chain holds."""
        fresh = self.now(recorded(self.computer, self.seen))
        assert [event.seq for event in fresh] == [self.seen + 1 + at for at in range(len(fresh))]
        self.seen += len(fresh)

    @invariant()
    def the_projection_is_the_model_and_the_folder_shows_it(self) -> None:
        """I5."""
        files = dict(sorted(self.model.files.items()))
        assert dict(sorted(self.now(standing(self.computer)).items())) == files
        assert self.place.look() == files

    @invariant()
    def every_step_can_be_seen_again(self) -> None:
        """C-19: as of N is what stood at N; one step each time, so that all have their turn."""
        seqs = sorted(self.model.snapshots)
        seq = seqs[self.seen * 7 % len(seqs)]
        assert self.now(standing(self.computer, seq)) == self.model.snapshots[seq]


class HistoryOnDisk(History):
    """The same on a real disk: slower, so shorter."""

    def settle(self, directory: Path) -> Place:
        return DiskPlace(directory)


def lasting(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.filter_too_much,
            HealthCheck.data_too_large,
        ],
    )


TestHistory = History.TestCase
TestHistory.settings = lasting(600, 60) if SOAK else lasting(120, 25)
TestHistoryOnDisk = HistoryOnDisk.TestCase
TestHistoryOnDisk.settings = lasting(150, 50) if SOAK else lasting(10, 20)
