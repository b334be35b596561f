"""The log as a file and as a chain: whether it opens, whether SQLite finds it whole, whether every event verifies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.engines.tables.sqlite import SqliteTables, integrity
from choiros.kernel.errors import ChoirError, Corrupt
from choiros.kernel.projector import ProjectorRunner
from choiros.wiring.computer import Computer
from choiros.wiring.doctor.case import Case, LeftOut, Looked
from choiros.wiring.doctor.finding import Finding, found
from choiros.wiring.doctor.reading import read_log
from choiros.wiring.doctor.told import Told
from choiros.wiring.parts import projectors

if TYPE_CHECKING:
    from choiros.kernel.tables import Tables


async def look_at_log(case: Case) -> Looked:
    """Look at the file: there, opening, of a known format, whole for SQLite."""
    parts = case.needed()
    path = case.data / "log.db"
    if not path.exists():
        others = [name for name in ("state.sqlite", "blobs", "git") if (case.data / name).exists()]
        if others:
            what = f"There is no log, but {', '.join(others)} beside it."
            return Looked([found("log.missing", what, where=str(path))], "missing")
        return Looked([], "nothing was recorded yet")
    try:
        head = await parts.log.head(case.user)
    except ChoirError as error:
        code = "versions.newer_log" if error.code == "log.newer" else "log.unopened"
        return Looked([found(code, error.message, where=str(path))], "cannot be opened")
    case.told = Told()
    case.told.head = head
    findings = [found("log.integrity", f"SQLite says: {line}.", where=str(path)) for line in integrity(path)]
    return Looked(findings, f"events: {head.seq:,}, in {path.stat().st_size:,} bytes")


async def look_at_chain(case: Case) -> Looked:
    """Verify every event, and make every view beside, in a folder that is thrown away."""
    case.read()
    tables = SqliteTables(case.scratch / "views.sqlite")
    computer = Computer(case.needed(), case.resolved.settings, tables=tables)
    runner = ProjectorRunner(computer.journal, tables, projectors=projectors(computer.journal.registry))
    told = case.told = await read_log(computer.journal, runner, progress=case.progress)
    if told.is_whole and told.views_problem is None:
        case.computer = computer
    findings = [_break(fault) for fault in told.breaks]
    findings += [
        found("versions.unknown_events", f"Nobody here knows what '{name}' means.", where=f"event {seq}")
        for name, seq in sorted(told.unknown.items())
    ]
    return Looked(findings, f"events verified: {told.read:,}" if told.is_whole else "broken")


def _break(fault: Corrupt) -> Finding:
    seq = fault.fields.get("seq")
    where = "the file of the log" if seq is None else f"event {seq}"
    code = "chain.unreadable" if fault.code == "log.unreadable" else "chain.broken"
    return found(code, fault.message, where=where)


def kept_tables(case: Case) -> Tables:
    """Return the views as they are kept; raises LeftOut where there are none, and what opening them raises."""
    if not (case.data / "state.sqlite").exists():
        raise LeftOut("there are no views")
    return case.needed().cabinet.open()
