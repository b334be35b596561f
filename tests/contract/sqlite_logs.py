"""SQLite logs on a real disk, and what their files hold."""

from pathlib import Path

from msgspec import Struct

from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import MIGRATIONS, SqliteLog
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.event import Record
from choiros.kernel.journal import Journal
from choiros.kernel.registry import EventType, Registry
from choiros.testing.log_contract import draft

ROUNDS = 6
FORMAT = len(MIGRATIONS)


class Noted(Struct):
    pass


def log_at(directory: Path) -> SqliteLog:
    return SqliteLog(lambda _: directory / "log.db", InlineWorker(), clock=SystemClock())


def journal_at(directory: Path) -> Journal:
    return Journal(log_at(directory), Registry([EventType("note", Noted)]), user="me")


def everything(directory: Path) -> dict[str, bytes]:
    """Return what all files hold, but for the index that SQLite keeps in memory, and empty ones."""
    files = [path for path in directory.iterdir() if path.is_file() and not path.name.endswith("-shm")]
    return {path.name: content for path in files if (content := path.read_bytes())}


async def filled(directory: Path, count: int = 6) -> list[Record]:
    log = log_at(directory)
    records = [record for number in range(count) for record in await log.append("me", [draft(number)])]
    await log.close()
    return records
