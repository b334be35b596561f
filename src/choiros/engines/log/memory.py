"""A log that lives as long as the process; for tests and for trying things out."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence

from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.event import GENESIS, Draft, Point, Record, sealed


class MemoryLog:
    """Keeps records in lists."""

    def __init__(self) -> None:
        self._records: defaultdict[str, list[Record]] = defaultdict(list)
        self._by_id: defaultdict[str, dict[str, Record]] = defaultdict(dict)
        self._news = asyncio.Condition()

    async def append(
        self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
    ) -> list[Record]:
        """Append all drafts as one batch, or nothing."""
        assert drafts, "an empty batch has no place in the log"
        known = [self._by_id[user][draft.id] for draft in drafts if draft.id in self._by_id[user]]
        if _is_repeated(drafts, known):
            return known
        point = await self.head(user)
        if expect_seq is not None and expect_seq != point.seq:
            raise Conflict(
                "log.stale",
                f"The log is at event {point.seq}, not at {expect_seq}.",
                fix="Read what is new, then decide again.",
                seq=point.seq,
            )
        fresh = sealed(drafts, point)
        if known or len({draft.id for draft in drafts}) < len(drafts):
            raise Rejected(
                "log.id_reused",
                "An event with one of these ids is stored already, with other content or without the others.",
                fix="Give every new event a new id.",
            )
        self._records[user] += fresh
        self._by_id[user].update((record.id, record) for record in fresh)
        async with self._news:
            self._news.notify_all()
        return fresh

    async def head(self, user: str) -> Point:
        """Return the place of the newest event."""
        records = self._records[user]
        return Point(records[-1].seq, records[-1].hash) if records else Point(0, GENESIS)

    async def read(
        self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000
    ) -> AsyncIterator[list[Record]]:
        """Return the records behind a number, in lists."""
        end = len(self._records[user]) if limit is None else min(after + limit, len(self._records[user]))
        for start in range(after, end, batch):
            yield self._records[user][start : min(start + batch, end)]

    async def fetch(self, user: str, seqs: Sequence[int]) -> list[Record]:
        """Return the records with these numbers."""
        records = self._records[user]
        return [records[seq - 1] for seq in sorted(set(seqs)) if 0 < seq <= len(records)]

    async def follow(self, user: str, after: int) -> AsyncIterator[list[Record]]:
        """Return records behind a number, then wait for new ones."""
        while True:
            async for records in self.read(user, after):
                yield records
                after = records[-1].seq
            async with self._news:
                while len(self._records[user]) <= after:
                    await self._news.wait()

    async def close(self) -> None:
        """Nothing is held."""


def _is_repeated(drafts: Sequence[Draft] | Sequence[Record], known: Sequence[Record]) -> bool:
    """Return whether exactly this batch, in this order, is stored already."""
    return len(known) == len(drafts) and all(
        draft == record
        if isinstance(draft, Record)
        else draft.payload == record.payload and record.seq == known[0].seq + place
        for place, (draft, record) in enumerate(zip(drafts, known, strict=True))
    )
