"""Derived tables in SQLite: a file beside the log, or memory alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.tables import Row, Snapshot, Tables, Value

APPLICATION_ID = 0x43485354
"""Marks the file as ChoirOS state ("CHST")."""

FORMAT = 1
_CHUNK = 1 << 20


class SqliteTables:
    """One database and its one connection.

    It can always be made again from the log, so a commit waits for no disk flush; WAL keeps it whole all the same.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._db = apsw.Connection(":memory:" if path is None else str(path))
        try:
            self._db.set_busy_timeout(5000)
            self._db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32000;")
            self._mark()
        except BaseException:
            self._db.close()
            raise

    def _mark(self) -> None:
        version = self._db.pragma("user_version")
        if isinstance(version, int) and version > FORMAT:
            raise Rejected(
                "state.newer",
                f"The state database has format {version}; this program knows format {FORMAT}.",
                fix="Use the newer ChoirOS that wrote it. Nothing was changed.",
                format=version,
            )
        if version != FORMAT:
            self._db.execute(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={FORMAT};")

    def query(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Return all rows that a statement yields."""
        return list(self._db.execute(sql, values))

    def run(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Carry out a statement once for each row of values."""
        self._db.executemany(sql, rows)

    def script(self, sql: str) -> None:
        """Carry out statements that take no values."""
        self._db.execute(sql)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Make everything inside happen at once, or not at all."""
        with self._db:
            yield

    def digest(self, tables: Sequence[str]) -> str:
        """Return a hash over the content of these tables, each in the order of its primary key."""
        hasher = hashlib.sha256(b"choir-tables-1\x00")
        for table in tables:
            columns = list(self._db.execute("SELECT name, pk FROM pragma_table_info(?)", (table,)))
            keys = (
                ", ".join(f'"{name}"' for name, pk in sorted(columns, key=lambda one: one[1]) if pk)
                or "rowid"
            )
            names = ", ".join(f'"{name}"' for name, _ in sorted(columns))
            hasher.update(_sized(table.encode()))
            for row in self._db.execute(f'SELECT {names} FROM "{table}" ORDER BY {keys}'):
                hasher.update(_sized(repr(row).encode("utf-8", "surrogatepass")))
        return hasher.hexdigest()

    def copy_to(self, path: Path) -> None:
        """Write a compact copy of everything to a new file."""
        self._db.execute("VACUUM INTO ?", (str(path),))

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(8) + part


class SqliteCabinet:
    """Keeps `state.sqlite` and its snapshots in the data directory of one person."""

    def __init__(self, directory: Path) -> None:
        self._current = directory / "state.sqlite"
        self._next = directory / "state.next.sqlite"
        self._snapshots = directory / "snapshots"

    def open(self) -> SqliteTables:
        """Open the current tables, empty ones when there are none."""
        self._current.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return SqliteTables(self._current)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise Corrupt(
                "state.damaged",
                f"{self._current.name} is damaged: {error}.",
                fix="Nothing is lost: it is derived from the log. Run 'choir rebuild'.",
                file=self._current.name,
            ) from error

    def beside(self, snapshot: Snapshot | None) -> SqliteTables:
        """Open new tables beside the current ones, empty or copied from a snapshot."""
        _remove(self._next)
        if snapshot is not None:
            self._copy(snapshot)
        return SqliteTables(self._next)

    def _copy(self, snapshot: Snapshot) -> None:
        hasher = hashlib.sha256()
        with self._path(snapshot).open("rb") as source, self._next.open("wb") as target:
            while chunk := source.read(_CHUNK):
                hasher.update(chunk)
                target.write(chunk)
        if hasher.hexdigest() != snapshot.digest:
            _remove(self._next)
            raise Corrupt(
                "snapshot.damaged",
                f"The snapshot of event {snapshot.seq} is not what was kept.",
                fix="It is left aside; 'choir rebuild --full' reads the log from its beginning.",
                seq=snapshot.seq,
            )

    def switch(self) -> None:
        """Put the tables made beside into the place of the current ones."""
        _sync(self._next)
        # The old write-ahead log must be gone before the new file appears under its name: replayed into the
        # new file it would damage it. A crash in between leaves no state at all, which is simply rebuilt.
        _remove(self._current)
        self._next.rename(self._current)
        _sync(self._current.parent)

    def save(self, tables: Tables, seq: int) -> Snapshot:
        """Keep a copy of the tables as the snapshot of an event."""
        assert isinstance(tables, SqliteTables), "a cabinet keeps copies of the tables that it opened"
        self._snapshots.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._snapshots / "next.sqlite"
        _remove(fresh)
        tables.copy_to(fresh)
        with fresh.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        _sync(fresh)
        snapshot = Snapshot(seq, digest)
        fresh.rename(self._path(snapshot))
        _sync(self._snapshots)
        return snapshot

    def snapshots(self) -> list[Snapshot]:
        """Return the kept snapshots, the newest first."""
        found: list[Snapshot] = []
        for path in self._snapshots.glob("*.sqlite"):
            seq, _, digest = path.stem.partition("-")
            if seq.isdigit() and len(digest) == 64:
                found.append(Snapshot(int(seq), digest))
        return sorted(found, reverse=True)

    def drop(self, snapshot: Snapshot) -> None:
        """Remove a snapshot."""
        self._path(snapshot).unlink(missing_ok=True)

    def _path(self, snapshot: Snapshot) -> Path:
        return self._snapshots / f"{snapshot.seq:012d}-{snapshot.digest}.sqlite"


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
