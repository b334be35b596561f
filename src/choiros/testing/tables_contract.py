"""What derived tables and their cabinet promise, as tests that an engine inherits: override the fixtures."""

# ruff: noqa: D102, PLR0917 - a test's name is its sentence, and pytest passes fixtures by name

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import pytest

from choiros.kernel.errors import Corrupt, Unavailable
from choiros.kernel.tables import Cabinet, Row, Snapshot, Tables, Value

MakeTables: TypeAlias = Callable[[], Tables]
MakeCabinet: TypeAlias = Callable[[], Cabinet]
Harm: TypeAlias = Callable[[Snapshot], None]

KEYED = "CREATE TABLE one(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
NUMBERED = "CREATE TABLE one(name TEXT PRIMARY KEY, value);"
LOOSE = "CREATE TABLE one(name TEXT, value);"
INSERT = "INSERT INTO one VALUES (?, ?)"
ROWS: list[Row] = [("a", 1), ("b", None), ("c", "text"), ("d", b"\x00\xff"), ("e", 1.5)]

VALUES: list[Value] = [
    *(None, 0, 1, -1, 2**63 - 1, -(2**63), 0.0, -1.5, 1e300, math.pi),
    *("", "text", "naïve", "a\x00b", "'; DROP TABLE one; --", "\U0001f600"),
    *(b"", b"text", bytes(range(256))),
]


def filled(tables: Tables, rows: Sequence[Row] = ROWS, schema: str = KEYED) -> Tables:
    """Make the table and put these rows into it."""
    tables.script(schema)
    tables.run(INSERT, rows)
    return tables


def contents(tables: Tables) -> list[Row]:
    """Return all rows by name."""
    return tables.query("SELECT name, value FROM one ORDER BY name")


