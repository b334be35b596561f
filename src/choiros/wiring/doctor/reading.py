"""Reads the whole log once: every event verified, every view made beside, every content that is named noted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.kernel.errors import ChoirError, Corrupt, Unavailable
from choiros.kernel.event import GENESIS, Point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from choiros.kernel.event import Event
    from choiros.kernel.journal import Journal
    from choiros.kernel.projector import ProjectorRunner
    from choiros.kernel.tree import Entry
    from choiros.wiring.doctor.case import Progress

BREAKS_MAX = 20
"""After so many broken events it is clear enough that the log needs a backup."""

_DIGEST = re.compile(rb"\b[0-9a-f]{64}\b")


class Named:
    """A content that an event names: how long it is, and where it stood."""

    __slots__ = ("path", "seq", "size")

    def __init__(self, size: int, path: str, *, seq: int) -> None:
        self.size = size
        self.path = path
        self.seq = seq


class Told:
    """What the log says about the rest."""

    def __init__(self) -> None:
        self.head = Point(0, GENESIS)
        self.read = 0
        self.is_read = False
        """Whether the log was read from its beginning to its end, or to a break."""
        self.breaks: list[Corrupt] = []
        self.contents: dict[str, Named] = {}
        self.mentioned: set[str] = set()
        """Whatever may be the name of a content, also in a type that is not known here."""
        self.unknown: dict[str, int] = {}
        """The types that this program does not know, each with the first event of it."""
        self.views_problem: ChoirError | None = None
        """Why the views could not be made beside."""

    @property
    def is_whole(self) -> bool:
        """Return whether every event could be read."""
        return self.is_read and not self.breaks

    def take(self, event: Event) -> None:
        """Note what an event says."""
        self.mentioned.update(map(bytes.decode, _DIGEST.findall(event.record.payload or b"")))
        for path, entry in _entries(event.payload):
            if entry is not None and entry.kind == "file":
                self.contents[entry.content] = Named(entry.size, path, seq=event.seq)
        if isinstance(event.payload, dict):
            self.unknown.setdefault(event.head.event_type, event.seq)


def _entries(payload: object) -> Iterator[tuple[str, Entry | None]]:
    match payload:
        case FileWritten(_, path, entry, before):
            yield path, before
            yield path, entry
        case FileDeleted(_, path, before):
            yield path, before
        case FileMoved(_, _, to, entry):
            yield to, entry
        case _:
            pass


async def read_log(journal: Journal, runner: ProjectorRunner, *, progress: Progress) -> Told:
    """Read every event, bring the views along, and name every place at which the chain does not hold.

    Raises what the log raises when it cannot be opened.
    """
    told = Told()
    told.head = await journal.head()
    _try_views(told, runner, [])
    try:
        async for events in journal.events(Point(0, GENESIS)):
            for event in events:
                told.take(event)
            told.read += len(events)
            _try_views(told, runner, events)
            progress("chain", told.read, told.head.seq)
    except Corrupt as fault:
        told.breaks.append(fault)
        await _read_on(told, journal)
    told.is_read = True
    return told


def _try_views(told: Told, runner: ProjectorRunner, events: list[Event]) -> None:
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
