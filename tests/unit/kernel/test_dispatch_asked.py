"""The one door when a person has to be asked: what is recorded, and how far their word reaches."""

import asyncio

import pytest

from choiros.features.approvals.check import OnlyPeopleDecide
from choiros.kernel.command import Context, Proposal
from choiros.kernel.dispatch import Asked, Done
from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.event import Source
from choiros.kernel.gate import ApprovalRequested, Verdict, VerdictRecorded
from tests.unit.kernel.notes import (
    AGENT,
    ME,
    AddNote,
    Busy,
    NumberNote,
    Room,
    Says,
    draft,
)

ASKING = (Says("allow", "answer", "nothing"), Says("ask", "add", "number", name="careful"))


def test_a_question_is_recorded_with_all_that_it_is_about() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        asked = await room.ask(AddNote("a"))
        verdict, request = await room.journal.fetch([1, 2])
        assert asked == Asked(request.head.id, "careful says ask.")
        assert isinstance(verdict.payload, VerdictRecorded)
        assert isinstance(request.payload, ApprovalRequested)
        assert request.head.cause == verdict.head.id
        assert request.payload.digest == verdict.payload.digest
        assert request.payload.digest == (await room.kernel.propose(AddNote("a"), AGENT)).digest()
        assert (request.payload.command, request.payload.recorded) == ("add", '{"text":"a"}')
        assert request.payload.facts == ('["NoteAdded",{"text":"a"}]',)
        assert '"source":"agent"' in request.payload.context
        assert room.notes() == []
        assert [one.request for one in room.approvals.pending()] == [asked.request]

    asyncio.run(story())


def test_what_was_allowed_is_done_as_it_was_recorded_and_by_whom() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        asked = await room.ask(AddNote("a"))
        await room.answer(asked, "allow")
        assert room.notes() == []
        done = await room.again(asked)
        assert isinstance(done, Done)
        verdict, fact = done.events
        assert isinstance(verdict.payload, VerdictRecorded)
        assert (verdict.payload.answer, verdict.payload.approval) == ("allow", asked.request)
        assert [one.answer for one in verdict.payload.verdicts] == ["ask"]
        assert (fact.head.source, fact.head.run_id) == ("agent", "run-1")
        assert room.notes() == ["a"]
        used = room.approvals.get(asked.request)
        assert used is not None
        assert used.state == "used"

    asyncio.run(story())


async def nothing_more(room: Room, asked: Asked) -> None:
    """Handling the recorded command does nothing but ask anew."""
    notes = room.notes()
    outcome = await room.again(asked)
    assert isinstance(outcome, Asked)
    assert outcome.request != asked.request
    assert room.notes() == notes


def test_a_word_is_used_once() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        asked = await room.ask(AddNote("a"))
        await room.answer(asked, "allow")
        await room.again(asked)
        await nothing_more(room, asked)
        assert room.notes() == ["a"]

    asyncio.run(story())


def test_a_word_is_used_once_also_by_many_at_the_same_time() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        asked = await room.ask(AddNote("a"))
        await room.answer(asked, "allow")
        outcomes = await asyncio.gather(*(room.again(asked) for _ in range(5)))
        assert sum(isinstance(outcome, Done) for outcome in outcomes) == 1
        assert room.notes() == ["a"]

    asyncio.run(story())


def test_nothing_happens_while_nobody_has_answered() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        await nothing_more(room, await room.ask(AddNote("a")))

    asyncio.run(story())


def test_what_was_denied_is_never_done() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        asked = await room.ask(AddNote("a"))
        await room.answer(asked, "deny")
        await nothing_more(room, asked)
        with pytest.raises(Conflict) as caught:
            await room.answer(asked, "allow")
        assert caught.value.code == "approval.answered"
        await nothing_more(room, asked)

    asyncio.run(story())


def test_a_word_for_other_facts_is_no_word() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        asked = await room.ask(NumberNote("a"))
        await room.answer(asked, "allow")
        await room.journal.append([draft(1, "in between")])
        outcome = await room.again(asked)
        assert isinstance(outcome, Asked)
        assert outcome.request != asked.request
        assert room.notes() == ["in between"]

    asyncio.run(story())


