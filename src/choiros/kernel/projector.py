"""Keeps derived tables in step with the log: each view and its position change in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.event import GENESIS, Event, Point
from choiros.kernel.journal import Journal
from choiros.kernel.tables import Tables, Value

POSITIONS = """
CREATE TABLE IF NOT EXISTS projections(
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL
) WITHOUT ROWID;
"""


class Projector(Protocol):
    """Derives tables from events; the same events always give the same tables."""

    @property
    def name(self) -> str:
        """Return the name of the view."""
        ...

    @property
    def version(self) -> int:
        """Return a number that grows whenever the tables or their meaning change."""
        ...

    @property
    def tables(self) -> tuple[str, ...]:
        """Return the names of the tables that belong to this view alone."""
        ...

    @property
    def schema(self) -> str:
        """Return the statements that make these tables in an empty database."""
        ...

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables from the state before these events to the state after them."""
        ...


class Stale(Exception):  # noqa: N818 - it is not an error: the view is older than the program
    """A view was made by an older version of its projector and is to be rebuilt."""


class ProjectorRunner:
    """Runs all projectors of one person over the log."""

    def __init__(self, journal: Journal, tables: Tables, *, projectors: Sequence[Projector]) -> None:
        self._journal = journal
        self._tables = tables
        self._projectors = tuple(projectors)

    @property
    def views(self) -> tuple[Projector, ...]:
        """Return the projectors in the order in which they are applied."""
        return self._projectors

    def prepare(self) -> None:
        """Make the tables that are missing.

        Raises Stale when a view is older than its projector and Rejected (`state.newer`) when it is newer.
        """
        with self._tables.transaction():
            self._tables.script(POSITIONS)
            known = self._of_each("version")
            for projector in self._projectors:
                version = known.get(projector.name)
                if version is None:
                    self._tables.script(projector.schema)
                    row = (projector.name, projector.version, 0, GENESIS)
                    self._tables.run("INSERT INTO projections VALUES (?, ?, ?, ?)", [row])
                elif isinstance(version, int) and version > projector.version:
                    raise newer(projector.name, version, known=projector.version)
                elif version != projector.version:
                    raise Stale(projector.name)

    def _of_each(self, column: Literal["version", "seq"]) -> dict[Value, Value]:
        """Return a number that is kept for each view, by its name."""
        return {row[0]: row[1] for row in self._tables.query(f"SELECT name, {column} FROM projections")}  # noqa: S608 - a constant

    def position(self) -> Point:
        """Return the place up to which every view has seen the log."""
        return seen_by_all(self._tables)

    async def catch_up(self, until: int | None = None) -> Point:
        """Apply what the log holds behind the position and return the new one.

        Raises Corrupt (`log.shorter`) when the log ends before the position.
        """
        position = self.position()
        head = await self._journal.head()
        if head.seq < position.seq or (head.seq == position.seq and head.hash != position.hash):
            raise shorter(head, position)
        if head.seq > position.seq:
            async for events in self._journal.events(position, until=until):
                self.apply(events)
                position = events[-1].point
        return position

    def apply(self, events: Sequence[Event]) -> None:
        """Apply events that follow the position, at once or not at all."""
        with self._tables.transaction():
            positions = self._of_each("seq")
            for projector in self._projectors:
                seen = positions[projector.name]
                assert isinstance(seen, int)
                fresh = [event for event in events if event.seq > seen] if seen >= events[0].seq else events
                if fresh:
                    assert fresh[0].seq == seen + 1, f"{projector.name} would skip events behind {seen}"
                    projector.apply(self._tables, fresh)
            last = events[-1].point
            self._tables.run("UPDATE projections SET seq = ?, hash = ? WHERE seq < ?", [(*last, last.seq)])

    def digests(self) -> dict[str, str]:
        """Return the state hash of every view, for comparing it with one rebuilt from the log."""
        return {one.name: self._tables.digest(one.tables) for one in self._projectors}


def seen_by_all(tables: Tables) -> Point:
    """Return the place up to which every view in these tables has seen the log."""
    rows = tables.query("SELECT seq, hash FROM projections ORDER BY seq LIMIT 1")
    if not rows:
        return Point(0, GENESIS)
    seq, digest = rows[0]
    assert isinstance(seq, int)
    assert isinstance(digest, bytes)
    return Point(seq, digest)


def newer(name: str, found: int, *, known: int) -> Rejected:
    """Return the error for a view that a newer program wrote."""
    return Rejected(
        "state.newer",
        f"The view '{name}' has version {found}; this program knows version {known}.",
        fix="Use the newer ChoirOS that wrote it, or delete state.sqlite and run 'choir rebuild'.",
        name=name,
    )


def shorter(head: Point, position: Point) -> Corrupt:
    """Return the error for a log that lost events which the views have seen."""
    return Corrupt(
        "log.shorter",
        f"The log ends at event {head.seq}, but the views have seen event {position.seq} of another history.",
        fix="Nothing was changed. The log was cut or replaced: put the newest log.db that you have in its place. "
        "If this log is the right one, move state.sqlite away: the views are made again from the log, and what "
        "the folders hold beyond it is recorded.",
        seq=head.seq,
    )
