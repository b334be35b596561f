"""The rule for answers: every pair of a state and a wish, and what each leaves behind (F-10)."""

import asyncio
from pathlib import Path
from typing import Literal

import pytest

from choiros.features.approvals.commands import DecideApproval
from choiros.features.approvals.decide import decide
from choiros.features.approvals.events import ApprovalDecided
from choiros.features.approvals.view import Approval, State
from choiros.features.workspaces.commands import CreateWorkspace
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked, Done
from choiros.kernel.errors import ChoirError, Conflict, Rejected
from choiros.kernel.event import Event, Source
from choiros.kernel.gate import VerdictRecorded
from choiros.wiring import Computer
from tests.computers import Desk

Wish = Literal["allow", "deny", "use"]
AGENT = Context("me", source="agent", run="r")
STATES: list[State] = ["pending", "allowed", "denied", "used"]
WISHES: list[Wish] = ["allow", "deny", "use"]
LEGAL: dict[tuple[State, Wish], State] = {
    ("pending", "allow"): "allowed",
    ("pending", "deny"): "denied",
    ("allowed", "use"): "used",
}


def approval(state: State = "pending") -> Approval:
    return Approval("request", 1, "add", "digest", "Why.", state, None, None, "{}")


@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_an_open_request_takes_either_answer_with_a_note(answer: Literal["allow", "deny"]) -> None:
    """F-10."""
    decision = decide(DecideApproval("request", "digest", answer, "fine"), approval())
    assert decision.payloads == [ApprovalDecided("request", answer, "fine")]


@pytest.mark.parametrize("state", STATES[1:])
@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_the_first_answer_holds(state: State, answer: Literal["allow", "deny"]) -> None:
    """F-10."""
    with pytest.raises(Conflict, match=state) as caught:
        decide(DecideApproval("request", "digest", answer), approval(state))
    assert caught.value.code == "approval.answered"


def test_an_answer_to_something_else_than_was_shown_is_refused() -> None:
    """F-10."""
    with pytest.raises(Conflict) as caught:
        decide(DecideApproval("request", "another", "allow"), approval())
    assert caught.value.code == "approval.other_content"


def test_an_answer_to_nothing_is_refused() -> None:
    with pytest.raises(Rejected) as caught:
        decide(DecideApproval("request", "digest", "allow"), None)
    assert caught.value.code == "approval.unknown"


# --- With a whole computer ---


async def asked(computer: Computer) -> str:
    """Let an agent wish for something and return the request."""
    outcome = await computer.kernel.handle(CreateWorkspace("new"), AGENT)
    assert isinstance(outcome, Asked)
    return outcome.request


def found(computer: Computer, request: str) -> Approval:
    one = computer.approvals.get(request)
    assert one is not None
    return one


async def wish(
    computer: Computer, request: str, wished: Wish, *, source: Source = "user", digest: str | None = None
) -> Done | Asked | ChoirError:
    """Answer or use a request; return what came of it."""
    one = found(computer, request)
    try:
        if wished == "use":
            (event,) = await computer.journal.fetch([one.seq])
            return await computer.kernel.recorded(event, request)
        command = DecideApproval(request, digest or one.digest, wished)
        return await computer.kernel.handle(command, Context("me", source=source))
    except (Rejected, Conflict) as refusal:
        return refusal


async def lead(computer: Computer, state: State) -> str:
    """Return a request that is in this state."""
    request = await asked(computer)
    path: dict[State, list[Wish]] = {
        "pending": [],
        "allowed": ["allow"],
        "denied": ["deny"],
        "used": ["allow", "use"],
    }
    for step in path[state]:
        assert isinstance(await wish(computer, request, step), Done)
    assert found(computer, request).state == state
    return request


async def behind(computer: Computer, seq: int) -> list[Event]:
    head = await computer.journal.head()
    return await computer.journal.fetch(range(seq + 1, head.seq + 1))


@pytest.mark.parametrize("wished", WISHES)
@pytest.mark.parametrize("state", STATES)
def test_each_pair_of_state_and_wish_changes_what_it_may_or_leaves_a_recorded_refusal(
    tmp_path: Path, state: State, wished: Wish
) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        request = await lead(computer, state)
        before, workspaces = found(computer, request), computer.workspaces.all()
        seq = (await computer.journal.head()).seq
        outcome = await wish(computer, request, wished)
        after, events = found(computer, request), await behind(computer, seq)
        if (state, wished) in LEGAL:
            assert isinstance(outcome, Done)
            assert after.state == LEGAL[state, wished]
            assert len(events) == 2
            assert (wished == "use") == (computer.workspaces.all() != workspaces)
        else:
            assert not isinstance(outcome, Done)
            assert after == before
            assert computer.workspaces.all() == workspaces
            verdict = events[0].payload
            assert isinstance(verdict, VerdictRecorded)
            assert verdict.answer in {"block", "ask"}
            assert {event.head.event_type for event in events[1:]} <= {"approval.request"}
        await computer.close()

    asyncio.run(story())


@pytest.mark.parametrize("answer", ["allow", "deny"])
@pytest.mark.parametrize("source", ["agent", "system"])
def test_nobody_but_a_person_answers(
    tmp_path: Path, source: Source, answer: Literal["allow", "deny"]
) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        request = await asked(computer)
        seq = (await computer.journal.head()).seq
        outcome = await wish(computer, request, answer, source=source)
        assert isinstance(outcome, Rejected)
        assert outcome.code == "gate.blocked"
        assert found(computer, request).state == "pending"
        assert [event.head.event_type for event in await behind(computer, seq)] == ["policy.verdict"]
        assert isinstance(await wish(computer, request, "allow"), Done)
        await computer.close()

    asyncio.run(story())


def test_another_digest_is_refused_recorded_and_leaves_the_request_open(tmp_path: Path) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        request = await asked(computer)
        seq = (await computer.journal.head()).seq
        outcome = await wish(computer, request, "allow", digest="0" * 64)
        assert isinstance(outcome, Conflict)
        (event,) = await behind(computer, seq)
        assert isinstance(event.payload, VerdictRecorded)
        assert "(approval.other_content)" in event.payload.verdicts[0].reason
        assert found(computer, request).state == "pending"
        await computer.close()

    asyncio.run(story())


def test_an_answer_to_an_unknown_request_is_recorded_too(tmp_path: Path) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        seq = (await computer.journal.head()).seq
        with pytest.raises(Rejected, match="no request 'made up'"):
            await computer.kernel.handle(DecideApproval("made up", "d", "allow"), computer.context())
        assert [event.head.event_type for event in await behind(computer, seq)] == ["policy.verdict"]
        await computer.close()

    asyncio.run(story())


def test_many_uses_at_once_of_one_word_do_it_once(tmp_path: Path) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        request = await lead(computer, "allowed")
        outcomes = await asyncio.gather(*(wish(computer, request, "use") for _ in range(4)))
        assert sum(isinstance(outcome, Done) for outcome in outcomes) == 1
        assert [one.name for one in computer.workspaces.all()] == ["main", "new"]
        await computer.close()

    asyncio.run(story())


def test_of_two_answers_at_once_the_first_holds(tmp_path: Path) -> None:
    """F-10."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        request = await asked(computer)
        first, second = await asyncio.gather(
            wish(computer, request, "allow"), wish(computer, request, "deny")
        )
        assert isinstance(first, Done)
        assert isinstance(second, Conflict)
        assert found(computer, request).state == "allowed"
        await computer.close()

    asyncio.run(story())
