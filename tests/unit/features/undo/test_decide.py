"""The rules for undo: the plan that is drawn up at a computer in memory, and what is decided from a plan."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from choiros.features.approvals.commands import DecideApproval
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.features.files.events import FileWritten
from choiros.features.undo.commands import Redo, Undo
from choiros.features.undo.decide import Plan, decide
from choiros.features.undo.events import Target, Undone, spans_of
from choiros.features.workspaces.commands import CreateWorkspace
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked, Done
from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.reverser import Obstacle, Reversal
from choiros.kernel.tree import Entry
from choiros.wiring import Computer
from tests.places import Hand, MemoryPlace, Outcome, head, standing

T = TypeVar("T")


class Scene:
    """A computer in memory; what is awaited here has happened when the call returns."""

    def __init__(self, directory: Path, runner: asyncio.Runner) -> None:
        self._runner = runner
        self.computer: Computer = self.now(MemoryPlace(directory).open())

    def now(self, what: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(what)

    def hand(self, run: str | None = None, workspace: str = "main") -> Hand:
        return Hand(self.computer, run=run, workspace=workspace)

    def write(self, path: str, text: str, run: str | None = None, *, workspace: str = "main") -> Outcome:
        return self.now(self.hand(run, workspace).write(path, text.encode()))

    def undo(self, run: str | None = None, *, workspace: str = "main", **what: Any) -> Outcome:
        return self.now(self.hand(workspace=workspace).undo(run, **what))

    def redo(self, workspace: str = "main") -> Outcome:
        return self.now(self.hand(workspace=workspace).redo())

    def plan(self, run: str | None = None, **what: Any) -> Plan:
        """Return the plan of an undo; drawing it up changes nothing."""
        before = self.now(head(self.computer))
        plan = self.now(self.computer.planner.undo(Undo("main", run, **what), self.computer.context()))
        assert self.now(head(self.computer)) == before
        return plan

    def refuses(self, run: str | None = None, *, workspace: str = "main", **what: Any) -> Rejected:
        before = self.now(head(self.computer))
        with pytest.raises(Rejected) as refusal:
            self.undo(run, workspace=workspace, **what)
        assert self.now(head(self.computer)) == before
        return refusal.value

    def files(self, workspace: str = "main") -> dict[str, str]:
        found = self.now(standing(self.computer, workspace=workspace))
        return {path: data.decode() for path, (_, _, data) in found.items()}

    def push(self, run: str | None = None) -> int:
        """Make a checkpoint and send it with the person's consent; return the number of the event."""
        self.now(self.hand(run).do(MakeCheckpoint("main", "a point")))
        context = Context("me", run=run)
        command = PushCheckpoint("main", "https://example.org/r.git")
        asked = self.now(self.computer.kernel.handle(command, context))
        assert isinstance(asked, Asked)
        approval = self.computer.approvals.get(asked.request)
        assert approval is not None
        self.now(self.hand().do(DecideApproval(asked.request, approval.digest, "allow")))
        done = self.now(self.computer.kernel.handle(command, replace(context, approval=asked.request)))
        assert isinstance(done, Done)
        return done.facts[0].seq


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with asyncio.Runner() as runner:
        scene = Scene(tmp_path, runner)
        yield scene
        scene.now(scene.computer.close())


def undone(outcome: Outcome) -> Undone:
    payload = outcome.events[0].payload
    assert isinstance(payload, Undone)
    return payload


# --- What is meant ---


def test_without_a_name_the_newest_run_is_meant_as_a_whole(scene: Scene) -> None:
    """C-36."""
    first = scene.write("a", "agent", "r1")
    scene.write("b", "person")
    second = scene.write("c", "agent", "r1")
    plan = scene.plan()
    assert (plan.target, plan.name, plan.seqs) == ("unit", "r1", (first.seq, second.seq))
    scene.undo()
    assert scene.files() == {"b": "person"}


def test_without_a_name_and_outside_a_run_the_newest_command_is_meant(scene: Scene) -> None:
    """C-30."""
    scene.write("a", "agent", "r1")
    last = scene.write("d/b", "person")
    plan = scene.plan()
    assert (plan.target, plan.name) == ("unit", str(last.seq))
    assert plan.seqs == tuple(event.seq for event in last.events)
    assert len(plan.seqs) == 2