class TablesContract:
    """The promises of `choiros.kernel.tables.Tables`."""

    @pytest.fixture
    def make(self) -> MakeTables:
        """Return what makes new, empty tables."""
        raise NotImplementedError

    @pytest.fixture
    def tables(self, make: MakeTables) -> Iterator[Tables]:
        """Return empty tables."""
        tables = make()
        yield tables
        tables.close()

    @pytest.mark.parametrize("value", VALUES, ids=repr)
    def test_any_value_comes_back_as_it_was(self, tables: Tables, value: Value) -> None:
        filled(tables, [("x", value)])
        (row,) = contents(tables)
        assert row == ("x", value)
        assert type(row[1]) is type(value)

    def test_a_question_can_hold_values(self, tables: Tables) -> None:
        filled(tables)
        assert tables.query("SELECT value FROM one WHERE name = ?", ("c",)) == [("text",)]
        assert tables.query("SELECT value FROM one WHERE name = ?", ("'",)) == []

    # --- Transactions ---

    def test_a_transaction_happens_as_a_whole(self, tables: Tables) -> None:
        with tables.transaction():
            filled(tables)
        assert contents(tables) == ROWS

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_a_transaction_that_fails_leaves_nothing(
        self, tables: Tables, error: type[BaseException]
    ) -> None:
        filled(tables)

        def work() -> None:
            with tables.transaction():
                tables.run(INSERT, [("x", 1), ("y", 2)])
                tables.run("DELETE FROM one WHERE name = ?", [("a",)])
                tables.script("CREATE TABLE two(x); DROP TABLE one;")
                raise error

        with pytest.raises(error):
            work()
        assert contents(tables) == ROWS
        assert tables.query("SELECT name FROM sqlite_schema WHERE name = 'two'") == []

    def test_a_failure_in_the_middle_of_many_rows_leaves_nothing(self, tables: Tables) -> None:
        filled(tables)

        def rows() -> Iterator[Row]:
            yield ("x", 1)
            raise OSError

        with pytest.raises(OSError), tables.transaction():  # noqa: PT011 - it has no message
            tables.run(INSERT, rows())
        assert contents(tables) == ROWS

    def test_a_transaction_inside_another_can_fail_alone(self, tables: Tables) -> None:
        filled(tables, [])

        def work() -> None:
            with tables.transaction():
                tables.run(INSERT, [("inner", 2)])
                raise ValueError("inner")

        with tables.transaction():
            tables.run(INSERT, [("outer", 1)])
            with pytest.raises(ValueError, match="inner"):
                work()
        assert contents(tables) == [("outer", 1)]

    def test_a_transaction_inside_another_falls_with_it(self, tables: Tables) -> None:
        filled(tables, [])

        def work() -> None:
            with tables.transaction():
                with tables.transaction():
                    tables.run(INSERT, [("inner", 2)])
                raise ValueError("outer")

        with pytest.raises(ValueError, match="outer"):
            work()
        assert contents(tables) == []

    def test_a_row_that_contradicts_the_tables_is_called_damage(self, tables: Tables) -> None:
        filled(tables)
        for wrong in ("INSERT INTO one VALUES ('a', 2)", "SELECT * FROM nothing", "SELECT nothing FROM one"):
            with pytest.raises(Corrupt) as caught:
                tables.script(wrong)
            assert caught.value.code == "state.damaged"
        assert contents(tables) == ROWS

    # --- Digest ---

    @pytest.mark.parametrize("schema", [KEYED, NUMBERED, LOOSE], ids=["keyed", "numbered", "loose"])
    def test_equal_content_has_an_equal_digest_however_it_came_about(
        self, make: MakeTables, schema: str
    ) -> None:
        plain, other = filled(make(), schema=schema), make()
        filled(other, [("z", 1), *reversed(ROWS)], schema)
        other.run("DELETE FROM one WHERE name = ?", [("z",), ("c",)])
        other.run(INSERT, [("c", "another")])
        other.run("UPDATE one SET value = 'text' WHERE name = ?", [("c",)])
        other.script("CREATE INDEX one_value ON one(value); CREATE TABLE two(x);")
        assert other.digest(["one"]) == plain.digest(["one"])

    @pytest.mark.parametrize(
        "rows",
        [
            [],
            ROWS[:-1],
            [*ROWS, ("f", None)],
            [("A", 1), *ROWS[1:]],
            [("a", 2), *ROWS[1:]],
            [("a", "1"), *ROWS[1:]],
            [("a", 1.0), *ROWS[1:]],
            [("a", b"1"), *ROWS[1:]],
            [("a", None), *ROWS[1:]],
            [("a", 1), ("b", ""), *ROWS[2:]],
            [("a", 1), ("b", 0), *ROWS[2:]],
            [("a", None), ("b", 1), *ROWS[2:]],
            [*ROWS[:2], ("c", "text "), *ROWS[3:]],
            [*ROWS[:2], ("c", "text\x00"), *ROWS[3:]],
            [*ROWS[:2], ("c", b"text"), *ROWS[3:]],
        ],
        ids=repr,
    )
    def test_any_difference_in_content_is_seen(self, make: MakeTables, rows: list[Row]) -> None:
        assert filled(make(), rows).digest(["one"]) != filled(make()).digest(["one"])

    def test_values_cannot_borrow_from_their_neighbours(self, make: MakeTables) -> None:
        pairs: list[list[Row]] = [
            [("a, b", "c")],
            [("a", "b, c")],
            [("a'", "'b, c")],
            [("a", "b"), ("c", "")],
            [("a", "b), ('c', '")],
        ]
        assert len({filled(make(), rows).digest(["one"]) for rows in pairs}) == len(pairs)

    def test_a_row_that_stands_there_twice_is_seen(self, make: MakeTables) -> None:
        once, twice = filled(make(), ROWS, LOOSE), filled(make(), [*ROWS, ROWS[0]], LOOSE)
        assert once.digest(["one"]) != twice.digest(["one"])

    def test_the_names_of_columns_and_tables_are_seen(self, make: MakeTables) -> None:
        renamed, moved = filled(make()), filled(make())
        renamed.script("ALTER TABLE one RENAME COLUMN value TO worth")
        moved.script("ALTER TABLE one RENAME TO two")
        digests = {filled(make()).digest(["one"]), renamed.digest(["one"]), moved.digest(["two"])}
        assert len(digests) == 3

    def test_a_row_in_another_table_is_seen(self, make: MakeTables) -> None:
        here, there = make(), make()
        for tables, name in ((here, "one"), (there, "two")):
            tables.script(KEYED + KEYED.replace("one", "two"))
            tables.run(INSERT.replace("one", name), ROWS)
        assert here.digest(["one", "two"]) != there.digest(["one", "two"])

    def test_a_table_that_was_not_named_does_not_count(self, tables: Tables) -> None:
        before = filled(tables).digest(["one"])
        tables.script("CREATE TABLE two(x); INSERT INTO two VALUES (1);")
        assert tables.digest(["one"]) == before


