"""Records a log that holds every event type, and what today's views make of it.

    python -m tests.golden.record log VERSION        before a release: write a new log and what is expected of it
    python -m tests.golden.record expected VERSION   after a view was changed on purpose: only what is expected

A log that belongs to a release is never written again: it is what people have on their disks.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from choiros.engines.log.memory import MemoryLog
from choiros.engines.repository.memory import MemoryRepository
from choiros.engines.tables.sqlite import SqliteTables
from choiros.engines.witness.memory import MemoryWitness
from choiros.features.approvals.commands import DecideApproval
from choiros.features.backups.commands import ReportBackup, ReportDrill, ReportFailure, ReportImport
from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone, HistoryImported
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.features.proof.commands import RotateKey, SignLog, TrustLog, WitnessLog
from choiros.features.sessions.events import (
    MessageAdded,
    RunChanged,
    SessionStarted,
    ToolAnswered,
    ToolCalled,
)
from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
)
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked
from choiros.kernel.errors import Unavailable
from choiros.kernel.event import Draft, Labels, Record, Source
from choiros.kernel.journal import Journal
from choiros.kernel.projector import ProjectorRunner
from choiros.kernel.repository import Commit
from choiros.settings import Settings, SnapshotSettings
from choiros.wiring import Computer, projectors, registry
from tests.computers import Desk
from tests.places import Hand

HERE = Path(__file__).parent


class FlakyRepository(MemoryRepository):
    """Fails when it is told to."""

    fails = False

    async def commit(self, *args: object, **options: object) -> Commit:
        """Make the commit, or fail."""
        if self.fails:
            raise Unavailable("repository.unavailable", "The disk is full.", fix="Free some space.")
        return await super().commit(*args, **options)  # type: ignore[arg-type]


def desk(directory: Path) -> Desk:
    """Return the engines that the story is played out on."""
    settings = Settings(snapshots=SnapshotSettings(events_max=40))
    witnesses = [MemoryWitness("stick")]
    return Desk(directory, repositories={"main": FlakyRepository()}, settings=settings, witnesses=witnesses)


async def story(at: Desk) -> Computer:
    """Let happen whatever can happen, each event type at least once, with undos in between."""
    computer = await at.open()
    await _files(at, computer)
    await _workspaces(computer)
    await _undo(computer)
    await computer.keep_snapshot()
    await _checkpoints(at, computer)
    await _conversation(at, computer)
    await _proofs(at, computer)
    await _backups(computer)
    await _later(at, computer)
    return computer


async def _backups(computer: Computer) -> None:
    me = Hand(computer)
    file, seq = "/srv/disk/choir-me-20260101T000000Z-9.tar", 9
    made = BackupMade(file, "ab" * 32, 4096, seq, "cd" * 32, automatic=True, removed=("choir-me-old.tar",))
    await me.do(ReportBackup(made))
    await me.do(ReportFailure(BackupFailed("The disk is full.", automatic=True)))
    await me.do(ReportDrill(DrillDone(file, seq, ok=True)))
    await me.do(ReportDrill(DrillDone(file, seq, ok=False, reason="It is cut off.")))
    await me.do(ReportImport(HistoryImported(file, seq, "cd" * 32, 3, aside="/srv/choir/aside/me")))


async def _files(at: Desk, computer: Computer) -> None:
    me, agent = Hand(computer), Hand(computer, run="run-1", source="agent")
    await me.write("notes/today.md", b"one\ntwo\nthree\n")
    await agent.write("src/main.py", b"print('hello')\n", 0o755)
    await agent.edit("notes/today.md", "two", "TWO")
    base = computer.files.entry("main", "src/main.py")
    await agent.move("src/main.py", "src/app.py")
    await me.link("latest", "notes/today.md")
    await me.mkdir("empty", 0o700)
    await me.write("naïve/\N{GRINNING FACE}.txt", "ünïcode\n".encode())
    await me.write("src/app.py", b"print('me')\n")
    await agent.write("src/app.py", b"print('agent')\n", base=base)
    at.clock.move(90_000)
    at.trees["main"].outside_write("notes/today.md", b"one\nTWO\nthree\nby hand\n")
    at.trees["main"].outside_move("latest", "newest")
    at.clock.move(90_000)
    await computer.merger.capture("main")
    await me.write("drafts/a/b.txt", b"b\n")
    await agent.move("drafts", "kept/drafts")
    await me.remove("empty")
    await me.remove("src", recursive=True)


async def _workspaces(computer: Computer) -> None:
    me = Hand(computer)
    for command in (
        CreateWorkspace("work"),
        UseWorkspace("work"),
        RenameWorkspace("work", "Büro"),
        UseWorkspace("main"),
        ArchiveWorkspace("Büro"),
        OpenWorkspace("Büro"),
        CreateWorkspace("added", "/home/me/project"),
    ):
        await me.do(command)
    await Hand(computer, workspace="work").write("plan.txt", b"plan\n")
    await me.do(RemoveWorkspace("added"))


async def _undo(computer: Computer) -> None:
    me = Hand(computer)
    await me.undo()
    await me.redo()
    again = await me.undo()
    await me.undo(seq=again.seq)
    await me.undo()
    await me.undo(run="run-1", leave=("src/app.py",))
    await me.redo(leave=("src/app.py",))
    last = await me.write("third.txt", b"3\n")
    await me.undo(since=last.seq - 2)
    await me.redo()


async def _checkpoints(at: Desk, computer: Computer) -> None:
    me, repository = Hand(computer), at.repositories["main"]
    assert isinstance(repository, FlakyRepository)
    await me.do(MakeCheckpoint("main", "the first point"))
    repository.fails = True
    await me.do(MakeCheckpoint("main", "a point without a commit"))
    repository.fails = False
    await _answered(computer, PushCheckpoint("main", "/srv/backup.git"), "allow")
    await _answered(computer, PushCheckpoint("main", "/srv/nowhere.git"), "deny")
    asked = await computer.kernel.handle(CreateWorkspace("for the agent"), Context("me", source="agent"))
    assert isinstance(asked, Asked)


async def _proofs(at: Desk, computer: Computer) -> None:
    """Sign, change the key, and be a witness; of its own log, as no other one is here."""
    system, me = Hand(computer, source="system"), Hand(computer)
    await system.do(SignLog())
    await me.do(RotateKey())
    await system.do(SignLog())
    last = computer.proof.last()
    assert last is not None
    # No crash happens here: that the one push was broken off is only said.
    await _append(
        at, computer, "effect.unknown", b'{"event_type":"checkpoint.push","intent":1}', source="system"
    )
    await me.do(TrustLog(computer.proof.signing_keys()[-1].key))
    await me.do(WitnessLog(f"old 0\n\n{last.note}"))


async def _answered(computer: Computer, command: Struct, answer: Literal["allow", "deny"]) -> None:
    asked = await computer.kernel.handle(command, Context("me", session="s-1"))
    assert isinstance(asked, Asked)
    shown = computer.approvals.get(asked.request)
    assert shown is not None
    await Hand(computer).do(DecideApproval(asked.request, shown.digest, answer, "as agreed"))
    if answer == "allow":
        (event,) = await computer.journal.fetch([shown.seq])
        await computer.kernel.recorded(event, asked.request)


async def _conversation(at: Desk, computer: Computer) -> None:
    call = await _told(at, computer, "agent", ToolCalled("read", '{"path":"notes/today.md"}'))
    told: list[tuple[Source, Struct]] = [
        ("user", SessionStarted("A talk", "main")),
        ("user", MessageAdded("user", "What is in my notes? \N{GRINNING FACE}\x00")),
        ("system", RunChanged("running")),
        ("agent", ToolAnswered(call, "done", "one\ntwo")),
        ("agent", MessageAdded("assistant", "One and two.")),
        ("system", RunChanged("done", "answered")),
    ]
    for source, payload in told:
        await _told(at, computer, source, payload)


async def _told(at: Desk, computer: Computer, source: Source, payload: Struct) -> str:
    """Record a fact for which there is no command yet, on a clock that goes backwards."""
    at.clock.move(-1000)
    kind, raw = computer.journal.registry.type_of(payload), computer.journal.registry.encode(payload)
    return await _append(at, computer, kind.name, raw, source=source)


async def _append(
    at: Desk, computer: Computer, name: str, raw: bytes, *, source: Source = "user", v: int = 1
) -> str:
    labels = Labels(("web", "person"), private=True) if source == "agent" else Labels()
    draft = Draft(
        at.ids.event_id(0),
        at.clock.now_ms(),
        "me",
        source,
        name,
        raw,
        at.ids.salt(),
        session_id="s-1",
        run_id="run-2",
        labels=labels,
        v=v,
    )
    await computer.journal.append([draft])
    await computer.projectors.catch_up()
    return draft.id


async def _later(at: Desk, computer: Computer) -> None:
    """What only a later program understands is kept and changes no view but the index."""
    await _append(at, computer, "hologram.open", b'{"depth":[3,{"a":null}]}')
    await _append(at, computer, "message", b'{"body":"?"}', v=9)
    await Hand(computer).write("last.txt", b"the end\n")


# --- The files ---


def log_file(version: str) -> Path:
    """Return the file of a recorded log."""
    return HERE / f"{version}.jsonl"


def expected_file(version: str) -> Path:
    """Return the file of what is expected of it."""
    return HERE / f"{version}.expected.json"


def as_line(record: Record) -> str:
    """Return a record as one line of JSON."""
    payload = None if record.payload is None else record.payload.decode()
    told = {
        "seq": record.seq,
        "id": record.id,
        "head": record.head.decode(),
        "salt": record.salt.hex(),
        "payload": payload,
        "hash": record.hash.hex(),
    }
    return json.dumps(told, ensure_ascii=False)


def recorded(version: str) -> list[Record]:
    """Return the records of a log that was kept."""
    found: list[Record] = []
    for line in log_file(version).read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        payload = None if told["payload"] is None else told["payload"].encode()
        found.append(
            Record(
                told["seq"],
                told["id"],
                told["head"].encode(),
                bytes.fromhex(told["salt"]),
                payload,
                bytes.fromhex(told["hash"]),
            )
        )
    return found


def log_of(records: Sequence[Record]) -> MemoryLog:
    """Return a log that holds these records."""
    log = MemoryLog()
    log._records["me"] = list(records)
    return log


async def seen(records: Sequence[Record]) -> tuple[ProjectorRunner, SqliteTables]:
    """Return the views of a log."""
    tables = SqliteTables()
    journal = Journal(log_of(records), registry(), user="me")
    runner = ProjectorRunner(journal, tables, projectors=projectors(journal.registry))
    runner.prepare()
    await runner.catch_up()
    return runner, tables


def _expected(records: Sequence[Record]) -> dict[str, object]:
    async def views() -> dict[str, object]:
        runner, tables = await seen(records)
        rows = tables.query(
            "SELECT workspace, path, kind, content, target FROM files ORDER BY workspace, path"
        )
        versions = {view.name: view.version for view in projectors(registry())}
        return {
            "digests": {
                name: {"version": versions[name], "digest": digest}
                for name, digest in runner.digests().items()
            },
            "files": [" | ".join(map(str, row)) for row in rows],
        }

    return asyncio.run(views())


def main(what: str, version: str) -> None:
    """Write the files."""
    if what == "log":
        with tempfile.TemporaryDirectory() as directory:
            at = desk(Path(directory))
            asyncio.run(_closed(at))
            assert isinstance(at.log, MemoryLog)
            lines = map(as_line, at.log._records["me"])
            log_file(version).write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = json.dumps(_expected(recorded(version)), indent=1, ensure_ascii=False, sort_keys=True)
    expected_file(version).write_text(told + "\n", encoding="utf-8")


async def _closed(at: Desk) -> None:
    await (await story(at)).close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
