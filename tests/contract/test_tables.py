"""The derived tables keep the promises of the port; those on disk also about damage and crashes."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from choiros.engines.tables.sqlite import APPLICATION_ID, FORMAT, SqliteCabinet, SqliteTables
from choiros.kernel.errors import Corrupt, Rejected, Unavailable
from choiros.kernel.tables import Snapshot
from choiros.testing.tables_contract import (
    ROWS,
    CabinetContract,
    Harm,
    MakeCabinet,
    MakeTables,
    TablesContract,
    contents,
    current,
    filled,
)


class TestTablesInMemory(TablesContract):
    @pytest.fixture
    def make(self) -> MakeTables:
        return SqliteTables


class TestTablesOnDisk(TablesContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> MakeTables:
        return lambda: SqliteTables(tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite")


class TestCabinet(CabinetContract):
    @pytest.fixture
    def cabinets(self, tmp_path: Path) -> MakeCabinet:
        return lambda: SqliteCabinet(tmp_path)

    @pytest.fixture
    def harm(self, tmp_path: Path) -> Harm:
        def harm(snapshot: Snapshot) -> None:
            path = file_of(tmp_path, snapshot)
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes(content)

        return harm

    @pytest.fixture
    def lose(self, tmp_path: Path) -> Harm:
        return lambda snapshot: file_of(tmp_path, snapshot).unlink()


def file_of(directory: Path, snapshot: Snapshot) -> Path:
    (path,) = directory.glob(f"snapshots/*{snapshot.digest}*")
    return path


def everything(directory: Path) -> dict[str, bytes]:
    """Return what all files hold, but for the index that SQLite keeps in memory, and empty ones."""
    files = [path for path in directory.iterdir() if path.is_file() and not path.name.endswith("-shm")]
    return {path.name: content for path in files if (content := path.read_bytes())}


def made(path: Path, *, wal: bool = False, application: int = APPLICATION_ID, version: int = FORMAT) -> None:
    """Make a database as another program would; with `wal`, all of it is left in the write-ahead log."""
    db = apsw.Connection(str(path))
    if wal:
        db.pragma("journal_mode", "WAL")
    db.execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES (1);")
    db.pragma("application_id", application)
    db.pragma("user_version", version)
    if wal:
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.close()


def test_the_tables_wait_for_no_disk_flush_but_survive_a_crash(tmp_path: Path) -> None:
    tables = SqliteTables(tmp_path / "state.sqlite")
    assert tables.query("PRAGMA journal_mode") == [("wal",)]
    assert tables.query("PRAGMA synchronous") == [(1,)]
    assert tables.query("PRAGMA cache_size") == [(-32000,)]
    assert tables.query("PRAGMA application_id") == [(APPLICATION_ID,)]
    assert tables.query("PRAGMA user_version") == [(FORMAT,)]
    tables.close()


# --- Other programs ---


@pytest.mark.parametrize("wal", [False, True], ids=["plain", "with a write-ahead log"])
def test_tables_of_a_newer_program_are_refused_and_stay_as_they_are(tmp_path: Path, wal: bool) -> None:
    made(tmp_path / "state.sqlite", wal=wal, version=FORMAT + 1)
    before = everything(tmp_path)
    with pytest.raises(Rejected) as caught:
        SqliteCabinet(tmp_path).open()
    assert caught.value.code == "state.newer"
    assert everything(tmp_path) == before


@pytest.mark.parametrize("wal", [False, True], ids=["plain", "with a write-ahead log"])
@pytest.mark.parametrize("marks", [(0, 0), (0, FORMAT), (1, FORMAT), (APPLICATION_ID, 0)], ids=str)
def test_a_database_of_something_else_is_never_taken_for_ours(
    tmp_path: Path, marks: tuple[int, int], wal: bool
) -> None:
    made(tmp_path / "state.sqlite", wal=wal, application=marks[0], version=marks[1])
    before = everything(tmp_path)
    with pytest.raises(Corrupt) as caught:
        SqliteCabinet(tmp_path).open()
    assert caught.value.code == "state.damaged"
    assert everything(tmp_path) == before


# --- Damage ---


def damage_header(content: bytearray) -> None:
    content[:16] = bytes(16)


def damage_page(content: bytearray) -> None:
    content[4096:8192] = b"\xff" * 4096


def damage_schema(content: bytearray) -> None:
    content[100:4096] = b"\xff" * 3996


def cut_short(content: bytearray) -> None:
    del content[4096 + 100 :]


def replace_by_text(content: bytearray) -> None:
    content[:] = b"not a database at all\n" * 1000


@pytest.mark.parametrize("damage", [damage_header, damage_page, damage_schema, cut_short, replace_by_text])
def test_a_damaged_file_is_noticed_at_the_latest_when_it_is_read(
    tmp_path: Path, damage: Callable[[bytearray], None]
) -> None:
    filled(SqliteCabinet(tmp_path).open()).close()
    path = tmp_path / "state.sqlite"
    content = bytearray(path.read_bytes())
    damage(content)
    path.write_bytes(content)
    with pytest.raises(Corrupt) as caught:
        contents(SqliteCabinet(tmp_path).open())
    assert caught.value.code == "state.damaged"
    assert "choir rebuild" in caught.value.fix


def test_text_that_is_no_text_any_more_is_damage_however_it_is_asked_for(tmp_path: Path) -> None:
    tables = SqliteCabinet(tmp_path).open()
    tables.script("CREATE TABLE notes(word TEXT PRIMARY KEY) STRICT; INSERT INTO notes VALUES ('umbrella')")
    tables.close()
    path = tmp_path / "state.sqlite"
    path.write_bytes(path.read_bytes().replace(b"umbrella", b"umbr\xff\xfe\xfda"))
    tables = SqliteCabinet(tmp_path).open()
    for ask in (lambda: tables.query("SELECT word FROM notes"), lambda: tables.digest(["notes"])):
        with pytest.raises(Corrupt, match="not valid UTF-8") as caught:
            ask()
        assert caught.value.code == "state.damaged"
    tables.close()


def test_a_snapshot_that_cannot_be_read_is_none_or_told_as_damaged(tmp_path: Path) -> None:
    cabinet = SqliteCabinet(tmp_path)
    tables = filled(cabinet.open())
    gone = cabinet.save(tables, 7)
    tables.script("CREATE TABLE more(word)")
    kept = cabinet.save(tables, 8)
    tables.close()
    file_of(tmp_path, gone).rename(tmp_path / "elsewhere")
    place = tmp_path / "snapshots" / f"{gone.seq:012d}-{gone.digest}.sqlite"
    os.mkfifo(place)
    assert cabinet.snapshots() == [kept]
    place.unlink()
    place.mkdir()
    assert cabinet.snapshots() == [kept]
    with pytest.raises(Corrupt) as caught:
        cabinet.beside(gone)
    assert caught.value.code == "snapshot.damaged"


def test_an_empty_file_is_an_empty_cabinet(tmp_path: Path) -> None:
    (tmp_path / "state.sqlite").touch()
    filled(SqliteCabinet(tmp_path).open()).close()
    assert current(SqliteCabinet(tmp_path)) == ROWS


def test_files_that_are_no_snapshots_are_not_listed(tmp_path: Path) -> None:
    cabinet = SqliteCabinet(tmp_path)
    tables = filled(cabinet.open())
    kept = cabinet.save(tables, 1)
    tables.close()
    for name in ("next.sqlite", "notes.txt", "12-abc.sqlite", f"x-{'a' * 64}.sqlite", f"-{'a' * 64}.sqlite"):
        (tmp_path / "snapshots" / name).touch()
    assert cabinet.snapshots() == [kept]


# --- No way ---


def test_a_full_disk_is_told_and_nothing_is_half_done(tmp_path: Path) -> None:
    tables = filled(SqliteTables(tmp_path / "state.sqlite"))
    pages = tables.query("PRAGMA page_count")[0][0]
    tables.query(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Unavailable) as caught, tables.transaction():
        tables.run(
            "INSERT INTO one VALUES (?, ?)", [(f"more {number}", bytes(1000)) for number in range(100)]
        )
    assert caught.value.code == "state.unavailable"
    assert contents(tables) == ROWS
    tables.query(f"PRAGMA max_page_count = {2**30}")
    tables.run("INSERT INTO one VALUES (?, ?)", [("x", bytes(100_000))])
    tables.close()


def test_a_place_that_is_no_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "state.sqlite").mkdir()
    with pytest.raises(Unavailable) as caught:
        SqliteCabinet(tmp_path).open()
    assert caught.value.code == "state.unavailable"


# --- Crashes ---


def test_a_crash_at_any_step_of_the_switch_leaves_tables_that_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ("unlink", "rename")
    for step in steps:
        for number in range(4):
            directory = tmp_path / f"{step}-{number}"
            filled(SqliteCabinet(directory).open(), [("old", 1)]).close()
            cabinet = SqliteCabinet(directory)
            filled(cabinet.beside(None), [("new", 1)]).close()
            with monkeypatch.context() as patch:
                patch.setattr(Path, step, dying(getattr(Path, step), number))
                with suppress(SystemExit):
                    cabinet.switch()
            tables = SqliteCabinet(directory).open()
            names = tables.query("SELECT name FROM sqlite_schema WHERE type = 'table'")
            assert (contents(tables) if names else []) in ([], [("old", 1)], [("new", 1)])
            tables.close()


def dying(call: Callable[..., object], number: int) -> Callable[..., object]:
    """Return the call that ends the program instead of being made for the n-th time."""
    calls = 0

    def made(*args: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls > number:
            raise SystemExit
        return call(*args, **options)

    return made


KILLED = """
    import os, sys, signal
    from pathlib import Path
    from choiros.engines.tables.sqlite import SqliteCabinet
    tables = SqliteCabinet(Path(sys.argv[1])).open()
    tables.script("CREATE TABLE one(name TEXT PRIMARY KEY, value) WITHOUT ROWID;")
    with tables.transaction():
        tables.run("INSERT INTO one VALUES (?, ?)", [("a", 1), ("b", 2)])
    with tables.transaction():
        tables.run("INSERT INTO one VALUES (?, ?)", [(f"half {n}", bytes(1000)) for n in range(5000)])
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_in_the_middle_of_a_transaction_leaves_what_was_before_it(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), tmp_path], check=False, timeout=60)
    assert done.returncode == -9
    assert current(SqliteCabinet(tmp_path)) == [("a", 1), ("b", 2)]


