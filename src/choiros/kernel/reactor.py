"""Lets facts cause work: each reactor sees every event at least once, and what it causes happens at most once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Protocol

from choiros.kernel.errors import ChoirError, Corrupt
from choiros.kernel.event import Event
from choiros.kernel.journal import Journal
from choiros.kernel.projector import seen_by_all
from choiros.kernel.tables import Tables

_inside: ContextVar[bool] = ContextVar("inside a reactor", default=False)

CURSORS = "CREATE TABLE IF NOT EXISTS reactors(name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;"


class Reactor(Protocol):
    """Causes work after facts.

    It may see the same events again after a crash, so what it does must be harmless the second time: setting
    something to the state that the log describes, or a command whose event id is made from the event's.
    """

    @property
    def name(self) -> str:
        """Return the name under which the cursor is kept."""
        ...

    async def react(self, events: Sequence[Event]) -> None:
        """Do what these facts ask for; returning means that it is done."""
        ...


class ReactorRunner:
    """Leads every reactor of one person along the log."""

    def __init__(self, journal: Journal, tables: Tables, *, reactors: Sequence[Reactor]) -> None:
        self._journal = journal
        self._tables = tables
        self._reactors = tuple(reactors)
        self._turn = asyncio.Lock()

    def prepare(self, start: int, *, earlier: Mapping[str, int] | None = None) -> None:
        """Make the cursors that are missing; a new reactor starts behind event `start`, or the one in `earlier`.

        A power cut can take all cursors: one that has left announced effects without an outcome begins there.
        """
        first = earlier or {}
        with self._tables.transaction():
            self._tables.script(CURSORS)
            rows = [(reactor.name, first.get(reactor.name, start)) for reactor in self._reactors]
            self._tables.run("INSERT OR IGNORE INTO reactors VALUES (?, ?)", rows)

    async def catch_up(self) -> dict[str, ChoirError]:
        """Show each reactor what it has not seen and the views have, until nothing new has come in.

        Returns what kept a reactor from going on; it is shown the same events again next time, and the others
        are not held up. Called from inside a reactor (a fact that led to a command) it returns at once: the outer
        call goes on.
        """
        if _inside.get():
            return {}
        troubles: dict[str, ChoirError] = {}
        async with self._turn:
            token = _inside.set(True)
            try:
                while await self._round(troubles):
                    pass
            finally:
                _inside.reset(token)
        return troubles

    async def _round(self, troubles: dict[str, ChoirError]) -> bool:
        # A fact that is in the log, but not yet in the views, would be acted on from an old state.
        until = seen_by_all(self._tables).seq
        behind = [
            reactor
            for reactor in self._reactors
            if reactor.name not in troubles and self._seen(reactor.name) < until
        ]
        for reactor in behind:
            try:
                await self._lead(reactor, until)
            except ChoirError as trouble:
                troubles[reactor.name] = trouble
        return bool(behind)

    async def _lead(self, reactor: Reactor, until: int) -> None:
        start = await self._journal.point(self._seen(reactor.name))
        async for events in self._journal.events(start, until=until):
            await reactor.react(events)
            self._tables.run("UPDATE reactors SET seq = ? WHERE name = ?", [(events[-1].seq, reactor.name)])

    def _seen(self, name: str) -> int:
        rows = self._tables.query("SELECT seq FROM reactors WHERE name = ?", (name,))
        if not rows:
            raise Corrupt(
                "state.damaged",
                f"The derived tables do not know any more how far '{name}' has come.",
                fix="Nothing is lost: they are derived from the log. Run 'choir rebuild'.",
            )
        seq = rows[0][0]
        assert isinstance(seq, int)
        return seq