def test_five_levels_go_back_and_come_forward_again_in_order(scene: Scene) -> None:
    """C-30."""
    states = [scene.files()]
    for number in range(1, 6):
        scene.write("a" if number % 2 else "b", f"version {number}")
        states.append(scene.files())
    for state in reversed(states[:-1]):
        scene.undo()
        assert scene.files() == state
    assert scene.refuses().code == "undo.nothing"
    for state in states[1:]:
        scene.redo()
        assert scene.files() == state
    with pytest.raises(Rejected, match="There is no undo to take back") as refusal:
        scene.redo()
    assert refusal.value.code == "undo.nothing"


def test_an_undo_of_an_undo_brings_back_what_it_took_and_may_be_undone_itself(scene: Scene) -> None:
    """C-30."""
    scene.write("a", "one")
    scene.write("a", "two", "r1")
    first = scene.undo("r1")
    second = scene.undo(seq=first.seq)
    assert scene.files() == {"a": "two"}
    assert undone(second).target == "redo"
    assert scene.refuses(seq=first.seq).code == "undo.nothing"
    scene.undo(seq=second.seq)
    assert scene.files() == {"a": "one"}


def test_a_new_change_after_an_undo_does_not_take_the_redo_away(scene: Scene) -> None:
    """C-30: nothing is ever lost from the history."""
    scene.write("a", "one")
    scene.undo()
    scene.write("b", "new")
    scene.redo()
    assert scene.files() == {"a": "one", "b": "new"}


def test_since_a_number_comes_back_to_it_exactly_with_undos_behind_it(scene: Scene) -> None:
    """C-30, I6."""
    scene.write("a", "one")
    then = scene.write("b", "one", "r1").events[-1].seq
    before = scene.files()
    scene.write("a", "two", "r1")
    scene.undo("r1")
    scene.write("b", "by hand")
    scene.undo()
    scene.undo(since=then)
    assert scene.files() == before
    assert scene.refuses(since=scene.now(head(scene.computer))).code == "undo.nothing"
    scene.undo(since=0)
    assert scene.files() == {}


# --- What is refused ---


@pytest.mark.parametrize("what", [{"seq": 0}, {"seq": -1}, {"seq": 10_000}, {"since": -1}, {"since": 10_000}])
def test_an_event_that_is_not_there_is_refused_with_the_newest_number(
    scene: Scene, what: dict[str, Any]
) -> None:
    """C-30."""
    scene.write("a", "one")
    refusal = scene.refuses(**what)
    assert refusal.code == "undo.unknown_event"
    assert refusal.fields["seq"] == next(iter(what.values()))
    assert f"the newest one is {scene.now(head(scene.computer))}" in refusal.message


def test_an_event_that_is_taken_back_already_is_refused_with_the_way_to_bring_it_back(scene: Scene) -> None:
    """C-30."""
    seq = scene.write("a", "one").seq
    by = scene.undo(seq=seq).seq
    refusal = scene.refuses(seq=seq)
    assert refusal.code == "undo.nothing"
    assert f"by event {by}" in refusal.message
    assert refusal.fix == f"'choir undo {by}' brings it back."
    scene.undo(seq=by)
    assert scene.files() == {"a": "one"}


def test_a_run_that_is_taken_back_or_did_nothing_is_refused(scene: Scene) -> None:
    """C-36."""
    scene.write("a", "one", "r1")
    scene.undo("r1")
    assert "is taken back already" in scene.refuses("r1").message
    assert "No run 'r2'" in scene.refuses("r2").message


def test_an_event_that_changed_nothing_is_refused(scene: Scene) -> None:
    """C-30: a verdict, and a checkpoint."""
    seq = scene.write("a", "one").seq
    verdict = scene.refuses(seq=seq - 1)
    assert (verdict.code, "is not a change" in verdict.message) == ("undo.nothing", True)
    point = scene.now(scene.hand().do(MakeCheckpoint("main", "a point"))).seq
    assert scene.refuses(seq=point).code == "undo.nothing"


def test_an_event_of_another_workspace_is_refused_with_its_name(scene: Scene) -> None:
    """C-42."""
    other = scene.now(scene.hand().do(CreateWorkspace("other"))).events[0].payload
    name = str(getattr(other, "workspace", ""))
    scene.write("a", "here", "r1")
    seq = scene.write("a", "there", "r1", workspace=name).seq
    refusal = scene.refuses(seq=seq)
    assert (refusal.code, refusal.fields["workspace"]) == ("undo.other_workspace", name)
    scene.undo("r1")
    assert (scene.files(), scene.files(name)) == ({}, {"a": "there"})
    scene.undo("r1", workspace=name)
    assert scene.files(name) == {}
    scene.redo()
    assert (scene.files(), scene.files(name)) == ({"a": "here"}, {})


