"""The checkpoints of a workspace with their commits, and what was pushed where."""

import asyncio
from pathlib import Path

from msgspec import Struct

from choiros.features.checkpoints.commands import MakeCheckpoint
from choiros.features.checkpoints.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointMade,
    PushDone,
    PushRequested,
)
from choiros.features.checkpoints.view import Checkpoint
from choiros.kernel.event import Draft
from choiros.testing.clock import START_MS
from choiros.wiring import Computer, rebuild
from tests.computers import Desk


async def record(computer: Computer, *payloads: Struct) -> list[int]:
    """Record facts as they are and return their numbers."""
    known, ids = computer.journal.registry, computer.parts.ids
    now = computer.parts.clock.now_ms()
    drafts = [
        Draft(ids.event_id(now), now, "me", "system", known.type_of(one).name, known.encode(one), ids.salt())
        for one in payloads
    ]
    events = await computer.journal.append(drafts)
    await computer.projectors.catch_up()
    return [event.seq for event in events]


def test_a_checkpoint_shows_what_became_of_its_commit(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        (seq,) = await record(computer, CheckpointMade("main", "m", automatic=True))
        assert computer.checkpoints.get(seq) == Checkpoint(seq, "main", START_MS, "m", True, None, None)
        await record(computer, CheckpointFailed("main", seq, "Full."))
        assert computer.checkpoints.get(seq) == Checkpoint(seq, "main", START_MS, "m", True, None, "Full.")
        await record(computer, CheckpointCommitted("main", seq, "abc", 1, 0))
        assert computer.checkpoints.get(seq) == Checkpoint(seq, "main", START_MS, "m", True, "abc", None)
        assert computer.checkpoints.get(seq + 1) is None
        await computer.close()

    asyncio.run(story())


def test_checkpoints_are_listed_newest_first_and_by_workspace(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        one, _, three = await record(
            computer, CheckpointMade("main", "a"), CheckpointMade("other", "b"), CheckpointMade("main", "c")
        )
        assert [found.seq for found in computer.checkpoints.all("main")] == [three, one]
        assert [found.seq for found in computer.checkpoints.all("main", limit=1)] == [three]
        last = computer.checkpoints.last("main")
        assert last is not None
        assert last.seq == three
        assert computer.checkpoints.last("nothing") is None
        await computer.close()

    asyncio.run(story())


def test_only_what_arrived_counts_as_pushed_and_only_there(tmp_path: Path) -> None:
    """C-29."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        view = computer.checkpoints
        arrived, refused, under_way = await record(
            computer,
            PushRequested("main", "aaa", "/there", "main"),
            PushRequested("main", "bbb", "/there", "main"),
            PushRequested("main", "ccc", "/there", "main"),
        )
        assert view.pushed("main", "/there") == []
        await record(computer, PushDone("main", arrived, "aaa"), PushDone("main", refused, "bbb", "No way."))
        assert view.pushed("main", "/there") == ["aaa"]
        assert view.pushed("main", "/elsewhere") == view.pushed("other", "/there") == []
        errors = [view.push_error(seq) for seq in (arrived, refused, under_way, 999)]
        assert errors == [None, "No way.", None, None]
        await computer.close()

    asyncio.run(story())


def test_the_tables_made_again_from_the_log_are_the_same(tmp_path: Path) -> None:
    """C-16."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await computer.kernel.handle(MakeCheckpoint("main", "m"), computer.context())
        before = computer.checkpoints.all("main")
        assert before[0].commit is not None
        await computer.close()
        assert (await rebuild(desk.parts(), desk.settings, full=True)).differed == ()
        computer = await desk.open()
        assert computer.checkpoints.all("main") == before
        await computer.close()

    asyncio.run(story())
