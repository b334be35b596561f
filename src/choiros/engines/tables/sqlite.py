"""Derived tables in SQLite: a file beside the log, or memory alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import apsw
import msgspec

from choiros.kernel.errors import Corrupt, Rejected, Unavailable
from choiros.kernel.tables import Row, Snapshot, Tables, Value

APPLICATION_ID = 0x43485354
"""Marks the file as ChoirOS state ("CHST")."""

FORMAT = 1
CHECKPOINT_PAGES = 8000
"""Copy the write-ahead log into the file at 32 MB: by then most of its pages have changed more than once."""

_PAGE = 4096
_CHUNK = 1 << 20
_ROWS = 500
_COMPLAINTS = 10
_DIGEST_LENGTH = 64

_encode = msgspec.msgpack.Encoder().encode


class SqliteTables:
    """One database and its one connection.

    It can always be made again from the log, so a commit waits for no disk flush; WAL keeps it whole all the same.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is not None and _is_cut(path):
            raise damaged("the file was cut short")
        fixed = path is not None and _is_read_only(path)
        with _explained():
            self._db = _fixed(path) if path and fixed else apsw.Connection(str(path or ":memory:"))
        try:
            with _explained():
                self._prepare(fixed=fixed)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, *, fixed: bool) -> None:
        self._db.set_busy_timeout(5000)
        # A file that is refused stays as it was found, byte for byte, with its write-ahead log.
        self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        is_new = self._is_new()
        if fixed:
            return
        self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        self._db.pragma("page_size", _PAGE)
        self._db.pragma("journal_mode", "WAL")
        self._db.pragma("synchronous", "NORMAL")
        self._db.pragma("cache_size", -32000)
        self._db.pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        if is_new:
            self._db.pragma("application_id", APPLICATION_ID)
            self._db.pragma("user_version", FORMAT)

    def _is_new(self) -> bool:
        """Return whether the file is empty, after checking that it is ours and of a format that is known."""
        marked, version = self._db.pragma("application_id"), self._db.pragma("user_version")
        if (marked, version, self._db.pragma("schema_version")) == (0, 0, 0):
            return True
        if marked != APPLICATION_ID or not isinstance(version, int) or version < FORMAT:
            raise damaged("it is a database, but not one of ChoirOS")
        if version > FORMAT:
            raise Rejected(
                "state.newer",
                f"The state database has format {version}; this program knows format {FORMAT}.",
                fix="Use the newer ChoirOS that wrote it. Nothing was changed.",
                format=version,
            )
        return False

    def query(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Return all rows that a statement yields."""
        with _explained():
            return list(self._db.execute(sql, values))

    def run(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Carry out a statement once for each row of values."""
        with _explained():
            self._db.executemany(sql, rows)

    def script(self, sql: str) -> None:
        """Carry out statements that take no values."""
        with _explained():
            self._db.execute(sql)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Make everything inside happen at once, or not at all; one inside another can fail alone."""
        inner = self._db.in_transaction
        with _explained():
            self._db.execute("SAVEPOINT inner" if inner else "BEGIN")
            try:
                yield
                self._db.execute("RELEASE inner" if inner else "COMMIT")
            except BaseException:
                # A full disk ends the whole transaction by itself.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK TO inner; RELEASE inner" if inner else "ROLLBACK")
                raise

    def digest(self, tables: Sequence[str]) -> str:
        """Return a hash over the names and the content of these tables, each in the order of its primary key."""
        hasher = hashlib.sha256(b"choir-tables-1\x00")
        for table in tables:
            columns = self.query("SELECT name, pk FROM pragma_table_info(?)", (table,))
            names = ", ".join(sorted(f'"{name}"' for name, _ in columns))
            keys = ", ".join(f'"{name}"' for _, name in sorted((pk, name) for name, pk in columns if pk))
            hasher.update(_sized(table.encode()) + _sized(names.encode()))
            with _explained():
                rows = self._db.execute(f'SELECT {names} FROM "{table}" ORDER BY {keys or names}')
                # Many rows at once, because a rebuild hashes every row that there is.
                while chunk := list(islice(rows, _ROWS)):
                    hasher.update(_sized(_encode(chunk)))
            # No list of rows is empty, so this ends the table.
            hasher.update(_sized(b""))
        return hasher.hexdigest()

    def copy_to(self, path: Path) -> None:
        """Write a compact copy of everything to a new file."""
        self.query("VACUUM INTO ?", (str(path),))

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def integrity(path: Path) -> list[str]:
    """Return what SQLite finds wrong with a database file, which stays as it is; nothing when it is whole."""
    try:
        db = (
            _fixed(path)
            if _is_read_only(path)
            else apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        )
        try:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.pragma("query_only", 1)
            lines = [str(line) for (line,) in db.execute(f"PRAGMA integrity_check({_COMPLAINTS})")]
        finally:
            db.close()
    except (apsw.Error, UnicodeDecodeError) as error:
        return [str(error)]
    return [] if lines == ["ok"] else [line.removeprefix("*** ").replace("\n", " ") for line in lines]


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(8) + part


def _is_read_only(path: Path) -> bool:
    """Return whether the disk takes no writes."""
    try:
        return os.statvfs(path.parent).f_flag & os.ST_RDONLY != 0
    except OSError:
        return False


def _fixed(path: Path) -> apsw.Connection:
    """Open a file on a disk that takes no writes: without a write-ahead log nothing else is needed beside it."""
    unchanging = "" if _size(path.with_name(path.name + "-wal")) else "?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(str(path))}{unchanging}", flags=flags)


def _is_cut(path: Path) -> bool:
    """Return whether the file ends inside a page, which no crash leaves without a log that mends it.

    That is the write-ahead log or, while the file is made, the journal that takes the first page back.
    """
    mended = any(_size(path.with_name(path.name + suffix)) for suffix in ("-wal", "-journal"))
    return not mended and path.is_file() and _size(path) % _PAGE != 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextmanager
def _explained() -> Generator[None]:
    """Tell what the disk or somebody else has done to the tables.

    The statements are the program's own: one that does not fit finds other tables than those that were made.
    """
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError) as error:
        raise damaged(str(error)) from error
    except UnicodeDecodeError as error:
        # SQLite hands out text as it finds it; only what Python makes of it tells that a byte was changed.
        raise damaged("text in it is not valid UTF-8") from error
    except (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
        raise _unavailable(error) from error


@contextmanager
def _on_disk() -> Generator[None]:
    """Tell what the disk has done to the files around the tables."""
    try:
        yield
    except OSError as error:
        raise _unavailable(error) from error


def _unavailable(error: Exception) -> Unavailable:
    return Unavailable(
        "state.unavailable",
        f"The derived tables (state.sqlite) cannot be used: {error}.",
        fix="Free some space and check the permissions of the data directory, then try again.",
    )


def damaged(reason: str) -> Corrupt:
    """Return the error for derived tables that are not what was written."""
    return Corrupt(
        "state.damaged",
        f"The derived tables (state.sqlite) are damaged: {reason}.",
        fix="Nothing is lost: they are derived from the log. Run 'choir rebuild'.",
    )


@contextmanager
def _snapshots_explained() -> Generator[None]:
    """Tell what the system has refused."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            "snapshot.unavailable",
            f"The snapshots of the derived tables cannot be kept: {error.strerror}.",
            fix="Nothing is lost: they only shorten a rebuild. Free some space and check the permissions of the "
            "data directory.",
        ) from error


