"""Any sequence of wishes, hand edits, undos and restarts, against a model that knows nothing of the product.

The model is a plain mapping of paths to what stands there, one for each step, and the plain meaning of undo:
an event is taken back while an undo that took it back holds, and an undo holds until all it did is taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from choiros.features.checkpoints.commands import MakeCheckpoint
from choiros.features.undo.events import Undone
from choiros.kernel.errors import Conflict, Rejected
from tests.conftest import SOAK
from tests.places import DiskPlace, Hand, MemoryPlace, Outcome, Place, head, recorded, standing
from tests.property.model import Files, Step, Taken, above, inside
from tests.property.workplace import PATHS, Workplace


class History(Workplace):
    """Works at a computer, takes back, and compares."""

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


def test_an_undo_of_a_run_that_was_interleaved_takes_back_its_own_part_alone(tmp_path: Path) -> None:
    """The run removed a directory, made it again after somebody else's change, and is taken back as a whole."""

    async def story() -> None:
        computer = await MemoryPlace(tmp_path).open()
        me, run = Hand(computer), Hand(computer, run="r2", source="agent")
        await me.mkdir("a")
        await run.remove("a")
        await me.mkdir("b")
        await run.mkdir("a")
        await me.undo()
        assert sorted(computer.files.below("main")) == ["a", "b"]
        await me.undo()
        assert sorted(computer.files.below("main")) == ["a"]
        await me.redo()
        assert sorted(computer.files.below("main")) == ["a", "b"]
        await computer.close()

    asyncio.run(story())
