"""The log on a real disk: what was acknowledged is there, what was changed is found, what is foreign is refused."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import APPLICATION_ID, LogFile, SqliteLog
from choiros.engines.worker.thread import ThreadWorker
from choiros.kernel.errors import Corrupt
from choiros.kernel.event import GENESIS, Point, Record, seal
from choiros.testing.log_contract import draft, drafts, read_all
from tests.contract.sqlite_logs import FORMAT, ROUNDS, filled, journal_at, log_at
from tests.contract.watched_disk import watched_disk

# --- Acknowledged is on disk ---

WRITING = """
    import asyncio, sys
    from pathlib import Path
    from choiros.engines.clock.system import SystemClock
    from choiros.engines.log.sqlite import SqliteLog
    from choiros.engines.worker.thread import ThreadWorker
    from choiros.testing.log_contract import draft

    async def write(log, writer, start):
        number = start + 10_000 * writer
        while True:
            records = await log.append("me", [draft(number + step, b"x" * 700) for step in range(3)])
            print(*(record.seq for record in records), flush=True)
            number += 3

    async def main():
        log = SqliteLog(lambda _: Path(sys.argv[1]), ThreadWorker("log"), clock=SystemClock())
        await asyncio.gather(*(write(log, writer, int(sys.argv[2])) for writer in range(5)))

    asyncio.run(main())
