"""Flips bits in a copy of a log, a snapshot and stored contents, and looks at what ChoirOS says of it."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import apsw

from choiros.cli.direct import connect
from choiros.engines.blob.disk import DiskBlobs
from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import SqliteLog
from choiros.engines.tables.sqlite import SqliteCabinet
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel import event
from choiros.kernel.errors import ChoirError, Corrupt
from choiros.kernel.event import GENESIS, Point
from choiros.kernel.journal import Journal
from choiros.kernel.tables import Snapshot
from choiros.settings import resolve
from choiros.wiring import registry
from tests.soak.witness import log_of

Rows = list[tuple[object, ...]]
NOTICED, UNCLEAR, HARMLESS, USED = (
    "flips noticed and localised",
    "flips noticed, but not localised",
    "flips of bytes that carry no data",
    "flips that were used unnoticed",
)


def fill(arguments: Mapping[str, Any]) -> int:
    """Make a data directory with a snapshot and a log of so many bytes, part of it in the write-ahead log."""
    home = Path(arguments["home"])
    asyncio.run(_fill(home, arguments["log_bytes"]))
    return 0


async def _fill(home: Path, log_bytes: int) -> None:
    resolved = resolve({"home": str(home), "snapshots.events_max": "20"}, {})
    for number in range(20):
        client = await connect(resolved, workspace=None, write=True)
        await client.write(f"f{number}.txt", _content(number), mode=None, run=None, base=None)
        await client.close()
    client = await connect(resolved, workspace=None, write=True)
    number = 0
    while log_of(home).stat().st_size < log_bytes:
        number += 1
        await client.write(f"f{number % 20}.txt", _content(number), mode=None, run=None, base=None)
        if number % 50 == 0:
            await client.close()
            client = await connect(resolved, workspace=None, write=True)
    # A copy of what lies there while it is open holds a write-ahead log as a crash would leave it.
    await client.write("last.txt", _content(number + 1), mode=None, run=None, base=None)
    aside = home.with_name(home.name + ".aside")
    shutil.copytree(home, aside, symlinks=True)
    await client.close()
    shutil.rmtree(home)
    aside.rename(home)


async def _content(number: int) -> AsyncIterator[bytes]:
    yield f"content {number}\n".encode() * 50


def flip(arguments: Mapping[str, Any]) -> int:
    """Flip one bit after the other, each in a fresh copy, and print what came of it."""
    home, dice = Path(arguments["home"]), random.Random(arguments["seed"])
    bench = home.with_name(home.name + ".flipped")
    bench.mkdir()
    counted: Counter[str] = Counter()
    data = log_of(home).parent
    log_files = [log_of(home), log_of(home).with_name("log.db-wal")]
    others = [*(data / "snapshots").glob("*.sqlite"), *(data / "blobs").glob("??/*")]
    sizes = {path: path.stat().st_size for path in [*log_files, *others]}
    # Half of the flips meet the log, and every other kind of file its share.
    kinds = Counter(map(_kind, sizes))
    weights = [(0.5 if path == log_files[0] else 0.17) / kinds[_kind(path)] for path in sizes]
    whole = _logical(log_of(home), bench)
    for _ in range(arguments["count"]):
        path = dice.choices(list(sizes), weights=weights)[0]
        place, bit = dice.randrange(sizes[path]), 1 << dice.randrange(8)
        if path in log_files:
            outcome = _of_log(home, path, place, bit=bit, bench=bench, whole=whole)
        else:
            outcome = asyncio.run(_of_copy(path, place, bit=bit, bench=bench))
        counted[outcome] += 1
        counted[f"{outcome}: {_kind(path)}"] += 1
        if outcome == USED:
            print(f"unnoticed: {path.name} at {place}, bit {bit}")
    for name, number in sorted(counted.items()):
        print(number, name)
    return 0


def _kind(path: Path) -> str:
    """Return what a file is."""
    names = {".db": "log", ".db-wal": "write-ahead log", ".sqlite": "snapshot"}
    return names.get(path.suffix, "content")


def _flipped(path: Path, place: int, *, bit: int) -> bytes:
    content = bytearray(path.read_bytes())
    content[place] ^= bit
    return bytes(content)


def _of_log(home: Path, path: Path, place: int, *, bit: int, bench: Path, whole: Rows) -> str:
    """Read the whole log through the product, and say what it noticed."""
    log = log_of(home)
    for file in (log, log.with_name("log.db-wal")):
        (bench / file.name).write_bytes(_flipped(file, place, bit=bit) if file == path else file.read_bytes())
    (bench / "log.db-shm").unlink(missing_ok=True)
    try:
        read = asyncio.run(_all(bench / "log.db"))
    except ChoirError as error:
        return NOTICED if "event" in error.message or "log" in error.message else UNCLEAR
    if read == whole:
        return HARMLESS
    # What does not verify in a write-ahead log looks like a commit that never came: the views know better.
    return NOTICED if _is_missed(home, path, place, bit=bit) else USED


def _is_missed(home: Path, path: Path, place: int, *, bit: int) -> bool:
    """Return whether the computer opens read-only, or not at all, with a log that lost its end, naming the event."""
    copy = home.with_name(home.name + ".opened")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(home, copy, symlinks=True)
    (copy / path.relative_to(home)).write_bytes(_flipped(path, place, bit=bit))

    async def opened() -> Corrupt | None:
        client = await connect(resolve({"home": str(copy)}, {}), workspace=None, write=True)
        fault = client._computer.fault
        await client.close()
        return fault

    try:
        fault = asyncio.run(opened())
    except Corrupt as error:
        fault = error
    return fault is not None and "seq" in fault.fields


async def _all(path: Path) -> Rows:
    log = SqliteLog(lambda _: path, InlineWorker(), clock=SystemClock())
    try:
        journal = Journal(log, registry(), user="me")
        return [tuple(one.record) async for events in journal.events(Point(0, GENESIS)) for one in events]
    finally:
        await log.close()


def _logical(path: Path, bench: Path) -> Rows:
    """Return every row as another library reads it."""
    for suffix in ("", "-wal"):
        shutil.copy(path.with_name(path.name + suffix), bench / f"whole.db{suffix}")
    db = sqlite3.connect(bench / "whole.db")
    try:
        return db.execute("SELECT seq, id, head, salt, payload, hash FROM events ORDER BY seq").fetchall()
    finally:
        db.close()


async def _of_copy(path: Path, place: int, *, bit: int, bench: Path) -> str:
    """Use a snapshot or a content of which one bit was flipped."""
    damaged = _flipped(path, place, bit=bit)
    try:
        if path.suffix == ".sqlite":
            seq, _, digest = path.stem.partition("-")
            (bench / "snapshots").mkdir(exist_ok=True)
            (bench / "snapshots" / path.name).write_bytes(damaged)
            SqliteCabinet(bench).beside(Snapshot(int(seq), digest)).close()
        else:
            target = bench / "blobs" / path.name[:2] / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(damaged)
            blobs = DiskBlobs(bench / "blobs", InlineWorker())
            async for _ in blobs.read(path.name):
                pass
    except Corrupt as error:
        named = str(error.fields.get("seq", error.fields.get("digest", "nothing")))
        return NOTICED if named in path.name else UNCLEAR
    return USED


def shift(arguments: Mapping[str, Any]) -> int:
    """Move the first byte of a payload to the end of its salt, and print what the reader says of it."""
    path = log_of(Path(arguments["home"]))
    db = apsw.Connection(str(path))
    newest = db.execute("SELECT seq, salt, payload FROM events ORDER BY seq DESC LIMIT 1")
    seq, salt, payload = cast("tuple[int, bytes, bytes]", next(iter(newest)))
    db.execute(
        "UPDATE events SET salt = ?, payload = ? WHERE seq = ?", (salt + payload[:1], payload[1:], seq)
    )
    db.close()
    try:
        asyncio.run(_heads(path))
    except Corrupt as error:
        print(error.code, error.message)
        return 0
    print("unnoticed")
    return 0


async def _heads(path: Path) -> None:
    """Check the chain alone: whether a payload makes sense is another question."""
    log = SqliteLog(lambda _: path, InlineWorker(), clock=SystemClock())
    try:
        async for records in log.read("me"):
            assert records[0].seq == 1, "the log is read at once"
            event.open_records(records, Point(0, GENESIS))
    finally:
        await log.close()
