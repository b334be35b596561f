"""The order in which a computer is looked at: what others stand on comes first."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from choiros.engines.log.sqlite import SqliteLog
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import ChoirError, Unavailable
from choiros.settings import Resolved
from choiros.wiring.disk import disk_parts
from choiros.wiring.doctor.case import Case, LeftOut, Looked, Progress
from choiros.wiring.doctor.contents import look_at_blobs
from choiros.wiring.doctor.finding import Area, found
from choiros.wiring.doctor.folders import look_at_workspaces
from choiros.wiring.doctor.git import look_at_git
from choiros.wiring.doctor.log import look_at_chain, look_at_log
from choiros.wiring.doctor.proof import look_at_keys, look_at_signatures, look_at_witnesses
from choiros.wiring.doctor.surroundings import (
    look_at_disk,
    look_at_leftovers,
    look_at_lock,
    look_at_settings,
    look_at_versions,
)
from choiros.wiring.doctor.views import look_at_projections, look_at_snapshots

Look = Callable[[Case], Awaitable[Looked]]


AREAS: dict[str, Look] = {
    "settings": look_at_settings,
    "versions": look_at_versions,
    "disk": look_at_disk,
    "lock": look_at_lock,
    "log": look_at_log,
    "chain": look_at_chain,
    "leftovers": look_at_leftovers,
    "projections": look_at_projections,
    "snapshots": look_at_snapshots,
    "signatures": look_at_signatures,
    "keys": look_at_keys,
    "witnesses": look_at_witnesses,
    "blobs": look_at_blobs,
    "workspaces": look_at_workspaces,
    "git": look_at_git,
}


@asynccontextmanager
async def examination(resolved: Resolved, *, deep: bool, progress: Progress) -> AsyncGenerator[Case]:
    """Prepare everything for looking at a computer without changing it, and let go of it afterwards."""
    with TemporaryDirectory(prefix="choir-doctor-", ignore_cleanup_errors=True) as scratch:
        case = Case(resolved, deep=deep, progress=progress, scratch=Path(scratch))
        _open_engines(case)
        try:
            yield case
        finally:
            if case.computer is not None:
                case.computer.tables.close()
            if case.parts is not None:
                with suppress(ChoirError):
                    await case.parts.log.close()
                case.parts.lock.release()


def _open_engines(case: Case) -> None:
    """Give the case its engines, the log only for reading; where nothing is kept yet, nothing is made."""
    if not case.folder.exists():
        case.nothing_yet = True
        return
    try:
        parts = disk_parts(case.resolved)
    except Unavailable as error:
        case.findings.append(found("disk.unusable", error.message, where=str(case.folder)))
        return
    path = case.data / "log.db"
    log = SqliteLog(lambda _: path, InlineWorker(), clock=parts.clock, read_only=True)
    case.parts = replace(parts, log=log)


async def look_at(case: Case, name: str) -> None:
    """Look at one area; where another one stands in its way, that is said instead."""
    try:
        looked = await AREAS[name](case)
    except LeftOut as reason:
        case.areas.append(Area(name, "skipped", str(reason)))
        return
    case.findings += looked.findings
    case.areas.append(Area(name, "ok", looked.summary))
