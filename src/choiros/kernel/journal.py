"""The log of one person as the rest of the kernel sees it: typed events, each checked against the chain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from choiros.kernel.errors import Corrupt
from choiros.kernel.event import GENESIS, Draft, Event, Point, Record, broken, open_records
from choiros.kernel.log import EventLog
from choiros.kernel.registry import Registry

BATCH = 2000


class Journal:
    """Reads and appends the events of one person; everything it returns has been verified."""

    def __init__(self, log: EventLog, registry: Registry, user: str) -> None:
        self._log = log
        self.registry = registry
        self.user = user

    async def append(self, drafts: Sequence[Draft], *, expect_seq: int | None = None) -> list[Event]:
        """Append the drafts as one batch, or nothing; see EventLog.append for what is raised."""
        records = await self._log.append(self.user, drafts, expect_seq=expect_seq)
        before = await self.point(records[0].seq - 1)
        return open_batch(records, before, self.registry)

    async def head(self) -> Point:
        """Return the place of the newest event."""
        return await self._log.head(self.user)

    async def point(self, seq: int) -> Point:
        """Return the place of the event with this number; raises Corrupt when it is not there."""
        if seq == 0:
            return Point(0, GENESIS)
        records = await self._log.fetch(self.user, [seq])
        if not records:
            raise broken(seq, "it is missing")
        return Point(seq, records[0].hash)

    async def events(self, after: Point, *, until: int | None = None) -> AsyncIterator[list[Event]]:
        """Return the events behind a place in order, in lists, up to and with number `until`."""
        limit = None if until is None else max(until - after.seq, 0)
        async for records in self._log.read(self.user, after.seq, limit=limit, batch=BATCH):
            yield open_batch(records, after, self.registry)
            after = Point(records[-1].seq, records[-1].hash)

    async def follow(self, after: Point) -> AsyncIterator[list[Event]]:
        """Return every event behind a place, then wait for new ones, for ever."""
        async for records in self._log.follow(self.user, after.seq):
            yield open_batch(records, after, self.registry)
            after = Point(records[-1].seq, records[-1].hash)

    async def fetch(self, seqs: Iterable[int]) -> list[Event]:
        """Return the events with these numbers in ascending order, each checked against the one before it."""
        wanted = sorted(set(seqs))
        needed = sorted({seq for one in wanted for seq in (one - 1, one) if seq > 0})
        found = {record.seq: record for record in await self._log.fetch(self.user, needed)}
        events: list[Event] = []
        for seq in wanted:
            record, before = found.get(seq), found.get(seq - 1)
            if record is None:
                continue
            if before is None and seq > 1:
                raise broken(seq - 1, "it is missing")
            prev = before.hash if before else GENESIS
            events.extend(open_batch([record], Point(seq - 1, prev), self.registry))
        return events


def open_batch(records: Sequence[Record], after: Point, registry: Registry) -> list[Event]:
    """Return the events that follow a place; raises Corrupt naming the first one that is not as it was stored."""
    events: list[Event] = []
    decode, prev = registry.decode, after.hash
    for head, record in zip(open_records(records, after), records, strict=True):
        try:
            payload = decode(head, record.payload)
        except ValueError as error:
            raise unreadable(head.seq, str(error)) from error
        events.append(Event(head, payload, record, prev))
        prev = record.hash
    return events


def unreadable(seq: int, reason: str) -> Corrupt:
    """Return the error for an intact event whose payload this program cannot read."""
    return Corrupt(
        "log.unreadable",
        f"Event {seq} is intact, but its payload does not fit its type: {reason}.",
        fix="It was written by another version of ChoirOS; use that version, or a newer one.",
        seq=seq,
    )
