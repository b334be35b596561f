"""Which events are taken back at present, by which undo, and which one an undo without a name would mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from choiros.features.undo.events import Undone
from choiros.kernel.event import Event
from choiros.kernel.tables import Row, Tables

SCHEMA = """
CREATE TABLE undos(
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, target TEXT NOT NULL, name TEXT NOT NULL,
    undone_by INTEGER
) STRICT;
CREATE TABLE undone(seq INTEGER PRIMARY KEY, undo INTEGER NOT NULL) STRICT;
CREATE INDEX undone_undo ON undone(undo);
CREATE TABLE units(
    seq INTEGER PRIMARY KEY, workspace TEXT NOT NULL, run_id TEXT, cause TEXT, undo INTEGER
) STRICT;
CREATE INDEX units_undo ON units(undo, seq) WHERE undo IS NOT NULL;
CREATE INDEX units_run ON units(run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX units_cause ON units(cause, seq);
CREATE INDEX units_workspace ON units(workspace, seq);
"""


class Unit(Struct, frozen=True):
    """What belongs together when it is taken back."""

    run: str | None
    cause: str | None
    seqs: tuple[int, ...]


class UndoProjector:
    """Keeps `undos`, `undone`, and `units`: one row for each event that can be taken back.

    What ChoirOS recorded by itself (a directory that stays because it holds what is not kept) is nobody's doing
    and not taken back.

    `units.undo` is the number of the undo that an event belongs to, when it took something back.
    """

    name = "undo"
    version = 1
    tables = ("undos", "undone", "units")
    schema = SCHEMA

    def __init__(self, reversible: frozenset[str], *, unplaced: frozenset[str] = frozenset()) -> None:
        """Take the types that can be taken back; those in `unplaced` are about workspaces, not inside one."""
        self._reversible = reversible
        self._unplaced = unplaced

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables from the state before these events to the state after them."""
        # What an undo caused follows it directly, so only the newest one can reach into this list of events.
        newest = tables.query("SELECT id, seq FROM undos ORDER BY seq DESC LIMIT 1")
        undos = {cast("str", name): cast("int", seq) for name, seq in newest}
        units: list[tuple[int, str, str | None, str | None, int | None]] = []
        for event in events:
            head = event.head
            if isinstance(event.payload, Undone):
                _insert(tables, units)
                units = []
                undos = {head.id: head.seq}
                _take_back(tables, event, event.payload)
            elif head.event_type in self._reversible and head.source != "system":
                placed = head.event_type not in self._unplaced
                workspace = str(getattr(event.payload, "workspace", "")) if placed else ""
                units.append((head.seq, workspace, head.run_id, head.cause, undos.get(head.cause or "")))
        _insert(tables, units)


def _insert(tables: Tables, units: Sequence[tuple[int, str, str | None, str | None, int | None]]) -> None:
    tables.run("INSERT INTO units VALUES (?, ?, ?, ?, ?)", units)


def _take_back(tables: Tables, event: Event, undo: Undone) -> None:
    tables.run(
        "INSERT INTO undos VALUES (?, ?, ?, ?, NULL)", [(event.seq, event.head.id, undo.target, undo.name)]
    )
    for first, last in undo.spans:
        # Events by which something was taken back are taken back: the undo they belong to no longer holds.
        lifted = tables.query(
            "SELECT DISTINCT undo FROM units WHERE undo IS NOT NULL AND seq BETWEEN ? AND ?", (first, last)
        )
        tables.run("UPDATE undos SET undone_by = ? WHERE seq = ?", [(event.seq, *row) for row in lifted])
        tables.run("DELETE FROM undone WHERE undo = ?", lifted)
        tables.run(
            "INSERT OR REPLACE INTO undone SELECT seq, ? FROM units WHERE seq BETWEEN ? AND ?",
            [(event.seq, first, last)],
        )


class UndoView:
    """Answers what an undo would mean."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def last_unit(self, workspace: str) -> Unit | None:
        """Return the newest change that is not taken back and is not itself part of an undo."""
        rows = self._tables.query(
            "SELECT run_id, cause FROM units WHERE workspace = ? AND undo IS NULL AND seq NOT IN "
            "(SELECT seq FROM undone) ORDER BY seq DESC LIMIT 1",
            (workspace,),
        )
        if not rows:
            return None
        run, cause = cast("tuple[str | None, str | None]", rows[0])
        return Unit(run, cause, self.of_run(run) if run is not None else self._of_cause(cause))

    def of_run(self, run: str) -> tuple[int, ...]:
        """Return the events of a run that can be taken back and are not."""
        return self._seqs(
            "SELECT seq FROM units WHERE run_id = ? AND seq NOT IN (SELECT seq FROM undone)", run
        )

    def _of_cause(self, cause: str | None) -> tuple[int, ...]:
        return self._seqs(
            "SELECT seq FROM units WHERE cause IS ? AND run_id IS NULL AND seq NOT IN (SELECT seq FROM undone)",
            cause,
        )

    def knows_run(self, run: str) -> bool:
        """Return whether a run has ever done something that can be taken back."""
        return bool(self._tables.query("SELECT 1 FROM units WHERE run_id = ? LIMIT 1", (run,)))

    def after(self, workspace: str, seq: int) -> tuple[int, ...]:
        """Return every event behind a number that can be taken back, undos included."""
        return self._seqs("SELECT seq FROM units WHERE workspace = ? AND seq > ?", workspace, seq)

    def compensations(self, undo: int) -> tuple[int, ...]:
        """Return the events by which an undo took something back."""
        return self._seqs("SELECT seq FROM units WHERE undo = ?", undo)

    def undone_by(self, seq: int) -> int | None:
        """Return the undo that holds for an event, if any."""
        return _number(self._tables.query("SELECT undo FROM undone WHERE seq = ?", (seq,)))

    def is_undo(self, seq: int) -> bool:
        """Return whether an event is an undo."""
        return bool(self._tables.query("SELECT 1 FROM undos WHERE seq = ?", (seq,)))

    def last_undo(self, workspace: str) -> int | None:
        """Return the newest undo in a workspace that is not itself taken back and is not a redo."""
        return _number(
            self._tables.query(
                "SELECT max(undos.seq) FROM undos JOIN units ON units.undo = undos.seq "
                "WHERE undone_by IS NULL AND target <> 'redo' AND workspace = ?",
                (workspace,),
            )
        )

    def _seqs(self, sql: str, *values: str | int | None) -> tuple[int, ...]:
        return tuple(cast("int", seq) for (seq,) in self._tables.query(sql + " ORDER BY seq", values))


def _number(rows: list[Row]) -> int | None:
    return cast("int | None", rows[0][0]) if rows else None
