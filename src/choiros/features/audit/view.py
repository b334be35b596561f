"""The index of the log: one row for each event, for finding them by type, run, cause or time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from choiros.kernel.event import Event
from choiros.kernel.gate import VerdictRecorded
from choiros.kernel.tables import Tables, Value

SCHEMA = """
CREATE TABLE events(
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, timestamp INTEGER NOT NULL, source TEXT NOT NULL,
    event_type TEXT NOT NULL, session_id TEXT, run_id TEXT, cause TEXT, workspace TEXT, routine INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_id ON events(id);
CREATE INDEX events_type ON events(event_type, seq);
CREATE INDEX events_workspace ON events(workspace, seq) WHERE workspace IS NOT NULL;
CREATE INDEX events_run ON events(run_id, seq) WHERE run_id IS NOT NULL;
"""


CONSEQUENCES_WITHIN = 20_000
"""How many events behind a cause its consequences are looked for."""


class EventFilter(Struct, frozen=True):
    """Which events are wanted; what is left out does not matter.

    `event_type` may end in `.*` for all types that begin so.
    """

    after: int = 0
    until: int | None = None
    event_type: str | None = None
    source: str | None = None
    run: str | None = None
    session: str | None = None
    workspace: str | None = None
    routine: bool = True
    """Whether verdicts that allowed something are wanted; what they led to is there anyway."""


class AuditProjector:
    """Keeps `events`."""

    name = "audit"
    version = 1
    tables = ("events",)
    schema = SCHEMA

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the table from the state before these events to the state after them."""
        tables.run("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_row, events))


def is_routine(event: Event) -> bool:
    """Return whether an event only says that the gate allowed what follows it."""
    return isinstance(event.payload, VerdictRecorded) and event.payload.answer == "allow"


def _row(event: Event) -> tuple[Value, ...]:
    head = event.head
    workspace = getattr(event.payload, "workspace", None)
    return (
        head.seq,
        head.id,
        head.timestamp,
        head.source,
        head.event_type,
        head.session_id,
        head.run_id,
        head.cause,
        workspace if isinstance(workspace, str) else None,
        int(is_routine(event)),
    )


class AuditView:
    """Finds events."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def find(
        self, wanted: EventFilter, *, limit: int, newest: bool = False, among: Sequence[int] | None = None
    ) -> list[int]:
        """Return the numbers of matching events in ascending order: the first ones, or the newest ones.

        `among` gives numbers outside which nothing is wanted.
        """
        where, values = _where(wanted)
        if among is not None:
            where += " AND events.seq IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(list(among)))
        order = "DESC" if newest else "ASC"
        rows = self._tables.query(
            f"SELECT seq FROM events WHERE {where} ORDER BY seq {order} LIMIT ?", [*values, limit]
        )
        return sorted(cast("int", seq) for (seq,) in rows)

    def seq_of(self, event_id: str) -> int | None:
        """Return the number of the event with this id."""
        rows = self._tables.query("SELECT seq FROM events WHERE id = ?", (event_id,))
        return cast("int", rows[0][0]) if rows else None

    def time_of(self, seq: int) -> int | None:
        """Return when an event happened, None when there is no such event."""
        rows = self._tables.query("SELECT timestamp FROM events WHERE seq = ?", (seq,))
        return cast("int", rows[0][0]) if rows else None

    def caused_by(self, event_id: str, seq: int) -> list[int]:
        """Return the numbers of the events that name event `seq` with this id as their direct cause.

        What an event causes follows it closely, so only the next events are looked at.
        """
        rows = self._tables.query(
            "SELECT seq FROM events WHERE seq > ? AND seq <= ? AND cause = ? ORDER BY seq",
            (seq, seq + CONSEQUENCES_WITHIN, event_id),
        )
        return [cast("int", found) for (found,) in rows]

    def changes(self, workspace: str, after: int, *, limit: int) -> tuple[int, int]:
        """Return how many changes of files came behind an event, at most `limit`, and the time of the first."""
        rows = self._tables.query(
            "SELECT count(*), min(timestamp) FROM (SELECT timestamp FROM events WHERE workspace = ? AND seq > ? AND "
            "event_type IN ('file.write', 'file.delete', 'file.move') ORDER BY seq LIMIT ?)",
            (workspace, after, limit),
        )
        count, first = cast("tuple[int, int | None]", rows[0])
        return count, first or 0

    def count(self) -> int:
        """Return how many events there are."""
        return cast("int", self._tables.query("SELECT count(*) FROM events")[0][0])


def _where(wanted: EventFilter) -> tuple[str, list[Value]]:
    parts: list[str] = ["events.seq > ?"]
    values: list[Value] = [wanted.after]
    if wanted.until is not None:
        parts.append("events.seq <= ?")
        values.append(wanted.until)
    if wanted.event_type is not None and wanted.event_type.endswith(".*"):
        stem = wanted.event_type[:-1]
        parts.append("event_type >= ? AND event_type < ?")
        values += [stem, stem[:-1] + "/"]
    elif wanted.event_type is not None:
        parts.append("event_type = ?")
        values.append(wanted.event_type)
    if not wanted.routine:
        parts.append("routine = 0")
    columns = {"source": wanted.source, "run_id": wanted.run, "session_id": wanted.session}
    for column, value in {**columns, "events.workspace": wanted.workspace}.items():
        if value is not None:
            parts.append(f"{column} = ?")
            values.append(value)
    return " AND ".join(parts), values