def test_a_word_for_another_command_is_no_word() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        asked = await room.ask(AddNote("a"))
        await room.answer(asked, "allow")
        for command in (AddNote("b"), NumberNote("a")):
            outcome = await room.kernel.handle(command, Context("me", source="agent", approval=asked.request))
            assert isinstance(outcome, Asked)
        assert room.notes() == []
        assert isinstance(await room.again(asked), Done)

    asyncio.run(story())


def test_a_word_that_was_not_needed_is_not_used_up() -> None:
    async def story() -> None:
        room = Room(checks=(Says("allow", "answer", "number"), Says("ask", "add")))
        asked = await room.ask(AddNote("a"))
        await room.answer(asked, "allow")
        await room.kernel.handle(NumberNote("b"), Context("me", approval=asked.request))
        assert isinstance(await room.again(asked), Done)

    asyncio.run(story())


@pytest.mark.parametrize("approval", ["", "unknown", "01900000-0000-7000-8000-000000000001"])
def test_a_made_up_word_is_no_word(approval: str) -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        outcome = await room.kernel.handle(AddNote("a"), Context("me", source="agent", approval=approval))
        assert isinstance(outcome, Asked)
        assert room.notes() == []

    asyncio.run(story())


def test_no_word_opens_what_is_blocked() -> None:
    async def story() -> None:
        guard = Says(None, "add", name="guard")
        room = Room(checks=(*ASKING, guard))
        asked = await room.ask(AddNote("a"))
        await room.answer(asked, "allow")
        guard.answer = "block"
        with pytest.raises(Rejected, match="guard says block"):
            await room.again(asked)
        assert room.notes() == []

    asyncio.run(story())


@pytest.mark.parametrize("source", ["agent", "system"])
def test_only_a_person_answers(source: Source) -> None:
    async def story() -> None:
        room = Room(checks=(Says("ask", "add"), OnlyPeopleDecide()))
        asked = await room.ask(AddNote("a"))
        with pytest.raises(Rejected, match="Only a person can answer"):
            await room.answer(asked, "allow", Context("me", source=source))
        await nothing_more(room, asked)

    asyncio.run(story())


def test_a_request_about_a_command_that_is_gone_says_so() -> None:
    async def story() -> None:
        room = Room(checks=ASKING)
        asked = await room.ask(AddNote("a"))
        await room.answer(asked, "allow")
        del room.kernel._commands[AddNote]
        with pytest.raises(Rejected) as caught:
            await room.again(asked)
        assert caught.value.code == "approval.unknown_command"

    asyncio.run(story())


def test_a_question_that_changes_under_the_person_is_judged_anew() -> None:
    class Moody(Says):
        async def judge(self, proposal: Proposal) -> Verdict | None:
            verdict = await super().judge(proposal)
            self.answer = "block"
            return verdict

    async def story() -> None:
        # The first judgement allows; while the log is read again, the same wish is no longer allowed.
        moody = Moody("allow", "add")
        log = Busy(1)
        room = Room(log, checks=[moody])
        with pytest.raises(Rejected):
            await room.kernel.handle(AddNote("a"), ME)
        assert room.notes() == ["other 1"]

    asyncio.run(story())


def test_a_ruling_from_before_somebody_else_wrote_is_not_kept_for_the_same_facts() -> None:
    class Moody(Says):
        async def judge(self, proposal: Proposal) -> Verdict | None:
            verdict = await super().judge(proposal)
            if self.answer == "allow":
                await room.journal.append([draft(1, "other")])
            self.answer = "block"
            return verdict

    async def story() -> None:
        # The wish would record the same as before; only what the check says of it has changed.
        with pytest.raises(Rejected) as caught:
            await room.kernel.handle(AddNote("a"), ME)
        assert caught.value.code == "gate.blocked"
        assert room.notes() == ["other"]

    room = Room(checks=[Moody("allow", "add")])
    asyncio.run(story())
