"""Which questions are open, answered, or used up."""

import asyncio
from pathlib import Path

from choiros.features.approvals.commands import DecideApproval
from choiros.features.approvals.events import ApprovalDecided
from choiros.features.workspaces.commands import CreateWorkspace
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked
from choiros.kernel.event import Draft
from choiros.wiring import Computer, rebuild
from tests.computers import Desk


async def ask(computer: Computer, name: str) -> str:
    outcome = await computer.kernel.handle(CreateWorkspace(name), Context("me", source="agent"))
    assert isinstance(outcome, Asked)
    return outcome.request


async def allow(computer: Computer, request: str) -> int:
    one = computer.approvals.get(request)
    assert one is not None
    await computer.kernel.handle(DecideApproval(request, one.digest, "allow"), computer.context())
    return (await computer.journal.head()).seq


async def use(computer: Computer, request: str) -> None:
    one = computer.approvals.get(request)
    assert one is not None
    (event,) = await computer.journal.fetch([one.seq])
    await computer.kernel.recorded(event, request)


def test_a_question_tells_what_it_is_about_and_why_it_is_asked(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        request = await ask(computer, "new")
        one = computer.approvals.get(request)
        assert one is not None
        assert (one.command, one.state, one.decided, one.used) == ("workspaces.new", "pending", None, None)
        assert one.reasons == "Workspaces are arranged by the person."
        assert '"name":"new"' in one.recorded
        assert one.seq == (await computer.journal.head()).seq
        assert len(one.digest) == 64
        assert computer.approvals.get("nothing") is None
        await computer.close()

    asyncio.run(story())


def test_questions_leave_the_lists_as_they_are_answered_and_used(tmp_path: Path) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        view = computer.approvals
        requests = [await ask(computer, name) for name in ("a", "b", "c")]
        a, b, c = requests
        assert [one.request for one in view.pending()] == requests
        decided = await allow(computer, a)
        assert [one.request for one in view.pending()] == [b, c]
        one = view.get(a)
        assert one is not None
        assert (one.state, one.decided) == ("allowed", decided)
        await use(computer, a)
        one = view.get(a)
        assert one is not None
        assert (one.state, one.decided, one.used) == ("used", decided, decided + 1)
        await computer.close()

    asyncio.run(story())


def test_a_word_is_granted_from_the_answer_until_it_is_used(tmp_path: Path) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        request = await ask(computer, "a")
        assert computer.approvals.granted(request) is None
        await allow(computer, request)
        one = computer.approvals.get(request)
        assert one is not None
        assert computer.approvals.granted(request) == one.digest
        await use(computer, request)
        assert computer.approvals.granted(request) is None
        assert computer.approvals.granted("nothing") is None
        await computer.close()

    asyncio.run(story())


def test_a_second_answer_in_the_log_changes_nothing(tmp_path: Path) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        request = await ask(computer, "a")
        await allow(computer, request)
        before = computer.approvals.get(request)
        payload = computer.journal.registry.encode(ApprovalDecided(request, "deny"))
        ids = computer.parts.ids
        await computer.journal.append(
            [Draft(ids.event_id(0), 0, "me", "user", "approval.decision", payload, ids.salt())]
        )
        await computer.projectors.catch_up()
        assert computer.approvals.get(request) == before
        await computer.close()

    asyncio.run(story())


def test_the_table_made_again_from_the_log_is_the_same(tmp_path: Path) -> None:
    """C-16."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        used, allowed, pending = [await ask(computer, name) for name in ("a", "b", "c")]
        await allow(computer, used)
        await use(computer, used)
        await allow(computer, allowed)
        before = [computer.approvals.get(request) for request in (used, allowed, pending)]
        await computer.close()
        assert (await rebuild(desk.parts(), desk.settings, full=True)).differed == ()
        computer = await desk.open()
        assert [computer.approvals.get(request) for request in (used, allowed, pending)] == before
        await computer.close()

    asyncio.run(story())
