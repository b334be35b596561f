"""Conversations as tables: sessions, their messages and tool calls, and the runs."""

from __future__ import annotations

from collections.abc import Sequence

from choiros.features.sessions.events import (
    MessageAdded,
    RunChanged,
    SessionStarted,
    ToolAnswered,
    ToolCalled,
)
from choiros.kernel.event import Event
from choiros.kernel.tables import Tables

SCHEMA = """
CREATE TABLE sessions(
    session_id TEXT PRIMARY KEY, title TEXT NOT NULL, workspace TEXT NOT NULL, seq INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE conversations(
    session_id TEXT PRIMARY KEY, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, messages INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE messages(
    seq INTEGER PRIMARY KEY, session_id TEXT NOT NULL, run_id TEXT, role TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE INDEX messages_session ON messages(session_id, seq);
CREATE TABLE tool_calls(
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL, session_id TEXT, run_id TEXT, tool TEXT NOT NULL,
    arguments TEXT NOT NULL, outcome TEXT, result TEXT, answered INTEGER
) WITHOUT ROWID, STRICT;
CREATE TABLE runs(
    run_id TEXT PRIMARY KEY, session_id TEXT, state TEXT NOT NULL, reason TEXT NOT NULL, first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
"""

_CONVERSED = """
INSERT INTO conversations VALUES (?1, ?2, ?2, 1)
ON CONFLICT (session_id) DO UPDATE SET last_seq = ?2, messages = messages + 1
"""
_RUN = """
INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?5)
ON CONFLICT (run_id) DO UPDATE SET state = ?3, reason = ?4, last_seq = ?5
"""


_FACTS = frozenset({SessionStarted, MessageAdded, ToolCalled, ToolAnswered, RunChanged})
"""The facts this view is about; matching all others against every case would cost more than the rest."""


class SessionsProjector:
    """Keeps `sessions`, `conversations`, `messages`, `tool_calls` and `runs`."""

    name = "sessions"
    version = 1
    tables = ("sessions", "conversations", "messages", "tool_calls", "runs")
    schema = SCHEMA

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables from the state before these events to the state after them."""
        for event in (one for one in events if type(one.payload) in _FACTS):
            head = event.head
            match event.payload:
                case SessionStarted(title, workspace):
                    row = (head.session_id or head.id, title, workspace, head.seq)
                    tables.run("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)", [row])
                case MessageAdded(role, text):
                    session = head.session_id or ""
                    tables.run(
                        "INSERT INTO messages VALUES (?, ?, ?, ?, ?)",
                        [(head.seq, session, head.run_id, role, text)],
                    )
                    tables.run(_CONVERSED, [(session, head.seq)])
                case ToolCalled(tool, arguments):
                    row = (head.id, head.seq, head.session_id, head.run_id, tool, arguments)
                    tables.run("INSERT INTO tool_calls VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)", [row])
                case ToolAnswered(call, outcome, result):
                    sql = "UPDATE tool_calls SET outcome = ?, result = ?, answered = ? WHERE id = ? AND outcome IS NULL"
                    tables.run(sql, [(outcome, result, head.seq, call)])
                case RunChanged(state, reason) if head.run_id is not None:
                    tables.run(_RUN, [(head.run_id, head.session_id, state, reason, head.seq)])
                case _:
                    pass
