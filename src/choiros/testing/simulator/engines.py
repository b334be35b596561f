"""What a simulated machine gives to the wiring: time, ids, a slow worker, commits, and a log that is watched."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TypeVar

from choiros.engines.repository.memory import MemoryRepository
from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import ChoirError, Conflict, Unavailable
from choiros.kernel.event import Draft, Point, Record
from choiros.kernel.log import EventLog
from choiros.kernel.repository import Commit
from choiros.kernel.tree import Entry
from choiros.testing.simulator.chance import Chance
from choiros.testing.simulator.disk import Disk
from choiros.testing.simulator.model import Batch, Books

T = TypeVar("T")

BEGIN_MS = 1_790_000_000_000


class SimulatedClock:
    """The seconds of the event loop, and a wall clock that somebody may set."""

    def __init__(self) -> None:
        self.seconds: Callable[[], float] = float
        self.set_ms = 0

    def now_ms(self) -> int:
        """Return the wall clock."""
        return BEGIN_MS + self.set_ms + int(self.seconds() * 1000)

    def now_ns(self) -> int:
        """Return the wall clock for the disk."""
        return self.now_ms() * 1_000_000

    def monotonic_ns(self) -> int:
        """Return the seconds since the simulation began."""
        return int(self.seconds() * 1e9)

    async def sleep(self, seconds: float) -> None:
        """Wait in simulated time."""
        await asyncio.sleep(seconds)


class SimulatedIds:
    """Ids that grow within one process, and salts; all by chance."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._last = (0, 0)

    def event_id(self, now_ms: int) -> str:
        """Return the next id."""
        moment, number = self._last
        if now_ms > moment:
            self._last = (now_ms, self._chance.bits() >> 2)
        else:
            self._last = (moment, number + 1 + self._chance.below(1000))
        moment, number = self._last
        return str(uuid.UUID(int=moment << 80 | 0x7 << 76 | 0x2 << 62 | number & ((1 << 62) - 1)))

    def salt(self) -> bytes:
        """Return 16 bytes."""
        return self._chance.some_bytes(16)


class SlowWorker:
    """Runs calls one after the other, with others doing something before, between and after them."""

    def __init__(self, chance: Chance, *, pauses: int) -> None:
        self._chance = chance
        self._pauses = pauses
        self._turn = asyncio.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        """Run the call when its turn has come."""
        if not self._pauses:
            return call()
        async with self._turn:
            await self._pause()
            result = call()
        await self._pause()
        return result

    async def _pause(self) -> None:
        for _ in range(self._chance.below(self._pauses + 1)):
            await asyncio.sleep(0)

    def close(self) -> None:
        """Nothing is held."""


class WatchedLog:
    """The real log; what is asked of it and what it promises is written down.

    Now and then it says that the caller is late, as it would if another process had written.
    """

    def __init__(self, log: EventLog, books: Books, disk: Disk, *, chance: Chance, late_one_in: int) -> None:
        self._log = log
        self._books = books
        self._disk = disk
        self._chance = chance
        self._late_one_in = late_one_in

    async def append(
        self, user: str, drafts: Sequence[Draft], *, expect_seq: int | None = None
    ) -> list[Record]:
        """Append, and note what became of it."""
        if expect_seq is not None and self._late_one_in and self._chance.one_in(self._late_one_in):
            raise Conflict("log.stale", "Somebody was faster.", fix="Read what is new, then decide again.")
        batch = Batch(tuple(drafts))
        self._books.batches.append(batch)
        try:
            records = await self._log.append(user, drafts, expect_seq=expect_seq)
        except ChoirError as error:
            if not self._disk.is_off and error.code != "log.uncertain":
                batch.state = "refused"
            raise
        if not self._disk.is_off:
            batch.state, batch.records = "acknowledged", tuple(records)
            for record, draft in zip(records, drafts, strict=True):
                self._disk.note(f"event {record.seq} {draft.event_type} {draft.payload.decode()[:200]}")
        return records

    async def head(self, user: str) -> Point:
        """Return the place of the newest event."""
        return await self._log.head(user)

    def read(
        self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000
    ) -> AsyncIterator[list[Record]]:
        """Return records in order."""
        return self._log.read(user, after, limit=limit, batch=batch)

    async def fetch(self, user: str, seqs: Sequence[int]) -> list[Record]:
        """Return the records with these numbers."""
        return await self._log.fetch(user, seqs)

    def follow(self, user: str, after: int) -> AsyncIterator[list[Record]]:
        """Return records, for ever."""
        return self._log.follow(user, after)

    async def close(self) -> None:
        """Close."""
        await self._log.close()


class SlowRepository(MemoryRepository):
    """Commits that are made at once or not at all, with a moment before and after, and failures now and then."""

    def __init__(self, chance: Chance, disk: Disk, *, places: dict[tuple[str, str], list[str]]) -> None:
        super().__init__(places)
        self._chance = chance
        self._disk = disk

    async def commit(
        self,
        files: Mapping[str, Entry],
        blobs: BlobStore,
        *,
        message: str,
        author: str,
        timestamp: int,
        seq: int,
    ) -> Commit:
        """Make a commit."""
        await self._moment()
        made = await super().commit(
            files, blobs, message=message, author=author, timestamp=timestamp, seq=seq
        )
        await self._moment()
        return made

    async def push(self, url: str, branch: str) -> str:
        """Push."""
        await self._moment()
        arrived = await super().push(url, branch)
        await self._moment()
        return arrived

    async def _moment(self) -> None:
        await asyncio.sleep(0)
        self._disk.act("commit", self._disk.root)
        if self._chance.one_in(25):
            raise Unavailable("repository.unavailable", "The repository is busy.", fix="Try again.")
