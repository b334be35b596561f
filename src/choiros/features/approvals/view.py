"""Which questions are open, answered, or used up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from msgspec import Struct

from choiros.features.approvals.events import ApprovalDecided
from choiros.kernel.event import Event
from choiros.kernel.gate import ApprovalRequested, VerdictRecorded
from choiros.kernel.tables import Row, Tables

State = Literal["pending", "allowed", "denied", "used"]

SCHEMA = """
CREATE TABLE approvals(
    request TEXT PRIMARY KEY, seq INTEGER NOT NULL, command TEXT NOT NULL, digest TEXT NOT NULL,
    reasons TEXT NOT NULL, state TEXT NOT NULL, decided INTEGER, used INTEGER, recorded TEXT NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX approvals_state ON approvals(state, seq);
"""


class Approval(Struct, frozen=True):
    """One question and what became of it; the numbers are those of the events that asked, answered and used it."""

    request: str
    seq: int
    command: str
    digest: str
    reasons: str
    state: State
    decided: int | None
    used: int | None
    recorded: str
    """The command as JSON."""


_FACTS = frozenset({ApprovalRequested, ApprovalDecided, VerdictRecorded})
"""The facts this view is about; matching all others against every case would cost more than the rest."""


class ApprovalsProjector:
    """Keeps `approvals`."""

    name = "approvals"
    version = 1
    tables = ("approvals",)
    schema = SCHEMA

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the table from the state before these events to the state after them."""
        for event in (one for one in events if type(one.payload) in _FACTS):
            match event.payload:
                case ApprovalRequested(command, digest, recorded, _, reasons):
                    row = (event.head.id, event.seq, command, digest, reasons, recorded)
                    tables.run(
                        "INSERT INTO approvals VALUES (?, ?, ?, ?, ?, 'pending', NULL, NULL, ?)", [row]
                    )
                case ApprovalDecided(request, answer):
                    state = "allowed" if answer == "allow" else "denied"
                    sql = (
                        "UPDATE approvals SET state = ?, decided = ? WHERE request = ? AND state = 'pending'"
                    )
                    tables.run(sql, [(state, event.seq, request)])
                case VerdictRecorded(approval=str(request)):
                    sql = "UPDATE approvals SET state = 'used', used = ? WHERE request = ? AND state = 'allowed'"
                    tables.run(sql, [(event.seq, request)])
                case _:
                    pass


class ApprovalsView:
    """Answers questions about questions."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, request: str) -> Approval | None:
        """Return the request with this id."""
        rows = self._tables.query("SELECT * FROM approvals WHERE request = ?", (request,))
        return _approval(rows[0]) if rows else None

    def pending(self) -> list[Approval]:
        """Return the requests that nobody has answered, the oldest first."""
        rows = self._tables.query("SELECT * FROM approvals WHERE state = 'pending' ORDER BY seq")
        return [_approval(row) for row in rows]

    def unfinished(self) -> list[Approval]:
        """Return the requests that may still lead to something: open ones, and allowed ones nobody has used."""
        rows = self._tables.query(
            "SELECT * FROM approvals WHERE state IN ('pending', 'allowed') ORDER BY seq"
        )
        return [_approval(row) for row in rows]

    def granted(self, request: str) -> str | None:
        """Return the digest that a person has allowed under this request and nobody has used, else None."""
        found = self.get(request)
        return found.digest if found is not None and found.state == "allowed" else None


def _approval(row: Row) -> Approval:
    return Approval(*cast("tuple[str, int, str, str, str, State, int | None, int | None, str]", row))
