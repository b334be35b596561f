"""The views follow the log: each event exactly once, whatever interrupts, and never another history."""

import asyncio
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.event import GENESIS, Event, Point
from choiros.kernel.journal import Journal
from choiros.kernel.projector import Projector, ProjectorRunner, Stale, seen_by_all
from choiros.kernel.tables import Tables, Value
from tests.unit.kernel.notes import REGISTRY, NotesProjector, draft


class Lengths:
    """A second view, which can be told to fail or to be another version."""

    name = "lengths"
    tables = ("lengths",)
    schema = "CREATE TABLE lengths(seq INTEGER PRIMARY KEY, length INTEGER NOT NULL) STRICT;"

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.fails_at = 0

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        for event in events:
            if event.seq == self.fails_at:
                raise OSError("the power is gone")
            tables.run("INSERT INTO lengths VALUES (?, ?)", [(event.seq, len(event.record.payload or b""))])


class Cutting(SqliteTables):
    """Tables on which one statement fails."""

    cut = ""

    def run(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        if self.cut and sql.startswith(self.cut):
            raise OSError("the power is gone")
        super().run(sql, rows)


async def logged(count: int) -> Journal:
    journal = Journal(MemoryLog(), REGISTRY, user="me")
    await journal.append([draft(number) for number in range(1, count + 1)])
    return journal


def runner(journal: Journal, *views: Projector, tables: SqliteTables | None = None) -> ProjectorRunner:
    made = ProjectorRunner(journal, tables or SqliteTables(), projectors=[NotesProjector(), *views])
    made.prepare()
    return made


def texts(tables: SqliteTables) -> list[object]:
    return [text for (text,) in tables.query("SELECT text FROM notes ORDER BY seq")]


async def expected(count: int) -> dict[str, str]:
    made = runner(await logged(count), Lengths())
    await made.catch_up()
    return made.digests()


# --- Following ---


def test_the_views_catch_up_with_the_log_and_know_where_they_are() -> None:
    async def story() -> None:
        journal = await logged(3)
        tables = SqliteTables()
        made = runner(journal, tables=tables)
        assert made.position() == Point(0, GENESIS)
        assert await made.catch_up() == await journal.head() == made.position() == seen_by_all(tables)
        assert texts(tables) == ["note 1", "note 2", "note 3"]
        assert await made.catch_up() == await journal.head()
        assert texts(tables) == ["note 1", "note 2", "note 3"]

    asyncio.run(story())


def test_the_views_can_stop_at_an_event() -> None:
    async def story() -> None:
        journal = await logged(5)
        tables = SqliteTables()
        made = runner(journal, tables=tables)
        assert (await made.catch_up(until=2)).seq == 2
        assert len(texts(tables)) == 2
        assert (await made.catch_up(until=1)).seq == 2
        assert (await made.catch_up()).seq == 5

    asyncio.run(story())


class Doubled(NotesProjector):
    """A view that is told of events after the one that it reads."""

    name = "doubled"
    tables = ("doubled",)
    schema = "CREATE TABLE doubled(seq INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;"

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        for event in events:
            tables.run(
                "INSERT INTO doubled SELECT seq, text || text FROM notes WHERE seq = ?", [(event.seq,)]
            )


def test_the_views_are_told_in_the_order_in_which_they_were_installed() -> None:
    async def story() -> None:
        tables = SqliteTables()
        await runner(await logged(2), Doubled(), tables=tables).catch_up()
        assert tables.query("SELECT text FROM doubled") == [("note 1note 1",), ("note 2note 2",)]

    asyncio.run(story())


EXPECTED = asyncio.run(expected(12))


@given(st.sets(st.integers(1, 11)))
def test_the_tables_do_not_depend_on_how_the_log_was_cut_into_batches(cuts: set[int]) -> None:
    async def story() -> None:
        journal = await logged(12)
        made = runner(journal, Lengths())
        events = await journal.fetch(range(1, 13))
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 12], strict=True):
            made.apply(events[start:end])
        assert made.digests() == EXPECTED
        assert made.position() == events[-1].point

    asyncio.run(story())


@given(st.lists(st.integers(0, 12), max_size=4))
def test_stopping_anywhere_and_going_on_gives_the_same_tables(stops: list[int]) -> None:
    async def story() -> None:
        made = runner(await logged(12), Lengths())
        for stop in stops:
            await made.catch_up(until=stop)
        await made.catch_up()
        assert made.digests() == EXPECTED

    asyncio.run(story())


def test_different_histories_have_different_digests() -> None:
    assert asyncio.run(expected(11)) != EXPECTED
    assert set(EXPECTED) == {"notes", "lengths"}


# --- Interrupted ---


@pytest.mark.parametrize("fails_at", [1, 3, 5])
def test_a_crash_in_the_middle_leaves_the_state_before_and_each_event_is_applied_once(fails_at: int) -> None:
    async def story() -> None:
        journal = await logged(5)
        tables, second = SqliteTables(), Lengths()
        made = runner(journal, second, tables=tables)
        untouched = made.digests()
        second.fails_at = fails_at
        with pytest.raises(OSError, match="power"):
            await made.catch_up()
        assert made.digests() == untouched
        assert made.position() == Point(0, GENESIS)
        second.fails_at = 0
        await made.catch_up()
        assert made.digests() == await expected(5)
        assert tables.query("SELECT DISTINCT times FROM counted") == [(1,)]

    asyncio.run(story())


