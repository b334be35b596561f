"""The port to derived tables: everything that can be asked quickly and can be rebuilt from the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

Value = None | int | float | str | bytes
Row = tuple[Value, ...]


class Tables(Protocol):
    """A small SQL database that one writer owns."""

    def query(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Return all rows that a statement yields."""
        ...

    def run(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Carry out a statement once for each row of values."""
        ...

    def script(self, sql: str) -> None:
        """Carry out statements that take no values."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Make everything inside happen at once, or not at all when an exception leaves it."""
        ...

    def digest(self, tables: Sequence[str]) -> str:
        """Return a hash over the whole content of these tables, the same for equal content."""
        ...

    def close(self) -> None:
        """Let go of all files."""
        ...


class Snapshot(NamedTuple):
    """A kept copy of all tables as they were at an event; `digest` is the SHA-256 of its bytes."""

    seq: int
    digest: str


class Cabinet(Protocol):
    """Where the tables of one person lie, and their snapshots beside them."""

    def open(self) -> Tables:
        """Open the current tables, empty ones when there are none.

        Raises Corrupt (`state.damaged`) when they cannot be read, Rejected (`state.newer`) when a newer program
        wrote them.
        """
        ...

    def beside(self, snapshot: Snapshot | None) -> Tables:
        """Open new tables beside the current ones: empty, or a copy of a snapshot.

        Raises Corrupt (`snapshot.damaged`) when the snapshot's bytes are not those that were kept.
        """
        ...

    def switch(self) -> None:
        """Put what `beside` opened (and closed since) in the place of the current tables, at once."""
        ...

    def save(self, tables: Tables, seq: int) -> Snapshot:
        """Keep a copy of the tables as the snapshot of an event, durably; raises Unavailable."""
        ...

    def snapshots(self) -> list[Snapshot]:
        """Return the kept snapshots, the newest first; the lock must be held."""
        ...

    def drop(self, snapshot: Snapshot | None) -> None:
        """Remove a snapshot, or (None) what `beside` opened and closed and nothing will switch to."""
        ...
