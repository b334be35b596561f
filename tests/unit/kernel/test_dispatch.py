"""The one door: what is judged, what is recorded, and what happens when others are faster."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec import Struct

from choiros.kernel.command import Context, Decision, Fact
from choiros.kernel.dispatch import Done
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Draft, Labels, Record
from choiros.kernel.gate import Verdict, VerdictRecorded
from tests.unit.kernel.notes import (
    AGENT,
    ME,
    AddNote,
    DoNothing,
    NoteAdded,
    Room,
    Says,
    Wrapped,
)

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
                self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
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
    """C-20."""

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
