"""The one door: what is judged, what is recorded, and what happens when others are faster."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec import Struct

from choiros.engines.log.memory import MemoryLog
from choiros.features.approvals.check import OnlyPeopleDecide
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.dispatch import ATTEMPTS, Asked, Done
from choiros.kernel.errors import Conflict, Corrupt, Rejected, Unavailable
from choiros.kernel.event import Draft, Event, Labels, Record, Source
from choiros.kernel.gate import ApprovalRequested, Verdict, VerdictRecorded
from choiros.kernel.tables import Tables
from tests.unit.kernel.notes import (
    AGENT,
    ME,
    AddNote,
    DoNothing,
    NoteAdded,
    NumberNote,
    Recorder,
    Room,
    Says,
    Wrapped,
    draft,
)

ASKING = (Says("allow", "answer", "nothing"), Says("ask", "add", "number", name="careful"))


class Failing:
    """A view that fails when it is told to."""

    name = "failing"
    version = 1
    tables = ()
    schema = ""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        if self.error is not None:
            raise self.error


# --- Allowed ---


def test_an_allowed_wish_is_recorded_behind_its_verdict_and_seen_in_the_views() -> None:
    async def story() -> None:
        room = Room()
        done = await room.add("a")
        verdict, fact = done.events
        assert isinstance(verdict.payload, VerdictRecorded)
        assert (verdict.payload.command, verdict.payload.answer, verdict.payload.effect) == (
            "add",
            "allow",
            "reversible",
        )
        assert verdict.payload.verdicts == (Verdict("says", "allow", "says says allow."),)
        assert fact.payload == NoteAdded("a")
        assert fact.head.cause == verdict.head.id
        assert done.facts == [fact]
        assert room.notes() == ["a"]
        assert await room.types() == ["policy.verdict", "note"]

    asyncio.run(story())


def test_the_record_tells_who_wished_in_which_run_why_and_with_which_labels() -> None:
    async def story() -> None:
        room = Room()
        labels = Labels(("web",), private=True)
        context = Context("me", source="agent", session="s", run="r", cause="before", labels=labels)
        verdict, fact = (await room.add("a", context)).events
        for head in (verdict.head, fact.head):
            assert (head.user_id, head.source, head.session_id, head.run_id) == ("me", "agent", "s", "r")
            assert head.labels == labels
        assert verdict.head.cause == "before"

    asyncio.run(story())


def test_a_fact_names_the_fact_that_caused_it() -> None:
    async def story() -> None:
        room = Room()
        facts = (Fact(NoteAdded("a")), Fact(NoteAdded("b"), because_of=0), Fact(NoteAdded("c"), because_of=1))
        kind = room.kernel._commands[AddNote]
        kind.decide = lambda _, __: Decision(facts)
        verdict, first, second, third = (await room.add("x")).events
        causes = [first.head.cause, second.head.cause, third.head.cause]
        assert causes == [verdict.head.id, first.head.id, second.head.id]

    asyncio.run(story())


def test_what_is_so_already_leaves_no_record() -> None:
    async def story() -> None:
        room = Room()
        assert await room.kernel.handle(DoNothing(), ME) == Done(())
        assert await room.types() == []

    asyncio.run(story())


def test_contents_are_durable_before_the_event_that_names_them() -> None:
    async def story() -> None:
        room = Room()

        class Looking(Wrapped):
            async def append(
                self, user: str, drafts: Sequence[Draft], *, expect_seq: int | None = None
            ) -> list[Record]:
                assert len([digest async for digest in room.blobs.digests()]) == 1
                return await super().append(user, drafts, expect_seq=expect_seq)

        room.journal._log = Looking(room.log)
        await room.add("a")
        assert room.notes() == ["a"]

    asyncio.run(story())


def test_proposing_changes_nothing() -> None:
    async def story() -> None:
        room = Room()
        proposal = await room.kernel.propose(AddNote("a"), ME)
        assert proposal.decision.payloads == [NoteAdded("a")]
        assert await room.types() == []

    asyncio.run(story())


def test_the_log_follows_the_order_of_wishes_and_not_the_clock() -> None:
    async def story() -> None:
        room = Room()
        for text, move in (("a", 0), ("b", -86_400_000), ("c", 3_600_000)):
            room.clock.move(move)
            await room.add(text)
        assert room.notes() == ["a", "b", "c"]

    asyncio.run(story())


# --- Refused ---


def test_a_blocked_wish_leaves_exactly_one_verdict() -> None:
    async def story() -> None:
        room = Room(checks=[Says("allow"), Says("block", "add", name="guard")])
        with pytest.raises(Rejected) as caught:
            await room.kernel.handle(AddNote("a"), ME)
        assert caught.value.code == "gate.blocked"
        assert "guard says block." in caught.value.message
        assert caught.value.fields["seq"] == 1
        (event,) = await room.journal.fetch([1])
        assert isinstance(event.payload, VerdictRecorded)
        assert event.payload.answer == "block"
        assert await room.types() == ["policy.verdict"]
        assert room.notes() == []
        assert [digest async for digest in room.blobs.digests()] == []

    asyncio.run(story())


def test_without_any_check_nothing_is_done() -> None:
    async def story() -> None:
        room = Room(checks=[])
        with pytest.raises(Rejected, match="No rule allows the command add"):
            await room.kernel.handle(AddNote("a"), ME)
        assert await room.types() == ["policy.verdict"]

    asyncio.run(story())


@pytest.mark.parametrize(
    "text", ["\udcff", "x" * (1 << 20)], ids=["a lone surrogate", "more than a payload holds"]
)
def test_a_fact_that_does_not_fit_its_type_is_refused_before_the_log_is_touched(text: str) -> None:
    async def story() -> None:
        room = Room()
        room.kernel._commands[AddNote].decide = lambda _, __: Decision((Fact(NoteAdded(text)),))
        with pytest.raises(Rejected) as caught:
            await room.kernel.handle(AddNote("a"), ME)
        assert caught.value.code == "event.invalid"
        assert await room.types() == []
        assert room.notes() == []

    asyncio.run(story())


@pytest.mark.parametrize("context", [Context("you"), Context("")], ids=["another person", "nobody"])
def test_a_wish_of_somebody_else_never_enters_this_log(context: Context) -> None:
    async def story() -> None:
        room = Room()
        with pytest.raises(Rejected) as caught:
            await room.kernel.handle(AddNote("a"), context)
        assert caught.value.code == "event.other_user"
        assert await room.types() == []

    asyncio.run(story())


def refuse(command: Struct, state: object) -> Decision:
    del state
    raise Rejected("notes.bad", f"{command} is no note.", fix="Write another one.")


def test_what_a_rule_refuses_to_a_person_leaves_no_record() -> None:
    async def story() -> None:
        room = Room()
        room.kernel._commands[AddNote].decide = refuse
        with pytest.raises(Rejected, match="no note"):
            await room.kernel.handle(AddNote("a"), ME)
        assert await room.types() == []

    asyncio.run(story())


@pytest.mark.parametrize("context", [AGENT, Context("me", source="system")], ids=["agent", "system"])
def test_what_a_rule_refuses_to_anybody_else_is_recorded(context: Context) -> None:
    async def story() -> None:
        room = Room()
        room.kernel._commands[AddNote].decide = refuse
        with pytest.raises(Rejected, match="no note"):
            await room.kernel.handle(AddNote("a"), context)
        (event,) = await room.journal.fetch([1])
        assert isinstance(event.payload, VerdictRecorded)
        assert event.payload.answer == "block"
        assert event.payload.verdicts[0].reason == "AddNote(text='a') is no note. (notes.bad)"
        assert room.projectors.position() == event.point

    asyncio.run(story())


def test_what_a_rule_refuses_in_an_audited_command_is_recorded_for_a_person_too() -> None:
    async def story() -> None:
        room = Room()
        kind = room.kernel._commands[AddNote]
        kind.decide, kind.audited = refuse, True
        with pytest.raises(Rejected, match="no note"):
            await room.kernel.handle(AddNote("a"), ME)
        assert await room.types() == ["policy.verdict"]

    asyncio.run(story())


# --- Others are faster ---


class Busy(Wrapped):
    """A log in which somebody else writes right before each of the first appends."""

    def __init__(self, times: int) -> None:
        super().__init__(MemoryLog())
        self.tries = 0
        self._times = times

    async def append(
        self, user: str, drafts: Sequence[Draft], *, expect_seq: int | None = None
    ) -> list[Record]:
        self.tries += 1
        if self.tries <= self._times:
            await super().append(user, [draft(self.tries, f"other {self.tries}")])
        return await super().append(user, drafts, expect_seq=expect_seq)


def test_a_stale_writer_reads_again_and_decides_on_the_new_state() -> None:
    async def story() -> None:
        room = Room(Busy(3))
        done = await room.kernel.handle(NumberNote("mine"), ME)
        assert isinstance(done, Done)
        assert [event.payload for event in done.facts] == [NoteAdded("4 mine")]
        assert room.notes() == ["other 1", "other 2", "other 3", "4 mine"]

    asyncio.run(story())


def test_a_stale_writer_gives_up_after_three_more_readings_and_writes_nothing() -> None:
    async def story() -> None:
        log = Busy(99)
        room = Room(log)
        with pytest.raises(Conflict) as caught:
            await room.kernel.handle(NumberNote("mine"), ME)
        assert caught.value.code == "dispatch.busy"
        assert log.tries == ATTEMPTS == 4
        assert set(await room.types()) == {"note"}
        assert "mine" not in " ".join(room.notes())

    asyncio.run(story())


def test_many_wishes_at_once_each_count_what_was_before_them() -> None:
    async def story() -> None:
        room = Room()
        wishes = [room.kernel.handle(NumberNote("x"), ME) for _ in range(3)]
        await asyncio.gather(*wishes)
        assert sorted(room.notes()) == ["1 x", "2 x", "3 x"]

    asyncio.run(story())


def test_a_conflict_that_has_another_reason_is_told_at_once() -> None:
    class Refusing(Wrapped):
        async def append(self, user: str, drafts: Sequence[Draft], *, expect_seq: int | None = None):
            raise Conflict("log.other", "No.", fix="Yes.")

    async def story() -> None:
        with pytest.raises(Conflict) as caught:
            await Room(Refusing(MemoryLog())).kernel.handle(AddNote("a"), ME)
        assert caught.value.code == "log.other"

    asyncio.run(story())


def test_a_log_that_cannot_be_written_leaves_the_views_as_they_were() -> None:
    class Full(Wrapped):
        async def append(self, user: str, drafts: Sequence[Draft], *, expect_seq: int | None = None):
            raise Unavailable("log.unavailable", "Full.", fix="Free some space.")

    async def story() -> None:
        room = Room(Full(MemoryLog()))
        before = room.projectors.digests()
        with pytest.raises(Unavailable):
            await room.kernel.handle(AddNote("a"), ME)
        assert room.projectors.digests() == before

    asyncio.run(story())


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("state.unavailable", "Full.", fix="Free."),
        Corrupt("state.damaged", "Bad.", fix="Rebuild."),
    ],
)
def test_a_record_holds_when_the_views_cannot_follow_and_says_so(error: Unavailable | Corrupt) -> None:
    async def story() -> None:
        view, reactor = Failing(), Recorder()
        room = Room(projectors=[view], reactors=[reactor])
        view.error = error
        done = await room.add("a")
        assert [event.payload for event in done.facts] == [NoteAdded("a")]
        assert done.troubles == (error,)
        assert (room.notes(), reactor.seen) == ([], [])
        view.error = None
        await room.add("b")
        assert (room.notes(), reactor.seen) == (["a", "b"], [1, 2, 3, 4])

    asyncio.run(story())


# --- Effects ---


def test_no_effect_sees_a_fact_before_the_views_do() -> None:
    class Slow(Wrapped):
        """A log that answers the writer late, when others can read what was written already."""

        async def append(self, user: str, drafts: Sequence[Draft], *, expect_seq: int | None = None):
            records = await super().append(user, drafts, expect_seq=expect_seq)
            await asyncio.sleep(0.01)
            return records

    async def story() -> None:
        reactor = Recorder()
        room = Room(Slow(MemoryLog()), reactors=[reactor])
        missing: list[int] = []

        async def look(event: Event) -> None:
            await asyncio.sleep(0.004)
            if isinstance(event.payload, NoteAdded) and event.payload.text not in room.notes():
                missing.append(event.seq)

        reactor.then = look
        await asyncio.gather(*(room.add(f"note {number}") for number in range(4)))
        assert missing == []
        assert reactor.seen == list(range(1, 9))

    asyncio.run(story())


def test_trouble_with_an_effect_is_told_and_the_record_holds() -> None:
    async def story() -> None:
        reactor = Recorder()
        room = Room(reactors=[reactor])

        async def fail(event: Event) -> None:
            raise Unavailable("disk.full", f"No space for {event.seq}.", fix="Free some.")

        reactor.then = fail
        done = await room.add("a")
        assert [trouble.code for trouble in done.troubles] == ["disk.full"]
        assert room.notes() == ["a"]

    asyncio.run(story())


# --- Asked ---


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
