"""Makes everything that is derived again from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from choiros.features.audit.events import SnapshotKept
from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.journal import Journal
from choiros.kernel.projector import ProjectorRunner, Stale
from choiros.wiring.parts import Parts, projectors, registry

if TYPE_CHECKING:
    from choiros.kernel.tables import Cabinet, Snapshot, Tables
    from choiros.settings import Settings


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
    snapshot = None if full else await _trusted_snapshot(parts.cabinet, journal)
    tables = _beside(parts.cabinet, snapshot)
    try:
        runner = ProjectorRunner(journal, tables, projectors=projectors(journal.registry))
        runner.prepare()
        position = await runner.catch_up()
        digests = runner.digests()
    finally:
        tables.close()
    before = _digests_now(parts.cabinet, journal, seq=position.seq)
    parts.cabinet.switch()
    differed = tuple(name for name, digest in digests.items() if before.get(name, digest) != digest)
    return Rebuilt(position.seq, snapshot.seq if snapshot else 0, digests, differed)


def _beside(cabinet: Cabinet, snapshot: Snapshot | None) -> Tables:
    try:
        return cabinet.beside(snapshot)
    except Corrupt:
        return cabinet.beside(None)


async def _trusted_snapshot(cabinet: Cabinet, journal: Journal) -> Snapshot | None:
    """Return the newest snapshot whose hash the log has recorded."""
    head = (await journal.head()).seq
    for snapshot in cabinet.snapshots():
        if snapshot.seq < head:
            events = await journal.fetch(range(snapshot.seq + 1, snapshot.seq + 4))
            payloads = [event.payload for event in events]
            if SnapshotKept(snapshot.seq, snapshot.digest) in payloads:
                return snapshot
    return None


def _digests_now(cabinet: Cabinet, journal: Journal, *, seq: int) -> dict[str, str]:
    """Return the state hashes of the current tables when they can be read and are just as new."""
    try:
        tables = cabinet.open()
    except (Corrupt, Rejected):
        return {}
    try:
        runner = ProjectorRunner(journal, tables, projectors=projectors(journal.registry))
        runner.prepare()
        return runner.digests() if runner.position().seq == seq else {}
    except (Stale, Rejected):
        return {}
    finally:
        tables.close()
