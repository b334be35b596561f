"""Reads the whole log once: every event verified, every view made beside, every content that is named noted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.kernel.errors import Corrupt, Unavailable
from choiros.kernel.event import GENESIS, Point
from choiros.wiring.doctor.told import Told

if TYPE_CHECKING:
    from choiros.kernel.event import Event
    from choiros.kernel.journal import Journal
    from choiros.kernel.projector import ProjectorRunner
    from choiros.wiring.doctor.case import Progress

BREAKS_MAX = 20
"""After so many broken events it is clear enough that the log needs a backup."""


async def read_log(journal: Journal, runner: ProjectorRunner, *, progress: Progress) -> Told:
    """Read every event, bring the views along, and name every place at which the chain does not hold.

    Raises what the log raises when it cannot be opened.
    """
    told = Told()
    told.head = await journal.head()
    _try_views(told, runner, events=[])
    try:
        async for events in journal.events(Point(0, GENESIS)):
            for event in events:
                told.take(event)
            told.read += len(events)
            _try_views(told, runner, events=events)
            progress("chain", told.read, told.head.seq)
    except Corrupt as fault:
        told.breaks.append(fault)
        await _read_on(told, journal)
    told.is_read = True
    return told


def _try_views(told: Told, runner: ProjectorRunner, *, events: list[Event]) -> None:
    """Bring the views on by some events, or make them first; a disk without room must not hide the log."""
    if told.views_problem is not None:
        return
    try:
        if events:
            runner.apply(events)
        else:
            runner.prepare()
    except (Unavailable, Corrupt) as problem:
        told.views_problem = problem


async def _read_on(told: Told, journal: Journal) -> None:
    """Look behind a break for the next ones: each event is compared with the stored hash of the one before it."""
    while len(told.breaks) < BREAKS_MAX:
        last = told.breaks[-1].fields.get("seq")
        if not isinstance(last, int) or last >= told.head.seq:
            return
        try:
            start = await journal.point(last)
            async for _ in journal.heads(start):
                pass
        except Corrupt as fault:
            seq = fault.fields.get("seq")
            if not isinstance(seq, int) or seq <= last:
                return
            told.breaks.append(fault)
        else:
            return