"""


def killed_after(path: Path, acknowledged: int, start: int) -> list[int]:
    """Let a process write, kill it right after so many acknowledgements, and return the numbers it had told."""
    command = [sys.executable, "-c", textwrap.dedent(WRITING), str(path), str(start)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(acknowledged)]
        os.kill(process.pid, signal.SIGKILL)
        told += [line for line in process.stdout.readlines() if line.endswith("\n")]
    return [int(seq) for line in told for seq in line.split()]


def test_what_append_returned_survives_a_kill_at_once_and_nothing_is_half_written(tmp_path: Path) -> None:
    """C-18."""
    known: set[int] = set()
    for number in range(ROUNDS):
        known |= set(killed_after(tmp_path / "log.db", 1 + 17 * number, 1_000_000 * (number + 1)))
        records = asyncio.run(read_all(log_at(tmp_path)))
        assert known <= {record.seq for record in records}
        assert len(records) % 3 == 0
        first = [int(record.id[-12:], 16) for record in records[::3]]
        assert [record.id for record in records] == [
            one.id for at in first for one in drafts(range(at, at + 3))
        ]
    assert len(known) >= 3 * sum(1 + 17 * number for number in range(ROUNDS))


def test_the_durable_settings_are_really_in_force(tmp_path: Path) -> None:
    """F-05."""
    file = LogFile(tmp_path / "log.db")
    values = {name: file._db.pragma(name) for name in ("journal_mode", "synchronous", "mmap_size")}
    assert values == {"journal_mode": "wal", "synchronous": 2, "mmap_size": 0}
    marks = {name: file._db.pragma(name) for name in ("application_id", "user_version", "page_size")}
    assert marks == {"application_id": APPLICATION_ID, "user_version": FORMAT, "page_size": 4096}
    file.close()


def test_a_log_holds_records_each_number_and_each_id_once(tmp_path: Path) -> None:
    """F-05."""
    db = LogFile(tmp_path / "log.db")._db
    assert [name for (name,) in db.execute("SELECT name FROM pragma_table_info('events')")] == [
        *Record._fields
    ]
    assert list(db.execute("SELECT name FROM pragma_table_info('events') WHERE pk")) == [("seq",)]
    assert list(db.execute("SELECT \"unique\" FROM pragma_index_list('events')")) == [(1,)]
    db.close()


def test_sqlite_is_one_without_the_race_in_its_write_ahead_log() -> None:
    assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= (3, 51, 3)


def test_nothing_is_acknowledged_before_it_is_flushed(tmp_path: Path) -> None:
    async def story() -> None:
        log = log_at(tmp_path)
        for number in range(20):
            await log.append("me", [draft(number)])
            assert disk.calls[-1] == "sync log.db-wal"
            assert "write log.db-wal" in disk.calls
            disk.calls.clear()
        await log.close()

    with watched_disk() as disk:
        asyncio.run(story())


def test_callers_that_come_together_share_a_flush(tmp_path: Path) -> None:
    async def story() -> int:
        worker = ThreadWorker("log")
        log = SqliteLog(lambda _: tmp_path / "log.db", worker, clock=SystemClock())
        await log.append("me", [draft(0)])
        disk.calls.clear()
        await asyncio.gather(*(log.append("me", [draft(number)]) for number in range(1, 201)))
        flushes = disk.calls.count("sync log.db-wal")
        await log.close()
        worker.close()
        return flushes

    with watched_disk() as disk:
        assert asyncio.run(story()) <= 10


def opened(path: Path) -> list[str]:
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sorted(link.rpartition("/")[2] for link in links if link.startswith(str(path)))


def test_one_connection_writes_a_log_however_many_ask_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        worker = ThreadWorker("log")
        log = SqliteLog(lambda _: tmp_path / "log.db", worker, clock=SystemClock())
        asks = [
            log.append("me", [draft(1)]),
            log.head("me"),
            read_all(log),
            log.fetch("me", [1]),
            log.head("me"),
        ]
        await asyncio.gather(*asks)
        assert opened(tmp_path) == ["log.db", "log.db-shm", "log.db-wal"]
        await log.close()
        assert opened(tmp_path) == []
        worker.close()

    asyncio.run(story())


def test_a_clock_that_goes_backwards_keeps_the_order(tmp_path: Path) -> None:
    async def story() -> None:
        log = log_at(tmp_path)
        for number in (50, 40, 30, 99, 1):
            await log.append("me", [draft(number)])
        await log.close()
        numbers = [int(record.id[-12:], 16) for record in await read_all(log_at(tmp_path))]
        assert numbers == [50, 40, 30, 99, 1]

    asyncio.run(story())


# --- Two processes ---

TAKING_TURNS = """
    import asyncio, sys
    from pathlib import Path
    from choiros.engines.clock.system import SystemClock
    from choiros.engines.lock.file import FileLock
    from choiros.engines.log.sqlite import SqliteLog
    from choiros.engines.worker.inline import InlineWorker
    from choiros.testing.log_contract import draft

    async def main(place, start):
        log = SqliteLog(lambda _: place / "log.db", InlineWorker(), clock=SystemClock())
        lock = FileLock(place / "lock", SystemClock())
        for number in range(start, start + 40):
            await lock.acquire(60)
            head = await log.head("me")
            await log.append("me", [draft(number)], expect_seq=head.seq)
            lock.release()
        await log.close()

    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


def test_two_processes_that_take_turns_write_one_history(tmp_path: Path) -> None:
    """F-05."""
    command = [sys.executable, "-c", textwrap.dedent(TAKING_TURNS), str(tmp_path)]
    with subprocess.Popen([*command, "1000"]) as one, subprocess.Popen([*command, "2000"]) as other:
        assert (one.wait(60), other.wait(60)) == (0, 0)
    records = asyncio.run(read_all(log_at(tmp_path)))
    assert {record.id for record in records} == {
        one.id for one in drafts([*range(1000, 1040), *range(2000, 2040)])
    }


def test_a_follower_sees_what_another_process_writes(tmp_path: Path) -> None:
    async def story() -> None:
        log = log_at(tmp_path)
        await log.append("me", [draft(1)])
        command = [sys.executable, "-c", textwrap.dedent(TAKING_TURNS), str(tmp_path), "5000"]
        process = await asyncio.create_subprocess_exec(*command)
        seen: list[int] = []
        async for records in log.follow("me", 0):
            seen.extend(record.seq for record in records)
            if len(seen) >= 41:
                break
        assert seen == list(range(1, 42))
        assert await process.wait() == 0
        await log.close()

    asyncio.run(asyncio.wait_for(story(), 60))


# --- Somebody changes the file ---

Change = Callable[[sqlite3.Connection], object]


