"""Facts cause work: each reactor sees every fact at least once, and none stands in the way of another."""

import asyncio

import pytest

from choiros.engines.tables.sqlite import SqliteTables
from choiros.kernel.dispatch import Done
from choiros.kernel.errors import Corrupt, Unavailable
from choiros.kernel.event import Event
from choiros.kernel.reactor import ReactorRunner
from tests.unit.kernel.notes import ME, AddNote, NoteAdded, Recorder, Room

TROUBLE = Unavailable("disk.full", "No space.", fix="Free some.")


def note_of(event: Event) -> str:
    return event.payload.text if isinstance(event.payload, NoteAdded) else ""


def test_a_reactor_sees_every_event_once_and_in_order() -> None:
    async def story() -> None:
        one, other = Recorder("one"), Recorder("other")
        room = Room(reactors=[one, other])
        for text in "abc":
            await room.add(text)
        assert await room.reactors.catch_up() == {}
        assert one.seen == other.seen == [1, 2, 3, 4, 5, 6]

    asyncio.run(story())


def test_what_was_done_is_not_done_again_after_a_restart() -> None:
    async def story() -> None:
        tables, first = SqliteTables(), Recorder()
        room = Room(reactors=[first], tables=tables)
        await room.add("a")
        second = Recorder()
        again = Room(room.log, reactors=[second], tables=tables)
        await again.projectors.catch_up()
        await again.reactors.catch_up()
        assert (first.seen, second.seen) == ([1, 2], [])

    asyncio.run(story())


def test_tables_that_have_lost_how_far_a_reactor_came_are_told_as_damaged() -> None:
    """After a failed flush a disk may show older pages than those that were written."""

    async def story() -> None:
        room = Room(reactors=[Recorder()])
        await room.add("a")
        room.tables.run("DELETE FROM reactors", [()])
        with pytest.raises(Corrupt) as caught:
            await room.reactors.catch_up()
        assert caught.value.code == "state.damaged"

    asyncio.run(story())


def test_what_was_interrupted_is_seen_again_after_a_restart() -> None:
    async def story() -> None:
        tables, first = SqliteTables(), Recorder()
        room = Room(reactors=[first], tables=tables)

        async def die(event: Event) -> None:
            if note_of(event) == "b":
                raise KeyboardInterrupt

        first.then = die
        await room.add("a")
        with pytest.raises(KeyboardInterrupt):
            await room.add("b")
        second = Recorder()
        again = Room(room.log, reactors=[second], tables=tables)
        await again.projectors.catch_up()
        await again.reactors.catch_up()
        assert second.seen == [3, 4]
        assert room.notes() == ["a", "b"]

    # Its own loop: an interrupt passes through asyncio.run.
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(story())
    finally:
        loop.close()


def test_one_that_fails_holds_up_no_other_and_is_shown_the_same_again() -> None:
    async def story() -> None:
        failing, healthy = Recorder("failing"), Recorder("healthy")
        room = Room(reactors=[failing, healthy])
        broken = True

        async def fail(event: Event) -> None:
            if broken and note_of(event) == "a":
                raise TROUBLE

        failing.then = fail
        done = await room.add("a")
        assert done.troubles == (TROUBLE,)
        assert healthy.seen == [1, 2]
        done = await room.add("b")
        assert done.troubles == (TROUBLE,)
        assert healthy.seen == [1, 2, 3, 4]
        broken = False
        failing.seen.clear()
        assert await room.reactors.catch_up() == {}
        assert failing.seen == [1, 2, 3, 4]
        assert healthy.seen == [1, 2, 3, 4]

    asyncio.run(story())


def test_one_that_fails_is_tried_once_for_each_wish_and_not_for_ever() -> None:
    async def story() -> None:
        failing = Recorder()
        room = Room(reactors=[failing])
        tries = 0

        async def fail(event: Event) -> None:
            nonlocal tries
            tries += 1
            raise TROUBLE

        failing.then = fail
        await asyncio.wait_for(room.add("a"), 5)
        assert tries == 1
        assert await room.reactors.catch_up() == {"recorder": TROUBLE}
        assert tries == 2

    asyncio.run(story())