def test_what_a_killed_program_left_of_the_old_tables_does_not_meet_the_new_ones(tmp_path: Path) -> None:
    old = SqliteCabinet(tmp_path).open()
    filled(old)
    killed = {path: path.read_bytes() for path in tmp_path.glob("state.sqlite*")}
    assert len(killed) == 3, "the write-ahead log is still there"
    old.close()
    for path, content in killed.items():
        path.write_bytes(content)
    cabinet = SqliteCabinet(tmp_path)
    fresh = cabinet.beside(None)
    fresh.script("CREATE TABLE fresh(x INTEGER) STRICT;")
    fresh.close()
    cabinet.switch()
    opened = SqliteCabinet(tmp_path).open()
    assert opened.query("SELECT name FROM sqlite_schema") == [("fresh",)]
    assert opened.query("PRAGMA integrity_check") == [("ok",)]
    opened.close()


def test_the_switch_leaves_no_hold_on_what_it_replaced(tmp_path: Path) -> None:
    cabinet = SqliteCabinet(tmp_path)
    cabinet.open()
    filled(cabinet.beside(None)).close()
    cabinet.switch()
    held = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert [path for path in held if str(tmp_path) in path] == []


def test_a_snapshot_or_a_rebuild_that_a_crash_broke_off_leaves_no_file_for_long(tmp_path: Path) -> None:
    cabinet = SqliteCabinet(tmp_path)
    kept = cabinet.save(filled(cabinet.open()), 7)
    for name in ("next.sqlite", "next.sqlite-journal"):
        (tmp_path / "snapshots" / name).write_bytes(b"half a snapshot")
    filled(cabinet.beside(None))
    assert cabinet.snapshots() == [kept]
    assert [path.name for path in (tmp_path / "snapshots").iterdir()] == [f"{7:012d}-{kept.digest}.sqlite"]
    assert not list(tmp_path.glob("state.next*"))