def retyped(db: sqlite3.Connection, change: str) -> None:
    """Give a column a value that the schema forbids, as a changed byte in the file can."""
    schema = "CREATE TABLE events(seq INTEGER PRIMARY KEY, id TEXT UNIQUE, head, salt, payload, hash)"
    db.executescript(
        f"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '{schema}' WHERE name = 'events';"
        "PRAGMA writable_schema = RESET;"
    )
    db.execute(f"UPDATE events SET {change} WHERE seq = 3")


FORGED = seal(draft(77), Point(2, bytes(32)))
CHANGES: dict[str, tuple[Change, int]] = {
    "payload edited": (lambda db: db.execute("UPDATE events SET payload = x'7b7d20' WHERE seq = 3"), 3),
    "head edited": (
        lambda db: db.execute("UPDATE events SET head = CAST(head || x'20' AS BLOB) WHERE seq = 3"),
        3,
    ),
    "salt edited": (lambda db: db.execute("UPDATE events SET salt = zeroblob(16) WHERE seq = 3"), 3),
    "hash edited": (lambda db: db.execute("UPDATE events SET hash = zeroblob(32) WHERE seq = 3"), 3),
    "id edited": (lambda db: db.execute("UPDATE events SET id = 'other' WHERE seq = 3"), 3),
    "row deleted": (lambda db: db.execute("DELETE FROM events WHERE seq = 3"), 3),
    "first row deleted": (lambda db: db.execute("DELETE FROM events WHERE seq = 1"), 1),
    "row deleted and the rest moved up": (
        lambda db: db.executescript(
            "DELETE FROM events WHERE seq = 3; UPDATE events SET seq = seq - 1 WHERE seq > 3"
        ),
        3,
    ),
    "row inserted": (
        lambda db: (
            db.execute("UPDATE events SET seq = -seq WHERE seq > 2"),
            db.execute("UPDATE events SET seq = 1 - seq WHERE seq < 0"),
            db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", FORGED),
        ),
        3,
    ),
    "rows exchanged": (
        lambda db: db.executescript(
            "UPDATE events SET seq = -3 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 4;"
            "UPDATE events SET seq = 4 WHERE seq = -3"
        ),
        3,
    ),
    "payloads exchanged": (
        lambda db: db.executescript(
            "UPDATE events SET payload = (SELECT payload FROM events WHERE seq = 4) WHERE seq = 3;"
            "UPDATE events SET payload = x'7b2261223a317d' WHERE seq = 4"
        ),
        4,
    ),
    "head turned into a number": (lambda db: retyped(db, "head = 7"), 3),
    "salt turned into a number": (lambda db: retyped(db, "salt = 7"), 3),
    "hash turned into nothing": (lambda db: retyped(db, "hash = NULL"), 3),
    "first row numbered 0": (lambda db: db.execute("UPDATE events SET seq = 0 WHERE seq = 1"), 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_in_the_file_is_found_and_the_event_is_named(
    tmp_path: Path, change: tuple[Change, int]
) -> None:
    asyncio.run(filled(tmp_path))
    with sqlite3.connect(tmp_path / "log.db") as db:
        change[0](db)
    db.close()

    async def read() -> None:
        async for _ in journal_at(tmp_path).events(Point(0, GENESIS)):
            pass

    with pytest.raises(Corrupt) as caught:
        asyncio.run(read())
    assert (caught.value.code, caught.value.fields["seq"]) == ("log.broken", change[1])


def test_a_tail_that_was_cut_off_is_found_by_who_knows_the_head(tmp_path: Path) -> None:
    records = asyncio.run(filled(tmp_path))
    with sqlite3.connect(tmp_path / "log.db") as db:
        db.execute("DELETE FROM events WHERE seq > 4")
    db.close()
    with pytest.raises(Corrupt) as caught:
        asyncio.run(journal_at(tmp_path).point(6))
    assert caught.value.fields["seq"] == 6
    head = asyncio.run(journal_at(tmp_path).head())
    assert head == Point(4, records[3].hash)
