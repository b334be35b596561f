"""The embedded log: one SQLite file per person, written by one connection, acknowledged when it is on disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import quote

import apsw

from choiros.kernel.clock import Clock
from choiros.kernel.errors import ChoirError, Conflict, Corrupt, Rejected, Unavailable
from choiros.kernel.event import GENESIS, Draft, Point, Record, broken, sealed
from choiros.kernel.worker import Worker

T = TypeVar("T")

APPLICATION_ID = 0x43484F52
"""Marks the file as a ChoirOS log ("CHOR")."""

PAGE = 4096
GROUP_MAX = 512
FOLLOW_S = 0.05

MIGRATIONS = (
    """
    CREATE TABLE events(
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, head BLOB NOT NULL, salt BLOB NOT NULL,
        payload BLOB, hash BLOB NOT NULL
    ) STRICT;
    """,
)
"""Step i leads from format i to format i + 1; a step that was released is never edited."""

FAILURES = (apsw.Error, OSError, UnicodeDecodeError)
"""What the disk may answer with; SQLite hands out text as it finds it, also where a byte was changed."""

_COLUMNS = "seq, id, head, salt, payload, hash"
_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)"

# As Record._make, but without a call into Python for each row.
_record: Callable[[Iterable[object]], Record] = partial(tuple.__new__, Record)


class Pending:
    """One call of `append` that waits for its group to be committed."""

    __slots__ = ("drafts", "expect_seq", "future")

    def __init__(self, drafts: Sequence[Draft] | Sequence[Record], expect_seq: int | None) -> None:
        self.drafts = drafts
        self.expect_seq = expect_seq
        self.future: asyncio.Future[list[Record]] = asyncio.get_running_loop().create_future()

    def answer(self, outcome: list[Record] | BaseException) -> None:
        """Tell the caller, unless it has stopped waiting."""
        if self.future.done():
            return
        if isinstance(outcome, BaseException):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class LogFile:
    """The file of one person: blocking calls, to be made from one thread at a time."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._db = _open(path, read_only=read_only)
        self._in_doubt = False

    def head(self) -> Point:
        """Return the place of the newest event as it is in the file."""
        rows = list(self._db.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"))
        return Point(*rows[0]) if rows else Point(0, GENESIS)

    def read(self, after: int, limit: int) -> list[Record]:
        """Return at most `limit` records behind a number."""
        sql = f"SELECT {_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
        try:
            return list(map(_record, self._db.execute(sql, (after, limit))))
        except UnicodeDecodeError as error:
            raise self._illegible(after) from error

    def fetch(self, seqs: Sequence[int]) -> list[Record]:
        """Return the records with these numbers."""
        found: list[Record] = []
        for seq in sorted(set(seqs)):
            try:
                found += map(
                    _record, self._db.execute(f"SELECT {_COLUMNS} FROM events WHERE seq = ?", (seq,))
                )
            except UnicodeDecodeError as error:
                raise self._illegible(seq - 1) from error
        return found

    def _illegible(self, after: int) -> Corrupt:
        """Return the error for the first event behind a number of which the disk has spoiled the text."""
        legible = after
        with suppress(UnicodeDecodeError):
            for row in self._db.execute("SELECT seq, id FROM events WHERE seq > ? ORDER BY seq", (after,)):
                legible = cast("int", row[0])
        return broken(legible + 1, "its id is not text")

    def commit(self, group: Sequence[Pending]) -> list[list[Record] | Exception]:
        """Write all calls of a group in one transaction and return what became of each.

        An exception leaves nothing of the group behind.
        """
        self._db.execute("BEGIN IMMEDIATE")
        try:
            head = self.head()
            outcomes = self._append_all(group, head) or self._append_each(group, head)
            self._in_doubt = True
            self._db.execute("COMMIT")
            self._in_doubt = False
        except BaseException as error:
            # What found no space was not written whole; after any other failure of a commit there is doubt.
            self._in_doubt = self._in_doubt and not isinstance(error, apsw.FullError)
            self._roll_back()
            raise
        return outcomes

    def erase_failed(self) -> bool:
        """Let no recovery find what a failed commit left behind; return whether that is certain.

        A commit of which only the flush failed stands complete in the write-ahead log: that log is emptied.
        """
        if not self._in_doubt:
            return True
        try:
            busy, _, _ = next(self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            descriptor = os.open(f"{self._path}-wal", os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except (apsw.Error, OSError):
            return False
        return busy == 0

    def _append_all(self, group: Sequence[Pending], head: Point) -> list[list[Record] | Exception] | None:
        """Write all calls by one statement; None, and nothing written, when one of them needs a closer look."""
        start, every = head.seq, list[Record]()
        outcomes: list[list[Record] | Exception] = []
        for pending in group:
            if pending.expect_seq is not None and pending.expect_seq != head.seq:
                return None
            try:
                records = sealed(pending.drafts, head)
            except Rejected:
                return None
            head = Point(records[-1].seq, records[-1].hash)
            outcomes.append(records)
            every += records
        try:
            self._db.executemany(_INSERT, every)
        except apsw.ConstraintError:
            self._db.execute("DELETE FROM events WHERE seq > ?", (start,))
            return None
        return outcomes

    def _append_each(self, group: Sequence[Pending], head: Point) -> list[list[Record] | Exception]:
        """Write the calls one by one, so that each gets its own answer."""
        outcomes: list[list[Record] | Exception] = []
        for pending in group:
            outcome = self._append(pending, head)
            outcomes.append(outcome)
            if isinstance(outcome, list) and outcome and outcome[-1].seq > head.seq:
                head = Point(outcome[-1].seq, outcome[-1].hash)
        return outcomes

    def _append(self, pending: Pending, head: Point) -> list[Record] | Exception:
        if pending.expect_seq is not None and pending.expect_seq != head.seq:
            return self._repeated(pending) or _stale(head.seq, pending.expect_seq)
        try:
            records = sealed(pending.drafts, head)
            self._db.executemany(_INSERT, records)
        except Rejected as refusal:
            return self._repeated(pending) or refusal
        except apsw.ConstraintError:
            self._db.execute("DELETE FROM events WHERE seq > ?", (head.seq,))
            return self._repeated(pending) or _reused()
        return records

    def _repeated(self, pending: Pending) -> list[Record] | None:
        """Return the stored records when exactly this batch, in this order, is stored already."""
        known: list[Record] = []
        for draft in pending.drafts:
            rows = self._db.execute(f"SELECT {_COLUMNS} FROM events WHERE id = ?", (draft.id,))
            known += map(_record, rows)
        same = len(known) == len(pending.drafts) and all(
            draft == record
            if isinstance(draft, Record)
            else draft.payload == record.payload and record.seq == known[0].seq + place
            for place, (draft, record) in enumerate(zip(pending.drafts, known, strict=True))
        )
        return known if same else None

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file."""
        self._db.close()


class SqliteLog:
    """Keeps each person's events in a file of their own, with group commit.

    `path_of` gives the file of a person. Calls that arrive while a commit is under way are written together by
    the next one, so that many callers share the price of one disk flush.
    """

    def __init__(
        self, path_of: Callable[[str], Path], worker: Worker, *, clock: Clock, read_only: bool = False
    ) -> None:
        self._path_of = path_of
        self._worker = worker
        self._clock = clock
        self._read_only = read_only
        self._files: dict[str, LogFile] = {}
        self._waiting: dict[str, list[Pending]] = {}
        self._writers: dict[str, asyncio.Task[None]] = {}

    async def append(
        self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
    ) -> list[Record]:
        """Append all drafts as one batch, or nothing; what is returned is on disk."""
        assert drafts, "an empty batch has no place in the log"
        pending = Pending(drafts, expect_seq)
        self._waiting.setdefault(user, []).append(pending)
        if user not in self._writers:
            self._writers[user] = asyncio.create_task(self._write(user))
        return await pending.future

    async def _write(self, user: str) -> None:
        """Commit what waits, group by group, until nothing waits."""
        waiting = self._waiting[user]
        group: list[Pending] = []
        try:
            while waiting:
                group = waiting[:GROUP_MAX]
                del waiting[:GROUP_MAX]
                await self._commit(user, group)
        except BaseException as error:
            # Nobody may be left waiting for an answer that will not come.
            for pending in (*group, *waiting):
                pending.answer(error)
            waiting.clear()
            raise
        finally:
            del self._writers[user]

    async def _commit(self, user: str, group: Sequence[Pending]) -> None:
        outcomes: Sequence[list[Record] | Exception]
        try:
            outcomes = await self._worker.run(lambda: self._file(user).commit(group))
        except FAILURES as error:
            certain = await self._worker.run(lambda: self._let_go(user))
            outcomes = [_explained(error, self._path_of(user), certain=certain)] * len(group)
        except ChoirError as error:
            outcomes = [error] * len(group)
        for pending, outcome in zip(group, outcomes, strict=True):
            pending.answer(outcome)

    def _let_go(self, user: str) -> bool:
        """After a failed write start from the disk again; return whether it is certain that nothing was written."""
        file = self._files.pop(user, None)
        if file is None:
            return True
        certain = file.erase_failed()
        with suppress(apsw.Error):
            file.close()
        return certain

    def _file(self, user: str) -> LogFile:
        """Return the open file of a person; the worker alone calls this, so that there is never a second one."""
        if user not in self._files:
            self._files[user] = LogFile(self._path_of(user), read_only=self._read_only)
        return self._files[user]

    async def _ask(self, user: str, call: Callable[[LogFile], T]) -> T:
        try:
            return await self._worker.run(lambda: call(self._file(user)))
        except FAILURES as error:
            raise _explained(error, self._path_of(user)) from error

    async def head(self, user: str) -> Point:
        """Return the place of the newest event."""
        return await self._ask(user, LogFile.head)

    async def read(
        self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000
    ) -> AsyncIterator[list[Record]]:
        """Return the records behind a number, in lists."""
        left = limit
        while left is None or left > 0:
            count = batch if left is None else min(batch, left)
            records = await self._ask(user, lambda file, start=after, count=count: file.read(start, count))
            if not records:
                return
            yield records
            after = records[-1].seq
            left = None if left is None else left - len(records)

    async def fetch(self, user: str, seqs: Sequence[int]) -> list[Record]:
        """Return the records with these numbers."""
        return await self._ask(user, lambda file: file.fetch(seqs))

    async def follow(self, user: str, after: int) -> AsyncIterator[list[Record]]:
        """Return records behind a number, then look for new ones, also by other processes, for ever."""
        while True:
            async for records in self.read(user, after):
                yield records
                after = records[-1].seq
            await self._clock.sleep(FOLLOW_S)

    async def close(self) -> None:
        """Finish what was accepted, then close all files."""
        for writer in list(self._writers.values()):
            await writer
        for file in self._files.values():
            await self._worker.run(file.close)
        self._files.clear()


def _open(path: Path, *, read_only: bool) -> apsw.Connection:
    if _is_cut(path):
        raise _damaged(path, "it was cut short")
    if _is_read_only(path):
        db, read_only = _fixed(path), True
    else:
        flags = apsw.SQLITE_OPEN_READWRITE | (0 if read_only else apsw.SQLITE_OPEN_CREATE)
        db = apsw.Connection(str(path), flags=flags)
    try:
        db.set_busy_timeout(5000)
        # A file that is refused stays as it was found, byte for byte, with its write-ahead log.
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        version = _checked_format(db, path, read_only=read_only)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        if read_only:
            db.pragma("query_only", 1)
        else:
            db.pragma("page_size", PAGE)
            db.pragma("journal_mode", "WAL")
            db.pragma("synchronous", "FULL")
            _migrate(db, path, version=version)
    except BaseException:
        db.close()
        raise
    return db


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
    return not mended and path.is_file() and _size(path) % PAGE != 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _checked_format(db: apsw.Connection, path: Path, *, read_only: bool) -> int:
    """Return the format of the file, 0 for a new one, after checking that it is a log that is known."""
    marked, version = db.pragma("application_id"), db.pragma("user_version")
    is_new = marked == 0 and version == 0 and db.pragma("schema_version") == 0 and not read_only
    if not is_new and marked != APPLICATION_ID:
        raise Corrupt(
            "log.foreign",
            f"{path.name} is a database, but not a ChoirOS log.",
            fix="Move that file away; restore log.db from a backup if there was one.",
            file=path.name,
        )
    if not isinstance(version, int) or version > len(MIGRATIONS):
        raise Rejected(
            "log.newer",
            f"The log has format {version}; this program knows format {len(MIGRATIONS)}.",
            fix="Use the newer ChoirOS that wrote it. Nothing was changed.",
            format=str(version),
        )
    return version


def _migrate(db: apsw.Connection, path: Path, *, version: int) -> None:
    """Carry out the missing steps in one transaction, after a copy of the file as it was."""
    if version == len(MIGRATIONS):
        return
    if version > 0:
        kept = path.with_name(f"{path.stem}.format-{version}{path.suffix}")
        kept.unlink(missing_ok=True)
        db.execute("VACUUM INTO ?", (str(kept),))
    with db:
        for step in MIGRATIONS[version:]:
            db.execute(step)
        db.execute(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={len(MIGRATIONS)};")


def _stale(seq: int, expected: int) -> Conflict:
    return Conflict(
        "log.stale",
        f"The log is at event {seq}, not at {expected}.",
        fix="Read what is new, then decide again.",
        seq=seq,
    )


def _reused() -> Rejected:
    return Rejected(
        "log.id_reused",
        "An event with one of these ids is stored already, with other content or without the others.",
        fix="Give every new event a new id.",
    )


def _damaged(path: Path, reason: str) -> Corrupt:
    return Corrupt(
        "log.damaged",
        f"{path.name} is damaged: {reason}.",
        fix="Nothing was changed. Copy the file aside and restore it from a backup.",
        file=path.name,
    )


def _explained(error: Exception, path: Path, *, certain: bool = True) -> Unavailable | Corrupt:
    if isinstance(error, UnicodeDecodeError):
        return _damaged(path, "text in it is not valid UTF-8")
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.SQLError)):
        return _damaged(path, str(error))
    if isinstance(error, apsw.FullError):
        reason, fix = "the disk is full", "Free some space, then try again."
    elif isinstance(error, (apsw.BusyError, apsw.LockedError)):
        reason, fix = "another program holds it", "Close the other program, then try again."
    else:
        reason, fix = str(error), "Check the disk and the permissions of the data directory, then try again."
    if not certain:
        return Unavailable(
            "log.uncertain",
            f"The log could not be written: {reason}. Whether the last change was kept is not certain.",
            fix="Check the disk, then look at 'choir log' before you wish for it again.",
            file=path.name,
        )
    return Unavailable(
        "log.unavailable", f"The log cannot be used: {reason}. Nothing was written.", fix=fix, file=path.name
    )