def test_a_wish_from_inside_a_reactor_is_carried_out_and_seen_by_all() -> None:
    async def story() -> None:
        answering, watching = Recorder("answering"), Recorder("watching")
        room = Room(reactors=[answering, watching])

        async def answer(event: Event) -> None:
            if note_of(event) == "ping":
                await room.kernel.handle(AddNote("pong"), ME)

        answering.then = answer
        done = await asyncio.wait_for(room.add("ping"), 5)
        assert [note_of(event) for event in done.facts] == ["ping"]
        assert room.notes() == ["ping", "pong"]
        assert answering.seen == watching.seen == [1, 2, 3, 4]

    asyncio.run(story())


def test_a_chain_of_wishes_settles() -> None:
    async def story() -> None:
        counting = Recorder()
        room = Room(reactors=[counting])

        async def count_down(event: Event) -> None:
            if note_of(event).isdigit() and int(note_of(event)) > 0:
                await room.kernel.handle(AddNote(str(int(note_of(event)) - 1)), ME)

        counting.then = count_down
        await asyncio.wait_for(room.add("5"), 5)
        assert room.notes() == ["5", "4", "3", "2", "1", "0"]
        assert counting.seen == list(range(1, 13))

    asyncio.run(story())


def test_wishes_at_the_same_time_do_not_block_each_other() -> None:
    async def story() -> None:
        echo = Recorder()
        room = Room(reactors=[echo])

        async def repeat(event: Event) -> None:
            await asyncio.sleep(0)
            text = note_of(event)
            if text and not text.startswith("echo"):
                outcome = await room.kernel.handle(AddNote(f"echo {text}"), ME)
                assert isinstance(outcome, Done)

        echo.then = repeat
        await asyncio.wait_for(asyncio.gather(*(room.add(str(number)) for number in range(8))), 10)
        await room.reactors.catch_up()
        expected = [str(number) for number in range(8)] + [f"echo {number}" for number in range(8)]
        assert sorted(room.notes()) == sorted(expected)
        assert echo.seen == list(range(1, 33))

    asyncio.run(story())


def test_a_reactor_that_is_new_begins_where_it_is_put() -> None:
    async def story() -> None:
        tables = SqliteTables()
        room = Room(tables=tables)
        await room.add("a")
        late = Recorder("late")
        runner = ReactorRunner(room.journal, tables, reactors=[late])
        runner.prepare(room.projectors.position().seq)
        await runner.catch_up()
        assert late.seen == []
        await room.add("b")
        await runner.catch_up()
        assert late.seen == [3, 4]
        runner.prepare(99)
        await room.add("c")
        await runner.catch_up()
        assert late.seen == [3, 4, 5, 6]

    asyncio.run(story())


def test_a_fact_that_the_views_have_not_seen_waits() -> None:
    async def story() -> None:
        reactor = Recorder()
        room = Room(reactors=[reactor])
        await room.add("a")
        other = Room(room.log)
        other.kernel._ids = room.ids
        await other.projectors.catch_up()
        await other.add("b")
        assert await room.reactors.catch_up() == {}
        assert reactor.seen == [1, 2]
        await room.projectors.catch_up()
        await room.reactors.catch_up()
        assert reactor.seen == [1, 2, 3, 4]

    asyncio.run(story())


def test_a_mistake_of_our_own_is_not_hidden() -> None:
    async def story() -> None:
        reactor = Recorder()
        room = Room(reactors=[reactor])

        async def stumble(event: Event) -> None:
            raise ZeroDivisionError(event.seq)

        reactor.then = stumble
        with pytest.raises(ZeroDivisionError):
            await room.add("a")
        assert room.notes() == ["a"]
        reactor.then = None
        await room.add("b")
        assert reactor.seen == [1, 1, 2, 3, 4]

    asyncio.run(story())
