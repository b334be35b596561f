"""The one door when others are faster, when something fails behind it, and what effects see."""

import asyncio
from collections.abc import Sequence

import pytest

from choiros.engines.log.memory import MemoryLog
from choiros.kernel.dispatch import ATTEMPTS, Done
from choiros.kernel.errors import Conflict, Corrupt, Unavailable
from choiros.kernel.event import Draft, Event, Record
from choiros.kernel.tables import Tables
from tests.unit.kernel.notes import (
    ME,
    AddNote,
    Busy,
    NoteAdded,
    NumberNote,
    Recorder,
    Room,
    Wrapped,
)


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


# --- Others are faster ---


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
        async def append(
            self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
        ):
            raise Conflict("log.other", "No.", fix="Yes.")

    async def story() -> None:
        with pytest.raises(Conflict) as caught:
            await Room(Refusing(MemoryLog())).kernel.handle(AddNote("a"), ME)
        assert caught.value.code == "log.other"

    asyncio.run(story())


def test_a_log_that_cannot_be_written_leaves_the_views_as_they_were() -> None:
    class Full(Wrapped):
        async def append(
            self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
        ):
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

        async def append(
            self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
        ):
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
