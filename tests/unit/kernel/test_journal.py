"""The log of one person, typed and verified: nothing that was changed on the way is ever given out."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from choiros.engines.log.memory import MemoryLog
from choiros.kernel.errors import Conflict, Corrupt, Rejected, Unavailable
from choiros.kernel.event import GENESIS, Event, Point, Record
from choiros.kernel.journal import Journal
from choiros.kernel.registry import EventType, Registry
from tests.unit.kernel.notes import REGISTRY, NoteAdded, Wrapped, draft

START = Point(0, GENESIS)
Harm = Callable[[list[Record]], list[Record]]


class Harmed(Wrapped):
    """A log whose store somebody has changed."""

    def __init__(self, inner: MemoryLog, harm: Harm) -> None:
        super().__init__(self)
        stored = harm(list(inner._records["me"]))
        self._stored = stored

    async def head(self, user: str) -> Point:
        return Point(self._stored[-1].seq, self._stored[-1].hash)

    async def read(self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000):
        found = [record for record in self._stored if record.seq > after][:limit]
        for start in range(0, len(found), 2):
            yield found[start : start + 2]

    async def fetch(self, user: str, seqs: Sequence[int]) -> list[Record]:
        return [record for record in self._stored if record.seq in set(seqs)]


async def filled(count: int = 6) -> tuple[MemoryLog, Journal]:
    log = MemoryLog()
    journal = Journal(log, REGISTRY, user="me")
    await journal.append([draft(number) for number in range(1, count + 1)])
    return log, journal


async def listed(journal: Journal, after: Point = START, until: int | None = None) -> list[Event]:
    return [event async for events in journal.events(after, until=until) for event in events]


def test_what_was_appended_is_read_with_its_payload_and_its_place() -> None:
    async def story() -> None:
        _, journal = await filled(2)
        (third,) = await journal.append([draft(3, "naïve")], expect=await journal.point(2))
        events = await listed(journal)
        assert [event.payload for event in events] == [
            NoteAdded("note 1"),
            NoteAdded("note 2"),
            NoteAdded("naïve"),
        ]
        assert events[2] == third
        assert events[0].prev == GENESIS
        assert [event.prev for event in events[1:]] == [event.record.hash for event in events[:-1]]
        assert await journal.head() == third.point == await journal.point(3)
        assert await journal.point(0) == Point(0, GENESIS)

    asyncio.run(story())


def test_a_part_of_the_history_begins_behind_a_place_and_ends_with_a_number() -> None:
    async def story() -> None:
        _, journal = await filled()
        after = await journal.point(2)
        assert [event.seq for event in await listed(journal, after)] == [3, 4, 5, 6]
        assert [event.seq for event in await listed(journal, after, until=4)] == [3, 4]
        assert await listed(journal, after, until=2) == []
        assert await listed(journal, after, until=0) == []
        assert await listed(journal, await journal.head()) == []

    asyncio.run(story())


def test_single_events_are_fetched_in_order_and_what_is_not_yet_there_is_left_out() -> None:
    async def story() -> None:
        _, journal = await filled()
        assert [event.seq for event in await journal.fetch([5, 1, 5, 2, 99])] == [1, 2, 5]
        assert await journal.fetch([]) == []
        assert await journal.fetch([7]) == []
        assert (await journal.fetch([5]))[0].prev == (await journal.point(4)).hash

    asyncio.run(story())


def test_following_gives_the_past_and_then_what_comes() -> None:
    async def story() -> None:
        _, journal = await filled(2)
        seen: list[int] = []

        async def watch() -> None:
            async for events in journal.follow(await journal.point(1)):
                seen.extend(event.seq for event in events)
                if seen[-1] == 4:
                    return

        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        await journal.append([draft(3), draft(4)])
        await asyncio.wait_for(watching, 5)
        assert seen == [2, 3, 4]

    asyncio.run(story())


def test_a_stale_writer_conflicts_and_writes_nothing() -> None:
    async def story() -> None:
        _, journal = await filled(2)
        with pytest.raises(Conflict) as caught:
            await journal.append([draft(3)], expect=await journal.point(1))
        assert caught.value.code == "log.stale"
        assert (await journal.head()).seq == 2

    asyncio.run(story())


def test_a_repeated_batch_is_given_back_as_it_was_stored() -> None:
    async def story() -> None:
        _, journal = await filled(3)
        first = await journal.append([draft(4), draft(5)])
        for seq in (0, 3, 5):
            assert await journal.append([draft(4), draft(5)], expect=await journal.point(seq)) == first
        assert (await journal.head()).seq == 5

    asyncio.run(story())


class Silent(Wrapped):
    """A log that takes everything, and cannot be read."""

    async def fetch(self, user: str, seqs: Sequence[int]) -> list[Record]:
        raise Unavailable("log.unavailable", "Nobody answers.", fix="Try again.")


def test_what_was_recorded_is_never_told_as_not_written() -> None:
    async def story() -> None:
        log, _ = await filled(2)
        journal = Journal(Silent(log), REGISTRY, user="me")
        with pytest.raises(Unavailable) as caught:
            await journal.append([draft(3)])
        assert (caught.value.code, caught.value.fields["seq"]) == ("log.uncertain", 3)
        # Who knows the place behind which it writes needs no second answer of the log.
        (fourth,) = await journal.append([draft(4)], expect=await journal.head())
        assert fourth.seq == 4

    asyncio.run(story())


def test_the_event_of_another_person_never_enters() -> None:
    async def story() -> None:
        _, journal = await filled(1)
        for user in ("you", "", "me.x", "*"):
            with pytest.raises(Rejected) as caught:
                await journal.append([draft(2), draft(3, user=user)])
            assert caught.value.code == "event.other_user"
        assert (await journal.head()).seq == 1

    asyncio.run(story())


def swapped(records: list[Record]) -> list[Record]:
    third, fourth = records[2], records[3]
    records[2], records[3] = fourth._replace(seq=3), third._replace(seq=4)
    return records


def edited(records: list[Record]) -> list[Record]:
    records[2] = records[2]._replace(payload=b'{"text":"other"}')
    return records


def deleted(records: list[Record]) -> list[Record]:
    return [record for record in records if record.seq != 3]


def renumbered(records: list[Record]) -> list[Record]:
    rest = [record for record in records if record.seq != 3]
    return [record._replace(seq=seq) for seq, record in enumerate(rest, 1)]


def rehashed(records: list[Record]) -> list[Record]:
    records[2] = records[2]._replace(hash=bytes(32))
    return records


def inserted(records: list[Record]) -> list[Record]:
    copy = records[1]
    rest = [record._replace(seq=record.seq + 1) for record in records[2:]]
    return [*records[:2], copy._replace(seq=3), *rest]


HARMS = [edited, deleted, renumbered, rehashed, inserted, swapped]


@pytest.mark.parametrize("harm", HARMS)
def test_a_changed_history_is_refused_and_the_place_named(harm: Harm) -> None:
    async def story() -> None:
        log, _ = await filled()
        journal = Journal(Harmed(log, harm), REGISTRY, user="me")
        with pytest.raises(Corrupt) as caught:
            await listed(journal)
        assert (caught.value.code, caught.value.fields["seq"]) == ("log.broken", 3)
        with pytest.raises(Corrupt) as caught:
            await journal.fetch([3])
        assert caught.value.fields["seq"] == 3
        assert [event.seq for event in await journal.fetch([1, 2])] == [1, 2]

    asyncio.run(story())


def test_a_place_that_is_gone_is_named() -> None:
    async def story() -> None:
        log, _ = await filled()
        journal = Journal(Harmed(log, deleted), REGISTRY, user="me")
        with pytest.raises(Corrupt, match="event 3: it is missing"):
            await journal.point(3)
        with pytest.raises(Corrupt, match="event 3: it is missing"):
            await journal.fetch([4])

    asyncio.run(story())


def test_an_erased_payload_reads_as_nothing_and_all_others_as_before() -> None:
    async def story() -> None:
        log, _ = await filled(3)

        def erased(records: list[Record]) -> list[Record]:
            return [record._replace(payload=None) if record.seq == 2 else record for record in records]

        journal = Journal(Harmed(log, erased), REGISTRY, user="me")
        assert [event.payload for event in await listed(journal)] == [
            NoteAdded("note 1"),
            None,
            NoteAdded("note 3"),
        ]

    asyncio.run(story())


class Starred(NoteAdded, frozen=True, kw_only=True):
    stars: int


def test_an_intact_event_that_does_not_fit_its_type_says_that_another_program_wrote_it() -> None:
    async def story() -> None:
        log, _ = await filled(1)
        journal = Journal(log, Registry([EventType("note", Starred)]), user="me")
        with pytest.raises(Corrupt, match="stars") as caught:
            await listed(journal)
        assert (caught.value.code, caught.value.fields["seq"]) == ("log.unreadable", 1)

    asyncio.run(story())


def test_events_of_types_that_this_program_does_not_know_are_read_all_the_same() -> None:
    async def story() -> None:
        _, journal = await filled(1)
        await journal.append([draft(2, "kept", name="hologram")])
        events = await listed(journal)
        assert events[1].payload == {"text": "kept"}
        assert b'"event_type":"hologram","payload":{"text":"kept"}' in events[1].as_json()

    asyncio.run(story())
