"""The checkpoints of every workspace with their commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from choiros.features.checkpoints.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointMade,
    PushDone,
    PushRequested,
)
from choiros.features.effects.events import EffectUnknown
from choiros.kernel.event import Event
from choiros.kernel.tables import Row, Tables

SCHEMA = """
CREATE TABLE checkpoints(
    seq INTEGER PRIMARY KEY, workspace TEXT NOT NULL, timestamp INTEGER NOT NULL, message TEXT NOT NULL,
    automatic INTEGER NOT NULL, commit_id TEXT, error TEXT
) STRICT;
CREATE INDEX checkpoints_workspace ON checkpoints(workspace, seq);
CREATE TABLE pushes(
    seq INTEGER PRIMARY KEY, workspace TEXT NOT NULL, commit_id TEXT NOT NULL, url TEXT NOT NULL,
    branch TEXT NOT NULL, done INTEGER, error TEXT
) STRICT;
"""


class Checkpoint(Struct, frozen=True):
    """One checkpoint; `commit` is None while, or because, there is no commit."""

    seq: int
    workspace: str
    timestamp: int
    message: str
    automatic: bool
    commit: str | None
    error: str | None


_FACTS = frozenset(
    {CheckpointMade, CheckpointCommitted, CheckpointFailed, PushRequested, PushDone, EffectUnknown}
)
"""The facts this view is about; matching all others against every case would cost more than the rest."""


class CheckpointsProjector:
    """Keeps `checkpoints` and `pushes`."""

    name = "checkpoints"
    version = 1
    tables = ("checkpoints", "pushes")
    schema = SCHEMA

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables from the state before these events to the state after them."""
        for event in (one for one in events if type(one.payload) in _FACTS):
            match event.payload:
                case CheckpointMade(workspace, message, automatic):
                    row = (event.seq, workspace, event.head.timestamp, message, int(automatic))
                    tables.run("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, NULL, NULL)", [row])
                case CheckpointCommitted(_, checkpoint, commit):
                    sql = "UPDATE checkpoints SET commit_id = ?, error = NULL WHERE seq = ?"
                    tables.run(sql, [(commit, checkpoint)])
                case CheckpointFailed(_, checkpoint, reason):
                    tables.run("UPDATE checkpoints SET error = ? WHERE seq = ?", [(reason, checkpoint)])
                case PushRequested(workspace, commit, url, branch):
                    row = (event.seq, workspace, commit, url, branch)
                    tables.run("INSERT INTO pushes VALUES (?, ?, ?, ?, ?, NULL, NULL)", [row])
                case EffectUnknown(intent, "checkpoint.push"):
                    row = (event.seq, UNKNOWN, intent)
                    tables.run("UPDATE pushes SET done = ?, error = ? WHERE seq = ?", [row])
                case PushDone(_, request, _, error):
                    tables.run(
                        "UPDATE pushes SET done = ?, error = ? WHERE seq = ?", [(event.seq, error, request)]
                    )
                case _:
                    pass


UNKNOWN = (
    "The program ended in the middle of it. Look there whether the commit has arrived; if not, push again."
)


class CheckpointsView:
    """Answers questions about checkpoints."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def all(self, workspace: str, limit: int = 100) -> list[Checkpoint]:
        """Return the newest checkpoints of a workspace, the newest first."""
        sql = "SELECT * FROM checkpoints WHERE workspace = ? ORDER BY seq DESC LIMIT ?"
        return [_checkpoint(row) for row in self._tables.query(sql, (workspace, limit))]

    def last(self, workspace: str) -> Checkpoint | None:
        """Return the newest checkpoint of a workspace."""
        found = self.all(workspace, 1)
        return found[0] if found else None

    def get(self, seq: int) -> Checkpoint | None:
        """Return the checkpoint that an event made."""
        rows = self._tables.query("SELECT * FROM checkpoints WHERE seq = ?", (seq,))
        return _checkpoint(rows[0]) if rows else None

    def is_ended(self, seq: int) -> bool:
        """Return whether it is recorded what became of the commit of a checkpoint."""
        found = self.get(seq)
        return found is not None and bool(found.commit or found.error)

    def open_since(self) -> int | None:
        """Return the number of the oldest checkpoint or push of which no outcome is recorded."""
        sql = """
            SELECT MIN(seq) FROM (
                SELECT seq FROM checkpoints WHERE commit_id IS NULL AND error IS NULL
                UNION ALL SELECT seq FROM pushes WHERE done IS NULL
            )
        """
        return cast("int | None", self._tables.query(sql)[0][0])

    def push_error(self, seq: int) -> str | None:
        """Return why the push that an event announced failed; None when it arrived or has not ended."""
        rows = self._tables.query("SELECT error FROM pushes WHERE seq = ?", (seq,))
        return cast("str | None", rows[0][0]) or None if rows else None

    def is_push_ended(self, seq: int) -> bool:
        """Return whether it is recorded what became of the push that an event announced."""
        return bool(self._tables.query("SELECT 1 FROM pushes WHERE seq = ? AND done IS NOT NULL", (seq,)))

    def pushed(self, workspace: str, url: str) -> list[str]:
        """Return the commits that have arrived at another repository."""
        sql = (
            "SELECT commit_id FROM pushes WHERE workspace = ? AND url = ? AND done IS NOT NULL AND error = ''"
        )
        return [cast("str", commit) for (commit,) in self._tables.query(sql, (workspace, url))]


def _checkpoint(row: Row) -> Checkpoint:
    seq, workspace, timestamp, message, automatic, commit, error = cast(
        "tuple[int, str, int, str, int, str | None, str | None]", row
    )
    return Checkpoint(seq, workspace, timestamp, message, bool(automatic), commit, error)