# --- What can never be taken back ---


def test_a_push_by_itself_can_never_be_taken_back_and_is_named(scene: Scene) -> None:
    """C-30."""
    scene.write("a", "one")
    push = scene.push()
    assert [event.seq for event in scene.plan(seq=push).irreversible] == [push]
    refusal = scene.refuses(seq=push)
    assert (refusal.code, f"event {push} can never be taken back" in refusal.message) == (
        "undo.nothing",
        True,
    )


@pytest.mark.parametrize("what", [{"run": "r1"}, {"since": 0}], ids=["run", "since"])
def test_a_push_among_what_is_taken_back_is_listed_and_does_not_hinder_the_rest(
    scene: Scene, what: dict[str, Any]
) -> None:
    """C-30, C-36."""
    scene.write("a", "one", "r1")
    push = scene.push("r1")
    plan = scene.plan(**what)
    assert [event.seq for event in plan.irreversible] == [push]
    spans = undone(scene.undo(**what)).spans
    assert not any(first <= push <= last for first, last in spans)
    assert scene.files() == {}


# --- The decision itself, from a plan ---

FACT = FileWritten("main", "a", Entry("dir", 0o755))


def plan(
    *, facts: tuple[FileWritten, ...] = (FACT,), obstacles: int = 0, notes: tuple[Obstacle, ...] = ()
) -> Plan:
    against = tuple(Obstacle(f"p{number}", "it is in the way") for number in range(obstacles))
    return Plan("run", "r1", (3, 4, 7), Reversal(facts, (b"new",), against, notes), (), ("kept",))


def test_what_takes_something_back_is_caused_by_the_undo_and_brings_its_contents() -> None:
    """C-30."""
    decision = decide(Undo("main", "r1"), plan())
    assert decision.payloads == [Undone("run", "r1", ((3, 4), (7, 7)), ("kept",)), FACT]
    assert [fact.because_of for fact in decision.facts] == [None, 0]
    assert decision.contents == (b"new",)


def test_one_obstacle_is_enough_for_nothing_to_be_decided_and_many_are_counted() -> None:
    """C-30: every place is in the fields, the sentence stays short."""
    with pytest.raises(Conflict, match=r"p0: it is in the way\. Nothing was changed") as refusal:
        decide(Undo("main"), plan(obstacles=1))
    assert refusal.value.fields["places"] == ["p0: it is in the way"]
    with pytest.raises(Conflict, match="p4: it is in the way; and 3 more") as refusal:
        decide(Undo("main"), plan(obstacles=8))
    assert refusal.value.fields["places"] == [f"p{number}: it is in the way" for number in range(8)]


def test_an_undo_that_would_change_nothing_is_refused_with_the_reasons() -> None:
    """C-30."""
    gone = Obstacle("a", "it was removed since")
    with pytest.raises(Rejected, match="a: it was removed since") as refusal:
        decide(Undo("main"), plan(facts=(), notes=(gone,)))
    assert refusal.value.code == "undo.nothing"
    with pytest.raises(Rejected, match="everything is as it was"):
        decide(Undo("main"), plan(facts=()))


@pytest.mark.parametrize("target", ["unit", "redo"])
def test_an_undo_or_redo_without_a_name_that_finds_everything_as_wished_is_recorded_all_the_same(
    target: Target,
) -> None:
    """C-30: else it would stand in the way of the one before it for ever."""
    decision = decide(Redo("main"), replace(plan(facts=()), target=target, leave=()))
    assert decision.payloads == [Undone(target, "r1", ((3, 4), (7, 7)))]


@pytest.mark.parametrize("target", ["unit", "redo", "run", "event", "since"])
def test_what_changes_nothing_because_of_what_is_excepted_is_refused(target: Target) -> None:
    """C-30: what was left as it is has not been taken back."""
    with pytest.raises(Rejected, match="nothing left"):
        decide(Undo("main"), replace(plan(facts=()), target=target))


def test_numbers_are_kept_as_unbroken_rows() -> None:
    assert spans_of([]) == ()
    assert spans_of([1]) == ((1, 1),)
    assert spans_of([1, 2, 3, 5, 8, 9]) == ((1, 3), (5, 5), (8, 9))
