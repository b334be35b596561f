"""Makes everything that is derived again from the log."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from choiros.features.audit.events import SnapshotKept
from choiros.features.files.view import ABOUT_FOLDERS
from choiros.kernel.errors import Corrupt, Rejected, Unavailable
from choiros.kernel.journal import Journal
from choiros.kernel.projector import ProjectorRunner, Stale
from choiros.kernel.reactor import CURSORS
from choiros.wiring.parts import Parts, projectors, registry

if TYPE_CHECKING:
    from choiros.kernel.tables import Cabinet, Snapshot, Tables
    from choiros.settings import Settings

NOT_DERIVED = ("reactors", *ABOUT_FOLDERS)
"""Tables in the same database that tell how far effects have come, which no log knows."""


class Rebuilt(Struct, frozen=True):
    """What a rebuild found: up to which event, from which snapshot, and the state hash of each view."""

    seq: int
    snapshot: int
    digests: dict[str, str]
    differed: tuple[str, ...]
    """The views whose former tables were not what the log gives."""


async def rebuild(parts: Parts, settings: Settings, *, full: bool = False) -> Rebuilt:
    """Make the tables again from the log beside the current ones, compare, then switch; the lock must be held.

    `full` reads the log from its beginning instead of from the newest snapshot that the log vouches for.
    """
    journal = Journal(parts.log, registry(), user=settings.user)
    is_whole = False
    try:
        rebuilt = await _made_beside(parts.cabinet, journal, full=full)
        is_whole = True
    finally:
        if not is_whole:
            # On a full disk, what such an attempt leaves behind would keep everything else from working.
            with suppress(Unavailable):
                parts.cabinet.drop(None)
    parts.cabinet.switch()
    return rebuilt


async def _made_beside(cabinet: Cabinet, journal: Journal, *, full: bool) -> Rebuilt:
    """Make the tables beside the current ones, and compare."""
    snapshot, tables = await _beginning(cabinet, journal, full=full)
    try:
        runner = _runner(journal, tables)
        runner.prepare()
        position = await runner.catch_up()
        digests = runner.digests()
        before = _take_over(cabinet, journal, fresh=tables, seq=position.seq)
    finally:
        tables.close()
    differed = tuple(name for name, digest in digests.items() if before.get(name, digest) != digest)
    return Rebuilt(position.seq, snapshot.seq if snapshot else 0, digests, differed)


async def _beginning(cabinet: Cabinet, journal: Journal, *, full: bool) -> tuple[Snapshot | None, Tables]:
    """Return tables to begin with: those of the newest snapshot that serves, or empty ones."""
    for snapshot in [] if full else await _vouched_for(cabinet, journal):
        with suppress(Corrupt):
            tables = cabinet.beside(snapshot)
            try:
                _runner(journal, tables).prepare()
            except (Corrupt, Stale, Rejected):
                # It is damaged all the same, or the views have another form now.
                tables.close()
                continue
            return snapshot, tables
    return None, cabinet.beside(None)


async def _vouched_for(cabinet: Cabinet, journal: Journal) -> list[Snapshot]:
    """Return the snapshots whose hash the log has recorded, the newest first."""
    head = (await journal.head()).seq
    found: list[Snapshot] = []
    for snapshot in cabinet.snapshots():
        if snapshot.seq < head:
            events = await journal.fetch(range(snapshot.seq + 1, snapshot.seq + 4))
            if SnapshotKept(snapshot.seq, snapshot.digest) in [event.payload for event in events]:
                found.append(snapshot)
    return found


def _take_over(cabinet: Cabinet, journal: Journal, *, fresh: Tables, seq: int) -> dict[str, str]:
    """Bring what the log cannot tell into the fresh tables; return the state hashes of the current ones.

    No hashes when the current tables cannot be read, or are not as new. What cannot be read, or is not there, is
    not known any more: the folders are looked at again, and reactors go on behind the newest event.
    """
    for table in NOT_DERIVED:
        fresh.run(f"DELETE FROM {table}", [()])
    fresh.run("INSERT INTO merging SELECT workspace FROM workspaces", [()])
    try:
        current = cabinet.open()
    except (Corrupt, Rejected):
        return {}
    try:
        runner = _runner(journal, current)
        runner.prepare()
        seen = runner.position().seq
        if seen:
            _copy(current, fresh)
        return runner.digests() if seen == seq else {}
    except (Corrupt, Stale, Rejected):
        return {}
    finally:
        current.close()


def _copy(current: Tables, fresh: Tables) -> None:
    with fresh.transaction():
        for table in NOT_DERIVED:
            rows = current.query(f"SELECT * FROM {table}")
            fresh.run(f"DELETE FROM {table}", [()])
            if rows:
                fresh.run(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def _runner(journal: Journal, tables: Tables) -> ProjectorRunner:
    tables.script(CURSORS)
    return ProjectorRunner(journal, tables, projectors=projectors(journal.registry))