class SqliteCabinet:
    """Keeps `state.sqlite` and its snapshots in the data directory of one person."""

    def __init__(self, directory: Path) -> None:
        self._current = directory / "state.sqlite"
        self._next = directory / "state.next.sqlite"
        self._snapshots = directory / "snapshots"
        self._fresh = self._snapshots / "next.sqlite"
        self._opened: list[SqliteTables] = []

    @_on_disk()
    def open(self) -> SqliteTables:
        """Open the current tables, empty ones when there are none."""
        self._current.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._opened.append(SqliteTables(self._current))
        return self._opened[-1]

    @_on_disk()
    def beside(self, snapshot: Snapshot | None) -> SqliteTables:
        """Open new tables beside the current ones, empty or copied from a snapshot."""
        self._next.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove(self._next)
        if snapshot is not None:
            self._copy(snapshot)
        return SqliteTables(self._next)

    def _copy(self, snapshot: Snapshot) -> None:
        hasher = hashlib.sha256()
        # What cannot be read, for whatever reason, serves no better than what was changed.
        with (
            suppress(OSError),
            self._path(snapshot).open("rb") as source,
            self._next.open("wb") as target,
        ):
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

    @_on_disk()
    def switch(self) -> None:
        """Put the tables made beside into the place of the current ones."""
        _sync(self._next)
        # A connection that outlived its file would remove the write-ahead log of the new one when it closes.
        while self._opened:
            self._opened.pop().close()
        # The old write-ahead log must be gone before the new file appears under its name: replayed into the
        # new file it would damage it. A crash in between leaves no state at all, which is simply rebuilt.
        _remove(self._current)
        self._next.rename(self._current)
        _sync(self._current.parent)

    def save(self, tables: Tables, seq: int) -> Snapshot:
        """Keep a copy of the tables as the snapshot of an event."""
        assert isinstance(tables, SqliteTables), "a cabinet keeps copies of the tables that it opened"
        with _snapshots_explained():
            self._snapshots.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove(self._fresh)
            tables.copy_to(self._fresh)
            with self._fresh.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            _sync(self._fresh)
            snapshot = Snapshot(seq, digest)
            self._fresh.rename(self._path(snapshot))
            _sync(self._snapshots)
        return snapshot

    def snapshots(self) -> list[Snapshot]:
        """Return the kept snapshots, the newest first; what a crash left half made is removed."""
        found: list[Snapshot] = []
        with _snapshots_explained():
            _remove(self._fresh)
            _remove(self._next)
            for path in self._snapshots.glob("*.sqlite"):
                seq, _, digest = path.stem.partition("-")
                if seq.isdigit() and len(digest) == _DIGEST_LENGTH and path.is_file():
                    found.append(Snapshot(int(seq), digest))
        return sorted(found, reverse=True)

    def drop(self, snapshot: Snapshot | None) -> None:
        """Remove a snapshot, or what was made beside for nothing."""
        with _snapshots_explained():
            if snapshot is None:
                _remove(self._next)
            else:
                self._path(snapshot).unlink(missing_ok=True)

    def _path(self, snapshot: Snapshot) -> Path:
        return self._snapshots / f"{snapshot.seq:012d}-{snapshot.digest}.sqlite"


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