def test_the_position_changes_in_the_same_transaction_as_the_tables() -> None:
    async def story() -> None:
        journal = await logged(3)
        tables = Cutting()
        made = runner(journal, Lengths(), tables=tables)
        tables.cut = "UPDATE projections"
        with pytest.raises(OSError, match="power"):
            await made.catch_up()
        assert texts(tables) == []
        tables.cut = ""
        await made.catch_up()
        assert tables.query("SELECT DISTINCT times FROM counted") == [(1,)]
        assert made.digests() == await expected(3)

    asyncio.run(story())


def test_making_the_tables_happens_as_a_whole_or_not_at_all() -> None:
    class Broken(Lengths):
        schema = "CREATE TABLE lengths(seq INTEGER PRIMARY KEY); CREATE TABLE lengths(again);"

    async def story() -> None:
        tables = SqliteTables()
        journal = await logged(1)
        with pytest.raises(Corrupt):
            ProjectorRunner(journal, tables, projectors=[NotesProjector(), Broken()]).prepare()
        assert tables.query("SELECT name FROM sqlite_schema") == []
        runner(journal, Lengths(), tables=tables)

    asyncio.run(story())


def test_a_gap_between_the_views_and_the_events_is_our_own_mistake() -> None:
    async def story() -> None:
        journal = await logged(3)
        tables = SqliteTables()
        made = runner(journal, tables=tables)
        with pytest.raises(AssertionError, match="would skip"):
            made.apply(await journal.fetch([2, 3]))
        assert texts(tables) == []

    asyncio.run(story())


def test_events_that_a_view_has_seen_already_are_not_applied_again() -> None:
    async def story() -> None:
        journal = await logged(4)
        made = runner(journal, Lengths())
        await made.catch_up(until=3)
        made.apply(await journal.fetch([2, 3, 4]))
        made.apply(await journal.fetch([1, 2]))
        assert made.digests() == await expected(4)
        assert made.position().seq == 4

    asyncio.run(story())


# --- Other versions ---


def test_a_view_that_is_new_reads_the_whole_log_while_the_others_wait_for_it() -> None:
    async def story() -> None:
        journal = await logged(4)
        tables = SqliteTables()
        await runner(journal, tables=tables).catch_up()
        made = runner(journal, Lengths(), tables=tables)
        assert made.position() == Point(0, GENESIS)
        assert await made.catch_up() == await journal.head()
        assert made.digests() == await expected(4)

    asyncio.run(story())


def test_a_view_of_an_older_version_is_stale_and_nothing_is_changed() -> None:
    async def story() -> None:
        journal = await logged(2)
        tables = SqliteTables()
        before = runner(journal, Lengths(1), tables=tables)
        await before.catch_up()
        digests = before.digests()
        with pytest.raises(Stale, match="lengths"):
            runner(journal, Lengths(2), tables=tables)
        assert before.digests() == digests
        assert tables.query("SELECT version FROM projections WHERE name = 'lengths'") == [(1,)]

    asyncio.run(story())


def test_a_view_of_a_newer_version_is_refused_and_nothing_is_changed() -> None:
    async def story() -> None:
        journal = await logged(2)
        tables = SqliteTables()
        before = runner(journal, Lengths(3), tables=tables)
        await before.catch_up()
        digests = before.digests()
        with pytest.raises(Rejected) as caught:
            runner(journal, Lengths(2), tables=tables)
        assert caught.value.code == "state.newer"
        assert "'lengths' has version 3; this program knows version 2" in caught.value.message
        assert before.digests() == digests

    asyncio.run(story())


# --- Another log ---


async def behind(count: int, seen: int) -> tuple[ProjectorRunner, SqliteTables]:
    """Return views that have seen `seen` events, over a log of `count` others."""
    tables = SqliteTables()
    await runner(await logged(seen), tables=tables).catch_up()
    journal = Journal(MemoryLog(), REGISTRY, user="me")
    await journal.append([draft(number, "another history") for number in range(1, count + 1)])
    return ProjectorRunner(journal, tables, projectors=[NotesProjector()]), tables


@pytest.mark.parametrize(("count", "code"), [(1, "log.shorter"), (3, "log.shorter"), (5, "log.broken")])
def test_a_log_that_is_not_the_one_the_views_have_seen_is_refused(count: int, code: str) -> None:
    async def story() -> None:
        made, tables = await behind(count, seen=3)
        made.prepare()
        before = made.digests()
        with pytest.raises(Corrupt) as caught:
            await made.catch_up()
        assert caught.value.code == code
        assert made.digests() == before
        assert texts(tables) == ["note 1", "note 2", "note 3"]

    asyncio.run(story())


def test_a_log_that_was_cut_is_named_with_both_ends() -> None:
    async def story() -> None:
        tables = SqliteTables()
        await runner(await logged(3), tables=tables).catch_up()
        made = runner(await logged(2), tables=tables)
        with pytest.raises(Corrupt, match="ends at event 2, but the views have seen event 3") as caught:
            await made.catch_up()
        assert caught.value.code == "log.shorter"

    asyncio.run(story())


def test_a_history_with_another_beginning_but_the_same_length_is_found() -> None:
    async def story() -> None:
        tables = SqliteTables()
        await runner(await logged(1), tables=tables).catch_up()
        journal = Journal(MemoryLog(), REGISTRY, user="me")
        await journal.append([draft(7)])
        with pytest.raises(Corrupt) as caught:
            await ProjectorRunner(journal, tables, projectors=[NotesProjector()]).catch_up()
        assert caught.value.code == "log.shorter"

    asyncio.run(story())
