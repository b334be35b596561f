"""Computers that are packed and brought in elsewhere, and files that somebody forged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from choiros.engines.archive.memory import MemoryArchive
from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.features.workspaces.events import WorkspaceCreated
from choiros.kernel.event import GENESIS, Draft, Point, Record
from choiros.kernel.journal import Journal
from choiros.kernel.projector import ProjectorRunner
from choiros.settings import Resolved, resolve
from choiros.wiring import Computer, disk_parts, open_computer, projectors, registry
from choiros.wiring.portable import manifest as form
from choiros.wiring.portable.arriving import Arrival, bring_in
from choiros.wiring.portable.backups import tar_archive
from choiros.wiring.portable.manifest import Contents, LogPart, Manifest, ViewState
from choiros.wiring.portable.packing import Exported, export
from choiros.wiring.portable.records import pack
from tests.places import Hand

START = Point(0, GENESIS)
Parts = list[tuple[str, bytes]]


def silent(what: str, done: int, of: int) -> None:
    """Take what is told about the progress."""


def at(home: Path, **flags: str) -> Resolved:
    return resolve({"home": str(home), **{key.replace("__", "."): one for key, one in flags.items()}}, {})


async def opened(home: Path, **flags: str) -> Computer:
    resolved = at(home, **flags)
    return await open_computer(disk_parts(resolved), resolved.settings, write=True, notice=_unexpected)


def _unexpected(notice: str) -> None:
    raise AssertionError(notice)


async def furnished(home: Path) -> None:
    """Let a few things happen on a computer: files, a link, a directory, something removed, an undo."""
    computer = await opened(home)
    me, agent = Hand(computer), Hand(computer, run="run-1", source="agent")
    await me.write("notes/today.md", b"one\ntwo\n")
    await agent.edit("notes/today.md", "two", "TWO")
    await me.write("gone.txt", b"gone\n")
    await me.remove("gone.txt")
    await me.link("latest", "notes/today.md")
    await me.mkdir("empty", 0o700)
    await me.write("big.bin", bytes(range(256)) * 6000)
    await me.undo()
    await computer.close()


async def exported(home: Path, file: Path) -> Exported:
    computer = await opened(home)
    try:
        return await export(computer, tar_archive(file), progress=silent)
    finally:
        await computer.close()


async def imported(home: Path, file: Path, **flags: str) -> Arrival:
    return await bring_in(at(home, **flags), tar_archive(file), file=str(file), progress=silent)


async def state(home: Path, until: int | None = None) -> tuple[Point, dict[str, str]]:
    """Return the place and the state hashes that follow from the first events of a computer's log."""
    computer = await opened(home)
    tables = SqliteTables()
    runner = ProjectorRunner(computer.journal, tables, projectors=projectors(registry()))
    runner.prepare()
    point = await runner.catch_up(until)
    await computer.close()
    return point, runner.digests()


async def records_of(home: Path) -> list[Record]:
    computer = await opened(home)
    try:
        return [record async for some in computer.parts.log.read("me") for record in some]
    finally:
        await computer.close()


def left_in(home: Path) -> list[str]:
    """Return everything below a place that may not exist."""
    return sorted(path.relative_to(home).as_posix() for path in home.rglob("*"))


def of(parts: Sequence[tuple[str, bytes]]) -> MemoryArchive:
    archive = MemoryArchive()
    archive.parts = list(parts)
    return archive


async def packed(home: Path) -> Parts:
    """Return the parts that an export of a computer consists of."""
    computer = await opened(home)
    archive = MemoryArchive()
    await export(computer, archive, progress=silent)
    await computer.close()
    assert archive.parts is not None
    return archive.parts


def manifest_of(parts: Parts) -> Manifest:
    return form.decode(parts[0][1])


def sealed(manifest: Manifest) -> tuple[str, bytes]:
    """Return a manifest with the checksum that belongs to it, whatever else it says."""
    bare = replace(manifest, checksum="")
    checksum = hashlib.sha256(form.encode(bare)).hexdigest()
    return form.MANIFEST, form.encode(replace(manifest, checksum=checksum))


def changed(parts: Parts, **fields: object) -> Parts:
    """Return the same parts under a manifest that says something else."""
    return [sealed(replace(manifest_of(parts), **fields)), *parts[1:]]


async def forged(
    payloads: Sequence[Struct | tuple[str, bytes]],
    contents: Sequence[bytes] = (),
    *,
    user: str = "me",
    owner: str = "me",
    views: Mapping[str, ViewState] | None = None,
) -> Parts:
    """Return a file in which everything fits together, with whatever history: no gate was asked."""
    known, log = registry(), MemoryLog()
    journal = Journal(log, known, user=owner)
    drafts = [
        _draft(known.type_of(one).name, known.encode(one), number, user=owner)
        if isinstance(one, Struct)
        else _draft(*one, number, user=owner)
        for number, one in enumerate([WorkspaceCreated("main", "main"), *payloads], 1)
    ]
    events = await journal.append(drafts)
    runner = ProjectorRunner(journal, SqliteTables(), projectors=projectors(known))
    runner.prepare()
    runner.apply(events)
    digests = runner.digests()
    seen = {one.name: ViewState(one.version, digests[one.name]) for one in runner.views}
    return assembled(
        [event.record for event in events], contents, user=user, views=seen if views is None else views
    )


def assembled(
    records: Sequence[Record], contents: Sequence[bytes], *, user: str, views: Mapping[str, ViewState]
) -> Parts:
    part = pack(records)
    told = LogPart(records[0].seq, records[-1].seq, len(part), hashlib.sha256(part).hexdigest())
    named = sorted((hashlib.sha256(content).hexdigest(), content) for content in contents)
    manifest = form.make(
        user,
        Point(records[-1].seq, records[-1].hash),
        log=(told,),
        contents=Contents(len(named), sum(len(content) for _, content in named)),
        views=dict(views),
    )
    return [
        (form.MANIFEST, form.encode(manifest)),
        (form.log_name(1), part),
        *((form.content_name(digest), content) for digest, content in named),
    ]


def _draft(name: str, payload: bytes, number: int, *, user: str) -> Draft:
    return Draft(f"e{number}", number, user, "user", name, payload, bytes(16))
