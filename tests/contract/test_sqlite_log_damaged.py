"""The log refuses what is damaged, foreign or newer, names it, and leaves it as it was; what is older it brings up."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from choiros.engines.clock.system import SystemClock
from choiros.engines.log import sqlite
from choiros.engines.log.sqlite import APPLICATION_ID, MIGRATIONS, SqliteLog
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import ChoirError, Corrupt, Rejected, Unavailable
from choiros.testing.log_contract import draft, read_all, seqs
from tests.contract.sqlite_logs import FORMAT, everything, filled, log_at

# --- Damage, and what is not ours ---


def cut(content: bytearray) -> None:
    del content[-1:]


def cut_to_nearly_nothing(content: bytearray) -> None:
    del content[1:]


def cut_a_page(content: bytearray) -> None:
    del content[-4096:]


def overwrite_a_page(content: bytearray) -> None:
    content[4096:8192] = bytes(4096)


def overwrite_the_beginning(content: bytearray) -> None:
    content[:100] = b"\xff" * 100


def replace_by_text(content: bytearray) -> None:
    content[:] = b"It was a dark and stormy night.\n" * 4096


@pytest.mark.parametrize(
    "damage",
    [cut, cut_to_nearly_nothing, cut_a_page, overwrite_a_page, overwrite_the_beginning, replace_by_text],
)
def test_a_damaged_file_is_refused_and_stays_as_it_is(
    tmp_path: Path, damage: Callable[[bytearray], None]
) -> None:
    asyncio.run(filled(tmp_path))
    content = bytearray((tmp_path / "log.db").read_bytes())
    damage(content)
    (tmp_path / "log.db").write_bytes(content)
    for ask in (lambda log: log.append("me", [draft(99)]), read_all):
        with pytest.raises(Corrupt) as caught:
            asyncio.run(asked(tmp_path, ask))
        assert caught.value.code in {"log.damaged", "log.foreign"}
        assert everything(tmp_path) == {"log.db": bytes(content)}


async def asked(directory: Path, ask: Callable[[SqliteLog], object]) -> object:
    log = log_at(directory)
    try:
        return await ask(log)  # pyright: ignore[reportGeneralTypeIssues] - each returns something to wait for
    finally:
        await log.close()


def made(path: Path, *, application: int, version: int, wal: bool) -> None:
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


@pytest.mark.parametrize("wal", [False, True], ids=["plain", "with a write-ahead log"])
@pytest.mark.parametrize(
    ("application", "version", "kind", "code"),
    [
        (APPLICATION_ID, FORMAT + 1, Rejected, "log.newer"),
        (APPLICATION_ID, 2**31 - 1, Rejected, "log.newer"),
        (0, 0, Corrupt, "log.foreign"),
        (0, FORMAT, Corrupt, "log.foreign"),
        (APPLICATION_ID + 1, FORMAT, Corrupt, "log.foreign"),
        (APPLICATION_ID, FORMAT, Corrupt, "log.damaged"),
    ],
)
def test_what_is_not_a_log_of_ours_is_refused_and_stays_byte_for_byte(
    tmp_path: Path, application: int, version: int, kind: type[ChoirError], code: str, wal: bool
) -> None:
    made(tmp_path / "log.db", application=application, version=version, wal=wal)
    before = everything(tmp_path)
    for ask in (lambda log: log.append("me", [draft(1)]), lambda log: log.head("me"), read_all):
        with pytest.raises(kind) as caught:
            asyncio.run(asked(tmp_path, ask))
        assert caught.value.code == code
        if code != "log.damaged":
            assert everything(tmp_path) == before


def test_an_empty_file_is_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "log.db").touch()
    assert len(asyncio.run(filled(tmp_path))) == 6


def test_a_file_that_the_first_start_left_half_made_is_made_whole(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "log.db"))
    db.pragma("journal_mode", "WAL")
    db.close()
    assert len(asyncio.run(filled(tmp_path))) == 6


# --- Formats ---


@pytest.fixture
def next_format(monkeypatch: pytest.MonkeyPatch) -> int:
    """The program as it will be with one more format."""
    monkeypatch.setattr(sqlite, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE more(x INTEGER) STRICT;"))
    return FORMAT + 1


def schema_of(path: Path) -> list[tuple[str]]:
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()
    db.close()
    return rows


def test_an_older_log_is_brought_up_to_date_after_a_copy_of_it_was_kept(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """C-32."""
    (tmp_path / "old").mkdir()
    records = asyncio.run(filled(tmp_path / "old"))
    request.getfixturevalue("next_format")
    assert asyncio.run(read_all(log_at(tmp_path / "old"))) == records
    (tmp_path / "new").mkdir()
    asyncio.run(filled(tmp_path / "new"))
    assert schema_of(tmp_path / "old" / "log.db") == schema_of(tmp_path / "new" / "log.db")
    kept = tmp_path / "old" / f"log.format-{FORMAT}.db"
    assert not (tmp_path / "new" / kept.name).exists()
    with sqlite3.connect(kept) as db:
        assert db.execute("SELECT * FROM events ORDER BY seq").fetchall() == records
        assert db.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    db.close()


def test_a_log_of_the_next_format_is_refused_by_this_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-32."""
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE more(x INTEGER) STRICT;"))
        asyncio.run(filled(tmp_path))
    before = everything(tmp_path)
    with pytest.raises(Rejected) as caught:
        asyncio.run(seqs(log_at(tmp_path)))
    assert caught.value.code == "log.newer"
    assert everything(tmp_path) == before


def test_a_log_that_is_only_read_is_never_written(tmp_path: Path) -> None:
    records = asyncio.run(filled(tmp_path))
    before = everything(tmp_path)

    async def story() -> None:
        log = SqliteLog(lambda _: tmp_path / "log.db", InlineWorker(), clock=SystemClock(), read_only=True)
        assert await read_all(log) == records
        with pytest.raises(Unavailable):
            await log.append("me", [draft(99)])
        await log.close()

    asyncio.run(story())
    assert everything(tmp_path) == before
