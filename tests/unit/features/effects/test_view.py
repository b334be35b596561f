"""What was announced has one outcome; what was broken off in the middle is unknown, shown, and never repeated."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Struct

from choiros.engines.repository.memory import MemoryRepository
from choiros.features.approvals.commands import DecideApproval
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.features.checkpoints.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointMade,
    PushDone,
    PushRequested,
)
from choiros.features.effects.events import EffectUnknown
from choiros.features.effects.view import Effect, EffectsProjector, EffectsView
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked
from choiros.wiring import registry
from tests.computers import Desk
from tests.places import Hand, empty_tables, events_of, recorded

MADE, PUSH = CheckpointMade("main", "first"), PushRequested("main", "c", "/srv/a.git", "main")


def open_after(*payloads: Struct) -> list[Effect]:
    projector = EffectsProjector(registry())
    tables = empty_tables(projector)
    projector.apply(tables, events_of(*payloads))
    return EffectsView(tables).open()


def test_what_has_no_outcome_yet_is_open() -> None:
    assert open_after(MADE, PUSH) == [Effect(1, "checkpoint", True), Effect(2, "checkpoint.push", False)]


@pytest.mark.parametrize(
    "outcome",
    [
        CheckpointCommitted("main", 1, "c", 1, 0),
        CheckpointFailed("main", 1, "full"),
        EffectUnknown(1, "checkpoint"),
    ],
)
def test_every_outcome_ends_its_own_intent_and_no_other(outcome: Struct) -> None:
    assert [one.seq for one in open_after(MADE, PUSH, outcome)] == [2]


def test_the_first_outcome_counts() -> None:
    assert open_after(PUSH, PushDone("main", 1, "c"), EffectUnknown(1, "checkpoint.push")) == []


def test_every_type_that_ends_something_names_a_field_of_its_payload() -> None:
    kinds = list(registry())
    assert {kind.name for kind in kinds if kind.intent != "none"} == {"checkpoint", "checkpoint.push"}
    for kind in kinds:
        assert not kind.ends or kind.ends in kind.payload.__struct_fields__


class Interrupted(Exception):
    pass


class Ending(MemoryRepository):
    """Sends what it is told to, and the program ends before anybody hears of it."""

    def __init__(self) -> None:
        super().__init__()
        self.pushes = 0

    async def push(self, url: str, branch: str) -> str:
        self.pushes += 1
        raise Interrupted


def test_a_push_that_was_broken_off_is_unknown_shown_and_not_repeated(tmp_path: Path) -> None:
    """A person looks whether it arrived."""

    async def story() -> None:
        repository = Ending()
        desk = Desk(tmp_path, repositories={"main": repository})
        computer = await desk.open()
        await Hand(computer).write("a", b"1")
        await Hand(computer).do(MakeCheckpoint("main", "first"))
        asked = await computer.kernel.handle(PushCheckpoint("main", "/srv/a.git"), Context("me"))
        assert isinstance(asked, Asked)
        shown = computer.approvals.get(asked.request)
        assert shown is not None
        await Hand(computer).do(DecideApproval(asked.request, shown.digest, "allow", ""))
        (event,) = await computer.journal.fetch([shown.seq])
        with pytest.raises(Interrupted):
            await computer.kernel.recorded(event, asked.request)
        computer.tables.close()
        again = await desk.open()
        assert repository.pushes == 1
        events = await recorded(again)
        (intent,) = [one for one in events if isinstance(one.payload, PushRequested)]
        (unknown,) = [one for one in events if isinstance(one.payload, EffectUnknown)]
        assert unknown.payload == EffectUnknown(intent.seq, "checkpoint.push")
        assert unknown.head.source == "system"
        assert "Look there" in (again.checkpoints.push_error(intent.seq) or "")
        assert again.effects.open() == []
        await again.close()
        once_more = await desk.open()
        assert repository.pushes == 1
        assert len(await recorded(once_more)) == len(events)
        await once_more.close()

    asyncio.run(story())
