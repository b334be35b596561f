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
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, target TEXT NOT NULL, name TEXT NOT NULL, run_id TEXT,
    undone_by INTEGER
) STRICT;
CREATE TABLE undone(
    seq INTEGER NOT NULL, undo INTEGER NOT NULL, PRIMARY KEY (seq, undo)
) WITHOUT ROWID, STRICT;
CREATE INDEX undone_undo ON undone(undo);
CREATE TABLE units(
    seq INTEGER PRIMARY KEY, workspace TEXT NOT NULL, run_id TEXT, cause TEXT, undo INTEGER
) STRICT;
CREATE INDEX units_undo ON units(undo, seq) WHERE undo IS NOT NULL;
CREATE INDEX units_run ON units(run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX units_cause ON units(cause, seq) WHERE run_id IS NULL;
CREATE INDEX units_workspace ON units(workspace, seq);
CREATE TABLE finals(seq INTEGER PRIMARY KEY, workspace TEXT NOT NULL, run_id TEXT) STRICT;
CREATE INDEX finals_run ON finals(run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX finals_workspace ON finals(workspace, seq);
"""

_TAKEN_BACK = (
    "EXISTS (SELECT 1 FROM undone JOIN undos ON undos.seq = undone.undo "
    "WHERE undone.seq = units.seq AND undos.undone_by IS NULL)"
)
"""An event is taken back while one of the undos that took it back holds."""

_LIFTED_BY = f"""
SELECT max(undone.undo) FROM units JOIN undone ON undone.seq = units.seq JOIN undos ON undos.seq = undone.undo
WHERE units.undo = ?1 AND undos.undone_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM units WHERE undo = ?1 AND NOT {_TAKEN_BACK})
"""
"""An undo no longer holds when all by which it took something back is taken back itself."""

_OWN = (
    "EXISTS (SELECT 1 FROM undone JOIN undos ON undos.seq = undone.undo "
    "WHERE undone.seq = units.seq AND undos.undone_by IS NULL AND undos.run_id IS NOT ?)"
)
"""What a run did and took back itself is part of what it did; what others took back of it is done with."""


class Unit(Struct, frozen=True):
    """What belongs together when it is taken back."""

    run: str | None
    cause: str | None
    seqs: tuple[int, ...]


class UndoProjector:
    """Keeps `undos`, `undone`, `finals`, and `units`: one row for each event that can be taken back.

    What ChoirOS recorded by itself (a directory that stays because it holds what is not kept) is nobody's doing
    and not taken back.

    `units.undo` is the number of the undo that an event belongs to, when it took something back. `undos.undone_by`
    is NULL while an undo holds; `undone` names for each undo the events that are taken back while it holds.
    `finals` holds what can never be taken back.
    """

    name = "undo"
    version = 1
    tables = ("undos", "undone", "units", "finals")
    schema = SCHEMA

    def __init__(
        self,
        reversible: frozenset[str],
        *,
        unplaced: frozenset[str] = frozenset(),
        final: frozenset[str] = frozenset(),
    ) -> None:
        """Take the types that can be taken back, and those that never can.

        Those in `unplaced` are about workspaces, not inside one.
        """
        self._reversible = reversible
        self._unplaced = unplaced
        self._final = final

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables from the state before these events to the state after them."""
        # What an undo caused follows it directly, so only the newest one can reach into this list of events.
        newest = tables.query("SELECT id, seq FROM undos ORDER BY seq DESC LIMIT 1")
        undos = {cast("str", name): cast("int", seq) for name, seq in newest}
        units: list[tuple[int, str, str | None, str | None, int | None]] = []
        finals: list[tuple[int, str, str | None]] = []
        for event in events:
            head = event.head
            if isinstance(event.payload, Undone):
                _insert(tables, units)
                units = []
                undos = {head.id: head.seq}
                _take_back(tables, event, undo=event.payload)
            elif head.event_type in self._reversible and head.source != "system":
                undo = undos.get(head.cause or "")
                units.append((head.seq, self._workspace(event), head.run_id, head.cause, undo))
            elif head.event_type in self._final:
                finals.append((head.seq, self._workspace(event), head.run_id))
        _insert(tables, units)
        tables.run("INSERT INTO finals VALUES (?, ?, ?)", finals)

    def _workspace(self, event: Event) -> str:
        placed = event.head.event_type not in self._unplaced
        return str(getattr(event.payload, "workspace", "")) if placed else ""


def _insert(tables: Tables, units: Sequence[tuple[int, str, str | None, str | None, int | None]]) -> None:
    tables.run("INSERT INTO units VALUES (?, ?, ?, ?, ?)", units)


def _take_back(tables: Tables, event: Event, *, undo: Undone) -> None:
    row = (event.seq, event.head.id, undo.target, undo.name, event.head.run_id)
    tables.run("INSERT INTO undos VALUES (?, ?, ?, ?, ?, NULL)", [row])
    tables.run(
        "INSERT OR IGNORE INTO undone SELECT seq, ? FROM units WHERE seq BETWEEN ? AND ?",
        [(event.seq, first, last) for first, last in undo.spans],
    )
    # Each undo is settled after the newer ones, because only those can lift it.
    waiting = _reached(tables, event.seq)
    while waiting:
        older = max(waiting)
        waiting.remove(older)
        before = _number(tables.query("SELECT undone_by FROM undos WHERE seq = ?", (older,)))
        by = _number(tables.query(_LIFTED_BY, (older,)))
        tables.run("UPDATE undos SET undone_by = ? WHERE seq = ?", [(by, older)])
        if (by is None) != (before is None):
            waiting |= _reached(tables, older)


def _reached(tables: Tables, undo: int) -> set[int]:
    """Return the undos that an undo took back, wholly or in part."""
    rows = tables.query(
        "SELECT DISTINCT units.undo FROM undone JOIN units ON units.seq = undone.seq "
        "WHERE undone.undo = ? AND units.undo IS NOT NULL",
        (undo,),
    )
    return {cast("int", older) for (older,) in rows}


class UndoView:
    """Answers what an undo would mean."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def last_unit(self, workspace: str) -> Unit | None:
        """Return the newest change that is not taken back and is not itself part of an undo."""
        rows = self._tables.query(
            f"SELECT run_id, cause FROM units WHERE workspace = ? AND undo IS NULL AND NOT {_TAKEN_BACK} "
            "ORDER BY seq DESC LIMIT 1",
            (workspace,),
        )
        if not rows:
            return None
        run, cause = cast("tuple[str | None, str | None]", rows[0])
        return Unit(run, cause, self._of_cause(cause) if run is None else self.of_run(run, workspace))

    def of_run(self, run: str, workspace: str) -> tuple[int, ...]:
        """Return what a run did in a workspace, and to workspaces, and nobody else has taken back."""
        return self._seqs(
            f"SELECT seq FROM units WHERE run_id = ? AND workspace IN (?, '') AND NOT {_OWN}",
            *(run, workspace, run),
        )

    def _of_cause(self, cause: str | None) -> tuple[int, ...]:
        return self._seqs(
            f"SELECT seq FROM units WHERE cause IS ? AND run_id IS NULL AND NOT {_TAKEN_BACK}", cause
        )

    def knows_run(self, run: str, workspace: str) -> bool:
        """Return whether a run has ever done something there that can be taken back."""
        return bool(
            self._tables.query(
                "SELECT 1 FROM units WHERE run_id = ? AND workspace IN (?, '') LIMIT 1", (run, workspace)
            )
        )

    def finals(self, workspace: str, *, run: str | None = None, after: int = 0) -> tuple[int, ...]:
        """Return what can never be taken back, in a workspace behind a number, or of one run."""
        if run is not None:
            return self._seqs(
                "SELECT seq FROM finals WHERE run_id = ? AND workspace IN (?, '')", run, workspace
            )
        return self._seqs("SELECT seq FROM finals WHERE workspace = ? AND seq > ?", workspace, after)

    def workspace_of(self, seq: int) -> str | None:
        """Return where an event happened, '' when it is about workspaces; None if it cannot be taken back."""
        rows = self._tables.query("SELECT workspace FROM units WHERE seq = ? OR undo = ? LIMIT 1", (seq, seq))
        return cast("str", rows[0][0]) if rows else None

    def after(self, workspace: str, seq: int) -> tuple[int, ...]:
        """Return every event behind a number that can be taken back, undos included."""
        return self._seqs("SELECT seq FROM units WHERE workspace = ? AND seq > ?", workspace, seq)

    def compensations(self, undo: int) -> tuple[int, ...]:
        """Return the events by which an undo took something back."""
        return self._seqs("SELECT seq FROM units WHERE undo = ?", undo)

    def undone_by(self, seq: int) -> int | None:
        """Return the undo that holds for an event, or that took back an undo, if any."""
        if self.is_undo(seq):
            return _number(self._tables.query("SELECT undone_by FROM undos WHERE seq = ?", (seq,)))
        return _number(
            self._tables.query(
                "SELECT max(undo) FROM undone JOIN undos ON undos.seq = undone.undo "
                "WHERE undone.seq = ? AND undone_by IS NULL",
                (seq,),
            )
        )

    def is_undo(self, seq: int) -> bool:
        """Return whether an event is an undo."""
        return bool(self._tables.query("SELECT 1 FROM undos WHERE seq = ?", (seq,)))

    def last_undo(self, workspace: str) -> int | None:
        """Return the newest undo in a workspace that is not itself taken back and is not a redo."""
        return _number(
            self._tables.query(
                "SELECT seq FROM undos WHERE undone_by IS NULL AND target <> 'redo' AND EXISTS "
                "(SELECT 1 FROM units WHERE undo = undos.seq AND workspace = ?) ORDER BY seq DESC LIMIT 1",
                (workspace,),
            )
        )

    def _seqs(self, sql: str, *values: str | int | None) -> tuple[int, ...]:
        return tuple(cast("int", seq) for (seq,) in self._tables.query(sql + " ORDER BY seq", values))


def _number(rows: list[Row]) -> int | None:
    return cast("int | None", rows[0][0]) if rows else None
