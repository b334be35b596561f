"""The log of one person as the rest of the kernel sees it: typed events, each checked against the chain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from choiros.kernel.errors import Corrupt, Rejected, Unavailable
from choiros.kernel.event import GENESIS, Draft, Event, Head, Point, Record, broken, open_records
from choiros.kernel.log import EventLog
from choiros.kernel.registry import Registry

READ = 500
"""How many events are read and checked at once: few enough to stay in the processor's caches."""

BATCH = 4000
"""How many events a reader gets at once, unless they are large: many, because views commit once for each list."""

BATCH_BYTES = 16 << 20


class Journal:
    """Reads and appends the events of one person; everything it returns has been verified."""

    def __init__(self, log: EventLog, registry: Registry, *, user: str) -> None:
        self._log = log
        self.registry = registry
        self.user = user

    async def append(self, drafts: Sequence[Draft], *, expect: Point | None = None) -> list[Event]:
        """Append the drafts as one batch, or nothing; see EventLog.append for what is raised.

        `expect` is the place behind which they shall stand. Raises Rejected (`event.other_user`) as well, for an
        event that is not this person's, and Unavailable (`log.uncertain`) for what was stored, but cannot be given
        back because the event before it cannot be read.
        """
        for draft in drafts:
            if draft.user_id != self.user:
                raise other_user(draft.user_id, self.user)
        records = await self._log.append(self.user, drafts, expect_seq=expect.seq if expect else None)
        if expect is None or records[0].seq != expect.seq + 1:
            try:
                expect = await self.point(records[0].seq - 1)
            except Unavailable as trouble:
                # Whoever is told that nothing was written would wish, and record, the same once more.
                raise unanswered(records[0].seq, trouble.message) from trouble
        return open_batch(records, expect, registry=self.registry)

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
        events: list[Event] = []
        size_bytes = 0
        async for records in self._log.read(self.user, after.seq, limit=limit, batch=READ):
            events += open_batch(records, after, registry=self.registry)
            after = events[-1].point
            size_bytes += sum(len(record.payload or b"") for record in records)
            if len(events) >= BATCH or size_bytes >= BATCH_BYTES:
                yield events
                events, size_bytes = [], 0
        if events:
            yield events

    async def heads(
        self, after: Point, *, until: int | None = None
    ) -> AsyncIterator[list[tuple[Head, Record]]]:
        """Return the stored records behind a place with their heads, each checked; no payload is read."""
        limit = None if until is None else max(until - after.seq, 0)
        async for records in self._log.read(self.user, after.seq, limit=limit, batch=READ):
            yield list(zip(open_records(records, after), records, strict=True))
            after = Point(records[-1].seq, records[-1].hash)

    async def follow(self, after: Point) -> AsyncIterator[list[Event]]:
        """Return every event behind a place, then wait for new ones, for ever."""
        async for records in self._log.follow(self.user, after.seq):
            yield open_batch(records, after, registry=self.registry)
            after = Point(records[-1].seq, records[-1].hash)

    async def fetch(self, seqs: Iterable[int]) -> list[Event]:
        """Return the events with these numbers in ascending order, each checked against the one before it.

        Numbers behind the newest event are left out.
        """
        wanted = sorted(set(seqs))
        needed = sorted({seq for one in wanted for seq in (one - 1, one) if seq > 0})
        found = {record.seq: record for record in await self._log.fetch(self.user, needed)}
        events: list[Event] = []
        for seq in wanted:
            record, before = found.get(seq), found.get(seq - 1)
            if record is None:
                if seq <= (await self.head()).seq:
                    raise broken(seq, "it is missing")
                continue
            if before is None and seq > 1:
                raise broken(seq - 1, "it is missing")
            prev = before.hash if before else GENESIS
            events.extend(open_batch([record], Point(seq - 1, prev), registry=self.registry))
        return events


def open_batch(records: Sequence[Record], after: Point, *, registry: Registry) -> list[Event]:
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


def other_user(found: str, user: str) -> Rejected:
    """Return the error for an event that would enter the log of somebody else."""
    return Rejected(
        "event.other_user",
        f"An event of '{found}' cannot enter the log of '{user}'.",
        fix=f"Act as '{user}', or open the computer of the other person.",
        user=found,
    )


def unanswered(seq: int, reason: str) -> Unavailable:
    """Return the error for what is in the log although nothing more can be said about it."""
    return Unavailable(
        "log.uncertain",
        f"Event {seq} was recorded, but the log cannot be read just now: {reason}",
        fix="Look at 'choir log' before you wish for it again.",
        seq=seq,
    )


def unreadable(seq: int, reason: str) -> Corrupt:
    """Return the error for an intact event whose payload this program cannot read."""
    return Corrupt(
        "log.unreadable",
        f"Event {seq} is intact, but its payload does not fit its type: {reason}.",
        fix="It was written by another version of ChoirOS; use that version, or a newer one.",
        seq=seq,
    )
