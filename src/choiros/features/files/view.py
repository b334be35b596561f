"""Every workspace's files, now and at any time: one row for what stands at a path, one for each change of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from msgspec import Struct

from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.kernel.event import Event
from choiros.kernel.path import fold
from choiros.kernel.tables import Row, Tables, Value
from choiros.kernel.tree import Entry, Kind, Stat

SCHEMA = """
CREATE TABLE files(
    workspace TEXT NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL, mode INTEGER NOT NULL, size INTEGER NOT NULL,
    content TEXT NOT NULL, target TEXT NOT NULL, seq INTEGER NOT NULL, folded TEXT NOT NULL,
    PRIMARY KEY (workspace, path)
) WITHOUT ROWID, STRICT;
CREATE INDEX files_folded ON files(workspace, folded);
CREATE TABLE file_history(
    workspace TEXT NOT NULL, path TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT, mode INTEGER, size INTEGER,
    content TEXT, target TEXT, moved_from TEXT, moved_to TEXT,
    PRIMARY KEY (seq, workspace, path)
) WITHOUT ROWID, STRICT;
CREATE INDEX file_history_path ON file_history(workspace, path, seq);
CREATE TABLE IF NOT EXISTS shown(
    workspace TEXT NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL, mode INTEGER NOT NULL, size INTEGER NOT NULL,
    content TEXT NOT NULL, target TEXT NOT NULL, stat_mode INTEGER NOT NULL, stat_size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, seen_ns INTEGER NOT NULL,
    PRIMARY KEY (workspace, path)
) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS merging(workspace TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;
"""

ABOUT_FOLDERS = ("shown", "merging")
"""Tables that are knowledge about the disk, not derived from the log."""

_ENTRY = "kind, mode, size, content, target"
# Updating a row in place leaves the index of folded names alone, which replacing it would write twice.
_WRITE = """
INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (workspace, path) DO UPDATE SET kind = excluded.kind, mode = excluded.mode, size = excluded.size,
    content = excluded.content, target = excluded.target, seq = excluded.seq
"""
_DELETE = "DELETE FROM files WHERE workspace = ? AND path = ?"
_REMEMBER = "INSERT INTO file_history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_CHUNK = 500


class Version(Struct, frozen=True):
    """What stood at a path from an event on; `entry` is None when nothing did."""

    path: str
    seq: int
    entry: Entry | None
    moved_from: str | None = None
    moved_to: str | None = None


class Shown(Struct, frozen=True):
    """What the folder was last known to show at a path, how it looked, and when that was seen."""

    entry: Entry
    stat: Stat
    seen_ns: int


class FilesProjector:
    """Keeps `files` and `file_history`.

    `shown` and `merging` lie in the same database, but are knowledge about the disk, not derived from the log.
    """

    name = "files"
    version = 1
    tables = ("files", "file_history")
    schema = SCHEMA

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables from the state before these events to the state after them."""
        remembered: list[tuple[Value, ...]] = []
        newest: dict[tuple[str, str], tuple[Value, ...] | None] = {}
        for event in events:
            seq = event.head.seq
            match event.payload:
                case FileWritten(workspace, path, entry):
                    columns = _columns(entry)
                    newest[workspace, path] = (*columns, seq)
                    remembered.append((workspace, path, seq, *columns, None, None))
                case FileDeleted(workspace, path):
                    newest[workspace, path] = None
                    remembered.append((workspace, path, seq, *_NOTHING, None, None))
                case FileMoved(workspace, path, to, entry):
                    columns = _columns(entry)
                    newest[workspace, path] = None
                    newest[workspace, to] = (*columns, seq)
                    remembered.append((workspace, path, seq, *_NOTHING, None, to))
                    remembered.append((workspace, to, seq, *columns, path, None))
                case _:
                    pass
        tables.run(_DELETE, [key for key, row in newest.items() if row is None])
        tables.run(_WRITE, [(*key, *row, fold(key[1])) for key, row in newest.items() if row is not None])
        tables.run(_REMEMBER, remembered)


_NOTHING = (None, None, None, None, None)


def _columns(entry: Entry) -> tuple[str, int, int, str, str]:
    return (entry.kind, entry.mode, entry.size, entry.content, entry.target)


def _entry(columns: Sequence[Value]) -> Entry:
    kind, mode, size, content, target = cast("tuple[Kind, int, int, str, str]", tuple(columns))
    return Entry(kind, mode, size, content, target)


class FilesView:
    """Answers questions about the files of all workspaces of one person."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def entry(self, workspace: str, path: str) -> Entry | None:
        """Return what stands at a path now."""
        return self.entries(workspace, [path])[path]

    def entries(self, workspace: str, paths: Iterable[str]) -> dict[str, Entry | None]:
        """Return what stands at each of these paths now."""
        found: dict[str, Entry | None] = dict.fromkeys(paths)
        for chunk in _chunks(list(found)):
            sql = f"SELECT path, {_ENTRY} FROM files WHERE workspace = ? AND path IN ({_marks(chunk)})"
            for path, *columns in self._tables.query(sql, (workspace, *chunk)):
                found[cast("str", path)] = _entry(columns)
        return found

    def below(self, workspace: str, directory: str = "") -> dict[str, Entry]:
        """Return everything below a directory, all files of the workspace for '', in order of path."""
        sql = f"SELECT path, {_ENTRY} FROM files WHERE workspace = ?"
        values: tuple[Value, ...] = (workspace,)
        if directory:
            # '0' is the character that follows '/': these are exactly the paths that begin with 'directory/'.
            sql += " AND path > ? AND path < ?"
            values += (directory + "/", directory + "0")
        rows = self._tables.query(sql + " ORDER BY path", values)
        return {cast("str", path): _entry(columns) for path, *columns in rows}

    def seqs(self, workspace: str, directory: str = "") -> dict[str, int]:
        """Return for everything below a directory the number of the event that last changed it."""
        sql = "SELECT path, seq FROM files WHERE workspace = ? AND (? = '' OR (path > ? AND path < ?))"
        rows = self._tables.query(sql, (workspace, directory, directory + "/", directory + "0"))
        return {cast("str", path): cast("int", seq) for path, seq in rows}

    def seqs_at(self, workspace: str, directory: str = "", *, seq: int) -> dict[str, int]:
        """Return for every path below a directory the number of the event that had last changed it by then."""
        rows = self._tables.query(
            "SELECT path, max(seq) FROM file_history WHERE workspace = ?1 AND seq <= ?2 "
            "AND (?3 = '' OR (path > ?4 AND path < ?5)) GROUP BY path",
            (workspace, seq, directory, directory + "/", directory + "0"),
        )
        return {cast("str", path): cast("int", newest) for path, newest in rows}

    def alike(self, workspace: str, path: str) -> list[str]:
        """Return the paths that a person, or another file system, takes for this one."""
        rows = self._tables.query(
            "SELECT path FROM files WHERE workspace = ? AND folded = ?", (workspace, fold(path))
        )
        return [cast("str", found) for (found,) in rows if found != path]

    def at(self, workspace: str, path: str, *, seq: int) -> Version | None:
        """Return what stood at a path right after an event; None when nothing ever had."""
        rows = self._versions(
            "workspace = ? AND path = ? AND seq <= ? ORDER BY seq DESC LIMIT 1", workspace, path, seq
        )
        return rows[0] if rows else None

    def below_at(self, workspace: str, directory: str, *, seq: int) -> dict[str, Entry]:
        """Return everything that stood below a directory right after an event."""
        values: tuple[Value, ...] = (workspace, seq)
        within = ""
        if directory:
            within = " AND path > ?3 AND path < ?4"
            values += (directory + "/", directory + "0")
        # CROSS JOIN fixes the order: first the newest number of each path, from the index alone, then its rows.
        rows = self._tables.query(
            f"SELECT path, {_ENTRY} FROM (SELECT path AS place, max(seq) AS newest FROM file_history "
            f"WHERE workspace = ?1 AND seq <= ?2{within} GROUP BY path) CROSS JOIN file_history "
            "ON seq = newest AND workspace = ?1 AND path = place WHERE kind IS NOT NULL ORDER BY path",
            values,
        )
        return {cast("str", path): _entry(columns) for path, *columns in rows}

    def history(self, workspace: str, path: str) -> list[Version]:
        """Return every change of a path, the oldest first."""
        return self._versions("workspace = ? AND path = ? ORDER BY seq", workspace, path)

    def changed_after(self, workspace: str, path: str, *, seq: int) -> list[Version]:
        """Return the changes of a path behind an event, the oldest first."""
        return self._versions("workspace = ? AND path = ? AND seq > ? ORDER BY seq", workspace, path, seq)

    def paths_changed(self, workspace: str, after: int, *, until: int) -> list[str]:
        """Return the paths that events with numbers in (after, until] changed."""
        # The plus keeps SQLite from reading the whole workspace by its index instead of these events alone.
        rows = self._tables.query(
            "SELECT DISTINCT path FROM file_history WHERE seq > ? AND seq <= ? AND +workspace = ? ORDER BY path",
            (after, until, workspace),
        )
        return [cast("str", path) for (path,) in rows]

    def touching(self, workspace: str, path: str) -> list[int]:
        """Return the numbers of the events that changed a path or something below it."""
        rows = self._tables.query(
            "SELECT seq FROM file_history WHERE workspace = ?1 AND path = ?2 UNION "
            "SELECT seq FROM file_history WHERE workspace = ?1 AND path > ?3 AND path < ?4",
            (workspace, path, path + "/", path + "0"),
        )
        return sorted(cast("int", seq) for (seq,) in rows)

    def count(self, workspace: str) -> int:
        """Return how many files, links and directories stand in a workspace."""
        rows = self._tables.query("SELECT count(*) FROM files WHERE workspace = ?", (workspace,))
        return cast("int", rows[0][0])

    def contents(self) -> Iterator[str]:
        """Return the digest of every content that any event names."""
        for (content,) in self._tables.query("SELECT DISTINCT content FROM file_history WHERE content <> ''"):
            yield cast("str", content)

    def _versions(self, where: str, *values: Value) -> list[Version]:
        sql = f"SELECT path, seq, moved_from, moved_to, {_ENTRY} FROM file_history WHERE {where}"
        return [_version(row) for row in self._tables.query(sql, values)]


def _version(row: Row) -> Version:
    path, seq, moved_from, moved_to, *columns = row
    entry = None if columns[0] is None else _entry(columns)
    path, seq = cast("str", path), cast("int", seq)
    return Version(path, seq, entry, cast("str | None", moved_from), cast("str | None", moved_to))


class ShownTable:
    """What each folder was last known to show; losing it costs reading the folder again, nothing else."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, workspace: str, paths: Iterable[str]) -> dict[str, Shown]:
        """Return what is known about these paths."""
        found: dict[str, Shown] = {}
        for chunk in _chunks(list(paths)):
            sql = f"SELECT * FROM shown WHERE workspace = ? AND path IN ({_marks(chunk)})"
            found.update(map(_shown, self._tables.query(sql, (workspace, *chunk))))
        return found

    def all(self, workspace: str) -> dict[str, Shown]:
        """Return what is known about a whole folder."""
        return dict(map(_shown, self._tables.query("SELECT * FROM shown WHERE workspace = ?", (workspace,))))

    def with_inodes(self, workspace: str, inodes: Iterable[int]) -> list[str]:
        """Return the paths at which these files were seen, wherever they are now."""
        found: list[str] = []
        for inode in inodes:
            rows = self._tables.query(
                "SELECT path FROM shown WHERE workspace = ? AND inode = ?", (workspace, inode)
            )
            found += [cast("str", path) for (path,) in rows]
        return found

    def put(self, workspace: str, known: Iterable[tuple[str, Shown | None]]) -> None:
        """Remember what a folder shows at paths, None for nothing."""
        known = list(known)
        gone = [(workspace, path) for path, shown in known if shown is None]
        rows = [_shown_row(workspace, path, shown=shown) for path, shown in known if shown is not None]
        with self._tables.transaction():
            self._tables.run("DELETE FROM shown WHERE workspace = ? AND path = ?", gone)
            self._tables.run(
                "INSERT OR REPLACE INTO shown VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )

    def begin(self, workspace: str) -> None:
        """Note that the folder is being changed; unless `end` follows, temporary files may be left in it."""
        self._tables.run("INSERT OR IGNORE INTO merging VALUES (?)", [(workspace,)])

    def end(self, workspace: str) -> None:
        """Note that the folder is no longer being changed."""
        self._tables.run("DELETE FROM merging WHERE workspace = ?", [(workspace,)])

    def was_broken_off(self, workspace: str) -> bool:
        """Return whether the process that changed the folder last did not come to its end."""
        return bool(self._tables.query("SELECT 1 FROM merging WHERE workspace = ?", (workspace,)))

    def forget(self, workspace: str) -> None:
        """Forget all about a folder."""
        self._tables.run("DELETE FROM shown WHERE workspace = ?", [(workspace,)])


def _shown(row: Row) -> tuple[str, Shown]:
    _, path, *rest = row
    mode, size, mtime_ns, ctime_ns, inode, seen_ns = cast(
        "tuple[int, int, int, int, int, int]", tuple(rest[5:])
    )
    entry = _entry(rest[:5])
    return cast("str", path), Shown(entry, Stat(entry.kind, mode, size, mtime_ns, ctime_ns, inode), seen_ns)


def _shown_row(workspace: str, path: str, *, shown: Shown) -> tuple[Value, ...]:
    stat = shown.stat
    look = (stat.mode, stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode)
    return (workspace, path, *_columns(shown.entry), *look, shown.seen_ns)


def _chunks(paths: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(paths), _CHUNK):
        yield paths[start : start + _CHUNK]


def _marks(chunk: Sequence[str]) -> str:
    return ", ".join("?" * len(chunk))
