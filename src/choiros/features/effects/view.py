"""Every effect that an event announced, and the event that tells what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from msgspec import Struct

from choiros.kernel.event import Event
from choiros.kernel.registry import EventType
from choiros.kernel.tables import Tables

SCHEMA = """
CREATE TABLE effects(
    seq INTEGER PRIMARY KEY, event_type TEXT NOT NULL, again INTEGER NOT NULL, outcome INTEGER
) STRICT;
CREATE INDEX effects_open ON effects(seq) WHERE outcome IS NULL;
"""


class Effect(Struct, frozen=True):
    """An effect that was announced; `again` says whether it may be done again after a crash."""

    seq: int
    event_type: str
    again: bool


class EffectsProjector:
    """Keeps `effects`: one row for each event that announces something, with the first outcome behind it."""

    name = "effects"
    version = 1
    tables = ("effects",)
    schema = SCHEMA

    def __init__(self, types: Iterable[EventType]) -> None:
        """Take all types; those that announce and those that end an effect say so themselves."""
        known = list(types)
        self._intents = {kind.name: int(kind.intent == "again") for kind in known if kind.intent != "none"}
        self._ends = {kind.name: kind.ends for kind in known if kind.ends}

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the table from the state before these events to the state after them."""
        for event in events:
            name = event.head.event_type
            again, field = self._intents.get(name), self._ends.get(name)
            if again is not None:
                tables.run("INSERT INTO effects VALUES (?, ?, ?, NULL)", [(event.seq, name, again)])
            if field is not None:
                ended = getattr(event.payload, field, None)
                tables.run(
                    "UPDATE effects SET outcome = ? WHERE seq = ? AND outcome IS NULL", [(event.seq, ended)]
                )


class EffectsView:
    """Answers what was announced and never came to an end."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def open(self) -> list[Effect]:
        """Return the effects of which no outcome is recorded, the oldest first."""
        rows = self._tables.query(
            "SELECT seq, event_type, again FROM effects WHERE outcome IS NULL ORDER BY seq"
        )
        return [
            Effect(seq, name, bool(again)) for seq, name, again in cast("list[tuple[int, str, int]]", rows)
        ]
