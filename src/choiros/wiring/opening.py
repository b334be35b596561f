"""Opens a computer: alone or beside others, repaired first where that is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.kernel.errors import Corrupt, Unavailable
from choiros.kernel.projector import Stale
from choiros.wiring.computer import Computer
from choiros.wiring.repair import rebuild

if TYPE_CHECKING:
    from collections.abc import Callable

    from choiros.kernel.lock import Lock
    from choiros.kernel.log import EventLog
    from choiros.kernel.tables import Tables
    from choiros.settings import Settings
    from choiros.wiring.parts import Parts


BREAKS = frozenset({"log.broken", "log.shorter", "log.rolled_back", "log.forked", "signer.damaged"})
"""Breaks of the log after which a computer still opens, to be looked at."""


async def open_computer(
    parts: Parts, settings: Settings, *, write: bool, notice: Callable[[str], None]
) -> Computer:
    """Open a person's computer, every view as new as the log.

    To write, the lock is waited for. To read, it is taken if it is free; while somebody else holds it, the views
    are read as that one leaves them. It is kept until `release` or `close`.
    """
    held = await _acquire(parts.lock, settings.lock_timeout_s if write else 0, needed=write)
    try:
        computer = await _opened(parts, settings, fresh=held, notice=notice)
    except BaseException:
        if held:
            parts.lock.release()
        raise
    computer.holds_lock = held
    return computer


async def _opened(
    parts: Parts, settings: Settings, *, fresh: bool, notice: Callable[[str], None]
) -> Computer:
    tables: Tables | None = None
    try:
        tables = parts.cabinet.open()
        if fresh:
            await _check_there(tables, parts.log, user=settings.user)
        computer = Computer(parts, settings, tables=tables)
        if fresh:
            await _started(computer, notice)
    except (Corrupt, Stale, _Gone) as trouble:
        if tables is not None:
            tables.close()
        if not fresh or (isinstance(trouble, Corrupt) and trouble.code != "state.damaged"):
            raise
        if not isinstance(trouble, _Gone):
            notice(f"{trouble} Rebuilding the state from the log; nothing is lost.")
        # Tables that are gone are made again from the newest snapshot too, not from the first event.
        await rebuild(parts, settings)
        computer = Computer(parts, settings, tables=parts.cabinet.open())
        # With the tables went what was known about the folders, unless they were only of an older form.
        computer.remembers_folders = isinstance(trouble, Stale)
        await _started(computer, notice)
    return computer


async def _check_there(tables: Tables, log: EventLog, *, user: str) -> None:
    """Raise _Gone when there are no tables although there are events."""
    if not tables.query("SELECT 1 FROM sqlite_schema LIMIT 1") and (await log.head(user)).seq:
        raise _Gone


class _Gone(Exception):  # noqa: N818 - it is not an error: nothing is there
    """The log holds events, and there are no tables."""


async def _started(computer: Computer, notice: Callable[[str], None]) -> None:
    """Start the computer; one whose log is not what it was can be looked at, and changes nothing."""
    try:
        await computer.start()
    except Corrupt as fault:
        if fault.code not in BREAKS:
            raise
        notice(f"READ-ONLY: {fault.message} {fault.fix}")
        computer.stop(fault)


async def _acquire(lock: Lock, timeout_s: float, *, needed: bool) -> bool:
    try:
        await lock.acquire(timeout_s)
    except Unavailable:
        if needed:
            raise
        return False
    return True
