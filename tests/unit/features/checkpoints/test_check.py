"""What the gate says to checkpoints: naming is quiet, leaving asks, outcomes are the program's alone."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Struct

from choiros.features.checkpoints.check import CheckpointsQuiet, LeavingAsks
from choiros.features.checkpoints.commands import MakeCheckpoint, ReportCommit, ReportPush
from choiros.features.checkpoints.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointMade,
    PushDone,
    PushRequested,
)
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.dispatch import Done
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Source
from choiros.kernel.gate import Check
from tests.computers import Desk

MADE = CheckpointMade("main", "m")
PUSH = PushRequested("main", "c" * 40, "/srv/elsewhere.git", "main")
OUTCOMES = [
    CheckpointCommitted("main", 1, "c", 1, 0),
    CheckpointFailed("main", 1, "Full."),
    PushDone("main", 1, "c"),
]
SOURCES: list[Source] = ["user", "agent", "system"]


def answer(check: Check, *payloads: Struct, source: Source) -> str | None:
    decision = Decision(tuple(map(Fact, payloads)))
    context = Context("me", source=source)
    verdict = asyncio.run(check.judge(Proposal("any", MADE, context, decision, "pure")))
    return verdict.answer if verdict else None


@pytest.mark.parametrize("source", SOURCES)
def test_anybody_may_name_a_point(source: Source) -> None:
    assert answer(CheckpointsQuiet(), MADE, source=source) == "allow"


@pytest.mark.parametrize("payload", OUTCOMES, ids=lambda one: type(one).__name__)
def test_outcomes_are_reported_by_the_program_alone(payload: Struct) -> None:
    """C-29."""
    check = CheckpointsQuiet()
    assert [answer(check, payload, source=source) for source in SOURCES] == ["block", "block", "allow"]
    assert answer(check, MADE, payload, source="agent") == "block"


@pytest.mark.parametrize("source", SOURCES)
def test_leaving_the_machine_asks_whoever_wants_it(source: Source) -> None:
    """C-29."""
    assert answer(LeavingAsks(), PUSH, source=source) == "ask"
    assert answer(LeavingAsks(), MADE, PUSH, source=source) == "ask"
    assert answer(LeavingAsks(), MADE, source=source) is None
    assert answer(CheckpointsQuiet(), PUSH, source=source) is None
    assert answer(CheckpointsQuiet(), MADE, PUSH, source=source) is None


@pytest.mark.parametrize("source", ["user", "agent"])
@pytest.mark.parametrize("command", [ReportCommit("main", 9, "made up"), ReportPush("main", 9, "made up")])
def test_an_invented_outcome_is_blocked_and_changes_nothing(
    tmp_path: Path, source: Source, command: Struct
) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await computer.kernel.handle(MakeCheckpoint("main", "m"), computer.context())
        before = computer.checkpoints.all("main")
        with pytest.raises(Rejected) as caught:
            await computer.kernel.handle(command, Context("me", source=source))
        assert caught.value.code == "gate.blocked"
        assert computer.checkpoints.all("main") == before
        await computer.close()

    asyncio.run(story())


@pytest.mark.parametrize("source", ["user", "agent", "system"])
def test_another_outcome_for_a_checkpoint_that_has_one_changes_nothing(
    tmp_path: Path, source: Source
) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await computer.kernel.handle(MakeCheckpoint("main", "m"), computer.context())
        before, head = computer.checkpoints.all("main"), await computer.journal.head()
        report = ReportCommit("main", before[0].seq, "made up")
        assert await computer.kernel.handle(report, Context("me", source=source)) == Done(())
        assert (computer.checkpoints.all("main"), await computer.journal.head()) == (before, head)
        await computer.close()

    asyncio.run(story())


def test_an_agent_may_name_a_point(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        done = await computer.kernel.handle(MakeCheckpoint("main", "m"), Context("me", source="agent"))
        assert isinstance(done, Done)
        assert [one.message for one in computer.checkpoints.all("main")] == ["m"]
        await computer.close()

    asyncio.run(story())