def test_snapshots_that_cannot_be_kept_are_told_as_that(tmp_path: Path) -> None:
    cabinet = SqliteCabinet(tmp_path)
    tables = filled(cabinet.open())
    (tmp_path / "snapshots").write_bytes(b"something in the way")
    with pytest.raises(Unavailable, match="snapshots of the derived tables cannot be kept") as caught:
        cabinet.save(tables, 7)
    assert caught.value.code == "snapshot.unavailable"


def test_text_that_the_disk_has_spoiled_is_damage(tmp_path: Path) -> None:
    tables = filled(SqliteCabinet(tmp_path).open())
    tables.run("INSERT INTO one VALUES (?, ?)", [("a long enough name", 1)])
    tables.close()
    path = tmp_path / "state.sqlite"
    path.write_bytes(path.read_bytes().replace(b"long enough", b"long\xb6enough"))
    with pytest.raises(Corrupt, match="not valid UTF-8"):
        SqliteCabinet(tmp_path).open().query("SELECT * FROM one")


def test_a_rebuild_beside_that_cannot_be_written_says_so_in_words(tmp_path: Path) -> None:
    (tmp_path / "state.next.sqlite").mkdir()
    with pytest.raises(Unavailable) as caught:
        SqliteCabinet(tmp_path).beside(None)
    assert caught.value.code == "state.unavailable"


def test_a_text_that_rotted_on_the_disk_is_damage_in_words() -> None:
    tables = SqliteTables()
    tables.script("CREATE TABLE notes(text TEXT PRIMARY KEY)")
    tables._db.execute("INSERT INTO notes VALUES (CAST(x'61ff62' AS TEXT))")
    with pytest.raises(Corrupt) as caught:
        tables.query("SELECT text FROM notes")
    assert caught.value.code == "state.damaged"
    with pytest.raises(Corrupt):
        tables.digest(["notes"])
    tables.close()