class CabinetContract:
    """The promises of `choiros.kernel.tables.Cabinet`."""

    @pytest.fixture
    def cabinets(self) -> MakeCabinet:
        """Return what opens the same cabinet anew, as the next start of the program does."""
        raise NotImplementedError

    @pytest.fixture
    def harm(self) -> Harm:
        """Return what changes a byte of a kept snapshot."""
        raise NotImplementedError

    @pytest.fixture
    def lose(self) -> Harm:
        """Return what makes a kept snapshot vanish."""
        raise NotImplementedError

    @pytest.fixture
    def cabinet(self, cabinets: MakeCabinet) -> Cabinet:
        """Return an empty cabinet."""
        return cabinets()

    def test_a_new_cabinet_holds_empty_tables(self, cabinet: Cabinet) -> None:
        tables = cabinet.open()
        assert tables.query("SELECT name FROM sqlite_schema") == []
        assert cabinet.snapshots() == []
        tables.close()

    def test_what_was_written_is_there_the_next_time(self, cabinets: MakeCabinet) -> None:
        filled(cabinets().open()).close()
        assert current(cabinets()) == ROWS

    # --- Beside, and switch ---

    def test_what_is_made_beside_does_not_show_before_the_switch(self, cabinets: MakeCabinet) -> None:
        filled(cabinets().open()).close()
        filled(cabinets().beside(None), [("new", 1)]).close()
        assert current(cabinets()) == ROWS

    def test_the_switch_puts_what_was_made_beside_in_place(self, cabinets: MakeCabinet) -> None:
        filled(cabinets().open()).close()
        cabinet = cabinets()
        filled(cabinet.beside(None), [("new", 1)]).close()
        cabinet.switch()
        assert current(cabinet) == current(cabinets()) == [("new", 1)]

    def test_the_switch_works_where_nothing_was_before(self, cabinets: MakeCabinet) -> None:
        cabinet = cabinets()
        cabinet.open().close()
        filled(cabinet.beside(None)).close()
        cabinet.switch()
        assert current(cabinets()) == ROWS

    def test_tables_that_are_still_open_cannot_harm_those_that_replace_them(
        self, cabinets: MakeCabinet
    ) -> None:
        cabinet = cabinets()
        old = filled(cabinet.open(), [("old", 1)])
        filled(cabinet.beside(None), [("new", 1)]).close()
        cabinet.switch()
        fresh = cabinet.open()
        fresh.run(INSERT, [("newer", 2)])
        old.close()
        fresh.run(INSERT, [("newest", 3)])
        fresh.close()
        assert current(cabinets()) == [("new", 1), ("newer", 2), ("newest", 3)]

    def test_what_an_interrupted_attempt_left_beside_is_not_used(self, cabinets: MakeCabinet) -> None:
        filled(cabinets().beside(None), [("half", 1)]).close()
        tables = cabinets().beside(None)
        assert tables.query("SELECT name FROM sqlite_schema") == []
        tables.close()

    # --- Snapshots ---

    def test_a_snapshot_is_what_the_tables_were(self, cabinets: MakeCabinet) -> None:
        cabinet = cabinets()
        tables = filled(cabinet.open())
        digest = tables.digest(["one"])
        snapshot = cabinet.save(tables, 7)
        tables.run(INSERT, [("later", 1)])
        tables.close()
        assert cabinets().snapshots() == [snapshot]
        assert snapshot.seq == 7
        copy = cabinets().beside(snapshot)
        assert contents(copy) == ROWS
        assert copy.digest(["one"]) == digest
        copy.close()

    def test_work_on_a_copy_leaves_the_snapshot_as_it_was(self, cabinets: MakeCabinet) -> None:
        cabinet = cabinets()
        tables = filled(cabinet.open())
        snapshot = cabinet.save(tables, 1)
        tables.close()
        for _ in range(2):
            copy = cabinet.beside(snapshot)
            assert contents(copy) == ROWS
            copy.run(INSERT, [("more", 1)])
            copy.close()

    def test_snapshots_are_listed_from_the_newest_and_can_be_dropped(self, cabinets: MakeCabinet) -> None:
        cabinet = cabinets()
        tables = filled(cabinet.open())
        kept = [cabinet.save(tables, seq) for seq in (9, 100, 20)]
        tables.close()
        assert [snapshot.seq for snapshot in cabinets().snapshots()] == [100, 20, 9]
        cabinet.drop(kept[1])
        cabinet.drop(kept[1])
        assert [snapshot.seq for snapshot in cabinets().snapshots()] == [20, 9]

    def test_what_was_made_beside_for_nothing_can_be_dropped(self, cabinets: MakeCabinet) -> None:
        cabinet = cabinets()
        current = filled(cabinet.open())
        kept = cabinet.save(current, 7)
        current.close()
        filled(cabinet.beside(None)).close()
        cabinet.drop(None)
        cabinet.drop(None)
        with pytest.raises(Unavailable):
            cabinet.switch()
        assert cabinet.snapshots() == [kept]
        again = cabinets().open()
        assert contents(again) == ROWS
        again.close()

    def test_a_snapshot_that_was_changed_is_refused_and_named(
        self, cabinets: MakeCabinet, harm: Harm
    ) -> None:
        cabinet = cabinets()
        tables = filled(cabinet.open())
        snapshot = cabinet.save(tables, 7)
        tables.close()
        harm(snapshot)
        with pytest.raises(Corrupt, match="event 7") as caught:
            cabinet.beside(snapshot)
        assert (caught.value.code, caught.value.fields["seq"]) == ("snapshot.damaged", 7)
        assert current(cabinets()) == ROWS
        cabinet.beside(None).close()

    def test_a_snapshot_that_has_vanished_is_refused_and_named(
        self, cabinets: MakeCabinet, lose: Harm
    ) -> None:
        cabinet = cabinets()
        tables = filled(cabinet.open())
        snapshot = cabinet.save(tables, 7)
        tables.close()
        lose(snapshot)
        with pytest.raises(Corrupt, match="event 7") as caught:
            cabinet.beside(snapshot)
        assert caught.value.code == "snapshot.damaged"


def current(cabinet: Cabinet) -> list[Row]:
    """Return what the current tables hold."""
    tables = cabinet.open()
    try:
        return contents(tables)
    finally:
        tables.close()
