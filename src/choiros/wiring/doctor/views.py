"""The views as they are kept, compared with those made beside from the log; and the snapshots of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from choiros.engines.tables.sqlite import integrity
from choiros.features.audit.events import SnapshotKept
from choiros.features.files.view import ShownTable
from choiros.kernel.errors import ChoirError
from choiros.kernel.event import Point
from choiros.wiring.computer import Computer
from choiros.wiring.doctor.case import Case, LeftOut, Looked
from choiros.wiring.doctor.finding import Finding, found
from choiros.wiring.doctor.log import kept_tables
from choiros.wiring.parts import projectors, registry

if TYPE_CHECKING:
    from choiros.kernel.tables import Tables

DIGEST_LENGTH = 64


class Kept(NamedTuple):
    """One view as it is kept: its version, how far it has come, and the hash of what it holds."""

    version: int
    seen: Point
    digest: str


async def look_at_projections(case: Case) -> Looked:
    """Compare version, position and content of every kept view with what the log gives."""
    case.steady()
    path = case.data / "state.sqlite"
    try:
        tables = kept_tables(case)
        case.shown = ShownTable(tables)
        kept = _kept(tables)
    except LeftOut:
        head = case.told.head.seq if case.told else 0
        findings = (
            [found("projections.missing", "There is no state.sqlite.", where=str(path))] if head else []
        )
        return Looked(findings, "none yet")
    except ChoirError as error:
        case.shown = None
        code = "versions.newer_state" if error.code == "state.newer" else "projections.damaged"
        return Looked([found(code, error.message, where=str(path))], "cannot be read")
    damage = [
        found("projections.damaged", f"SQLite says: {line}.", where=str(path)) for line in integrity(path)
    ]
    if case.computer is None and not damage:
        # The log gives none: what is kept is the best that is known.
        case.computer = Computer(case.needed(), case.resolved.settings, tables=tables)
    return Looked([*damage, *_compared(case, kept, where=str(path))], f"views: {len(kept)}")


def _kept(tables: Tables) -> dict[str, Kept]:
    names = {one.name: one.tables for one in projectors(registry())}
    kept: dict[str, Kept] = {}
    for name, version, seq, digest in tables.query("SELECT name, version, seq, hash FROM projections"):
        assert isinstance(name, str)
        assert isinstance(version, int)
        assert isinstance(seq, int)
        assert isinstance(digest, bytes)
        kept[name] = Kept(version, Point(seq, digest), tables.digest(names[name]) if name in names else "")
    tables.query("SELECT 1 FROM shown LIMIT 1")
    return kept


def _compared(case: Case, kept: Mapping[str, Kept], *, where: str) -> list[Finding]:
    told = case.told
    versions = {one.name: one.version for one in projectors(registry())}
    made = case.computer if told is not None and told.is_whole and told.views_problem is None else None
    digests = made.projectors.digests() if made is not None else {}
    if told is not None and told.views_problem is not None:
        raise LeftOut(f"the views could not be made beside: {told.views_problem.message}")
    return compare(kept, versions, head=told.head if told else None, digests=digests, where=where)


def compare(
    kept: Mapping[str, Kept],
    versions: Mapping[str, int],
    *,
    head: Point | None,
    digests: Mapping[str, str],
    where: str,
) -> list[Finding]:
    """Return what the kept views are not: of this version, as far as the log, and what the log gives."""
    findings: list[Finding] = []
    for name, version in versions.items():
        one = kept.get(name)
        if one is None or one.version < version:
            what = f"The view '{name}' is {'not there' if one is None else 'of an older form'}."
            findings.append(found("projections.older", what, where=where))
        elif one.version > version:
            what = f"The view '{name}' has version {one.version}; this program knows version {version}."
            findings.append(found("versions.newer_state", what, where=where))
        elif head is not None:
            findings += _compare_one(name, one, head=head, digest=digests.get(name, one.digest))
    return findings


def _compare_one(name: str, one: Kept, *, head: Point, digest: str) -> list[Finding]:
    if one.seen == head:
        if one.digest == digest:
            return []
        what = f"The view '{name}' has the state hash {one.digest[:16]}, and the log gives {digest[:16]}."
        return [found("projections.differs", what, where=name)]
    if one.seen.seq < head.seq:
        what = f"The view '{name}' has seen event {one.seen.seq} of {head.seq}."
        return [found("projections.behind", what, where=name)]
    what = f"The log ends at event {head.seq}, but the view '{name}' has seen event {one.seen.seq}."
    return [found("projections.ahead", what, where=f"event {one.seen.seq}")]


async def look_at_snapshots(case: Case) -> Looked:
    """Compare each snapshot with the hash in its name, and that with what the log has recorded of it."""
    told = case.read()
    if not told.is_whole:
        raise LeftOut("the log cannot be read whole")
    folder = case.data / "snapshots"
    findings: list[Finding] = []
    count = 0
    for path in sorted(folder.glob("*.sqlite")):
        seq, _, digest = path.stem.partition("-")
        if not seq.isdigit() or len(digest) != DIGEST_LENGTH or not path.is_file():
            continue
        count += 1
        case.progress("snapshots", count, count)
        if _digest(path) != digest:
            findings.append(
                found(
                    "snapshots.damaged",
                    f"The snapshot of event {int(seq)} is not what was kept.",
                    where=str(path),
                )
            )
        elif not await _is_vouched_for(case, int(seq), digest=digest):
            what = f"No event says that this snapshot of event {int(seq)} was kept."
            findings.append(found("snapshots.unvouched", what, where=str(path)))
    return Looked(findings, f"kept: {count}")


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


async def _is_vouched_for(case: Case, seq: int, *, digest: str) -> bool:
    if seq >= case.read().head.seq or case.computer is None:
        return False
    events = await case.computer.journal.fetch(range(seq + 1, seq + 4))
    return SnapshotKept(seq, digest) in [event.payload for event in events]
