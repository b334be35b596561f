"""The port to the log: the one ordered, append-only history of a person; everything else is derived from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from choiros.kernel.event import Draft, Point, Record


class EventLog(Protocol):
    """Keeps the events of each person in one gap-free order.

    Orders by a number per user that starts at 1. What `append` has returned is on disk. An id is stored once:
    appending a batch that is stored already, as a whole and in this order, returns its records and writes nothing.
    """

    async def append(
        self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
    ) -> list[Record]:
        """Append all drafts as one batch, or nothing, and return them as stored.

        Records, which are sealed already, are stored byte for byte when they follow the head, and otherwise
        refused (`log.not_next`): so a log is carried from one place to another.

        Raises Conflict (`log.stale`) when `expect_seq` is given and is not the head's number, Rejected
        (`log.id_reused`) when an id is stored already for other content or for only a part of the batch, and
        Unavailable (`log.unavailable`) when the log cannot be written; then no trace is left. When even that
        cannot be made sure on a failing disk, Unavailable (`log.uncertain`) says so.
        """
        ...

    async def head(self, user: str) -> Point:
        """Return the place of the newest event, (0, GENESIS) for an empty log."""
        ...

    def read(
        self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000
    ) -> AsyncIterator[list[Record]]:
        """Return the records behind number `after` in order, in lists of at most `batch`."""
        ...

    async def fetch(self, user: str, seqs: Sequence[int]) -> list[Record]:
        """Return the records with these numbers in ascending order; numbers that do not exist are left out."""
        ...

    def follow(self, user: str, after: int) -> AsyncIterator[list[Record]]:
        """Return every record behind number `after`, then wait for new ones, for ever."""
        ...

    async def close(self) -> None:
        """Finish what was accepted, then let go of all files."""
        ...
