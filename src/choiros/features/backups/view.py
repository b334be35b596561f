"""Which backups were made and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone
from choiros.kernel.event import Event
from choiros.kernel.tables import Tables

SCHEMA = """
CREATE TABLE backups(
    seq INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL, file TEXT NOT NULL, sha256 TEXT NOT NULL,
    error TEXT NOT NULL
) STRICT;
CREATE TABLE backup_drills(
    seq INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL, file TEXT NOT NULL, error TEXT NOT NULL
) STRICT;
"""


class Attempt(Struct, frozen=True):
    """One attempt at a backup; `error` is empty when it was made."""

    seq: int
    timestamp: int
    file: str
    sha256: str
    error: str


class Drill(Struct, frozen=True):
    """One drill; `error` is empty when the backup could be restored."""

    seq: int
    timestamp: int
    file: str
    error: str


class BackupsProjector:
    """Keeps `backups` and `backup_drills`."""

    name = "backups"
    version = 1
    tables = ("backups", "backup_drills")
    schema = SCHEMA

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables from the state before these events to the state after them."""
        for event in (one for one in events if one.head.event_type in _TYPES):
            seq, time = event.seq, event.head.timestamp
            match event.payload:
                case BackupMade(file, sha256):
                    tables.run("INSERT INTO backups VALUES (?, ?, ?, ?, '')", [(seq, time, file, sha256)])
                case BackupFailed(reason):
                    tables.run("INSERT INTO backups VALUES (?, ?, '', '', ?)", [(seq, time, reason)])
                case DrillDone(file, _, ok, reason):
                    error = "" if ok else reason or "unknown"
                    tables.run("INSERT INTO backup_drills VALUES (?, ?, ?, ?)", [(seq, time, file, error)])
                case _:
                    pass


_TYPES = frozenset({"backup.make", "backup.fail", "backup.drill"})


class BackupsView:
    """Answers questions about backups."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def newest(self) -> Attempt | None:
        """Return the newest attempt."""
        rows = self._tables.query(
            "SELECT seq, timestamp, file, sha256, error FROM backups ORDER BY seq DESC LIMIT 1"
        )
        return _attempt(rows[0]) if rows else None

    def made(self) -> dict[str, Attempt]:
        """Return every backup that was ever made, by the name of its file."""
        rows = self._tables.query(
            "SELECT seq, timestamp, file, sha256, error FROM backups WHERE error = '' ORDER BY seq"
        )
        found = [_attempt(row) for row in rows]
        return {one.file.rpartition("/")[2]: one for one in found}

    def drills(self) -> dict[str, Drill]:
        """Return the newest drill of each backup, by the name of its file."""
        rows = self._tables.query("SELECT seq, timestamp, file, error FROM backup_drills ORDER BY seq")
        found = [Drill(*cast("tuple[int, int, str, str]", row)) for row in rows]
        return {one.file.rpartition("/")[2]: one for one in found}


def _attempt(row: Sequence[object]) -> Attempt:
    return Attempt(*cast("tuple[int, int, str, str, str]", tuple(row)))
