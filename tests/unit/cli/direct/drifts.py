"""Every kind of drift as a function that injects it into a real data directory, and returns what its place names."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from choiros.cli.direct.doctor import DirectDoctor
from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import SqliteLog
from choiros.engines.tree.disk import DiskTree
from choiros.engines.worker.inline import InlineWorker
from choiros.features.checkpoints.events import CheckpointCommitted, CheckpointFailed, CheckpointMade
from choiros.features.proof.events import LogSigned
from choiros.kernel.errors import Unavailable
from choiros.kernel.event import Draft
from choiros.wiring import registry
from choiros.wiring.doctor import AREAS, KINDS, Checkup, surroundings
from choiros.wiring.doctor.surroundings import Disk
from tests.unit.cli.direct.homes import Home

A, B = b"first\n", b"second\n"
OK_DISK = Disk("ext4", 1 << 40, 1 << 41, 1 << 20, 1 << 21)


def live(top: Path) -> None:
    """Make a computer on which something has happened, with a snapshot, two checkpoints and a witness."""
    (top / "witness").mkdir()
    home = Home(
        top / "home", {"snapshots.events_max": "4", "proof.witnesses": f"stick=file:{top / 'witness'}"}
    )
    home.write("a.txt", A)
    home.do(lambda client: client.checkpoint("one"))
    home.write("b/c.txt", B)
    home.write("a.txt", A + B)
    home.do(lambda client: client.checkpoint("two"))
    home.do(lambda client: client.sign())


@dataclass
class Bench:
    """A copy of the sound computer to break, with the settings of the call and whatever shall be undone later."""

    top: Path
    patch: pytest.MonkeyPatch
    flags: dict[str, str] = field(default_factory=dict[str, str])
    deep: bool = False
    held: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self.flags |= {"proof.witnesses": f"stick=file:{self.top / 'witness'}", "lock_timeout_s": "0"}

    @property
    def home(self) -> Home:
        return Home(self.top / "home", {**self.flags, "lock_timeout_s": "10"})

    @property
    def data(self) -> Path:
        return self.top / "home" / "users" / "me" / ".choir"

    @property
    def folder(self) -> Path:
        return self.home.folder

    def doctor(self) -> DirectDoctor:
        return DirectDoctor({"home": str(self.home.path), **self.flags}, {})

    def examine(self) -> Checkup:
        return asyncio.run(self.doctor().examine(deep=self.deep, progress=lambda *_: None))

    def mend(self, seen: Checkup) -> list[str]:
        return asyncio.run(self.doctor().mend(seen))

    def sql(self, file: str, *statements: str) -> None:
        db = sqlite3.connect(self.data / file)
        for one in statements:
            db.execute(one)
        db.commit()
        db.close()

    def rows(self) -> list[tuple[Any, ...]]:
        db = sqlite3.connect(self.data / "log.db")
        try:
            return db.execute("SELECT * FROM events ORDER BY seq").fetchall()
        finally:
            db.close()

    def append(self, name: str, payload: Struct | bytes) -> int:
        """Put an event into the log past every rule, as nobody but a broken program would."""

        async def appended() -> int:
            log = SqliteLog(lambda _: self.data / "log.db", InlineWorker(), clock=SystemClock())
            raw = payload if isinstance(payload, bytes) else registry().encode(payload)
            seq = (await log.head("me")).seq
            draft = Draft(f"01900000-0000-7000-9000-{seq:012x}", 1, "me", "user", name, raw, bytes(16))
            records = await log.append("me", [draft])
            await log.close()
            return records[0].seq

        return asyncio.run(appended())

    def keep(self, *names: str) -> Callable[[], None]:
        """Return what puts these files back as they are now."""
        files = [path for name in names for path in self.data.glob(name)]
        kept = {path: path.read_bytes() for path in files}

        def restore() -> None:
            for name in names:
                for path in self.data.glob(name):
                    path.unlink()
            for path, content in kept.items():
                path.write_bytes(content)

        return restore

    def blob(self, content: bytes) -> Path:
        digest = hashlib.sha256(content).hexdigest()
        return self.data / "blobs" / digest[:2] / digest

    def seen_as(self, path: str, content: bytes) -> None:
        """Let the memory of the folder say that it saw this content there, as the file looks now."""
        self.home.files()
        target = self.folder / path
        target.write_bytes(content)
        found = target.stat()
        self.sql(
            "state.sqlite",
            f"UPDATE shown SET stat_size = {found.st_size}, mtime_ns = {found.st_mtime_ns}, "
            f"ctime_ns = {found.st_ctime_ns}, inode = {found.st_ino}, "
            f"seen_ns = {found.st_ctime_ns + 10**12} WHERE path = '{path}'",
        )

    def look_like(self, **fields: Any) -> None:
        """Let the disk look so."""
        self.patch.setattr(surroundings, "disk_of", lambda _: OK_DISK._replace(**fields))


# --- What is injected, one function for each kind; each returns what the place must name ---


def settings_refused(bench: Bench) -> str:
    (bench.home.path / "choiros.toml").write_text("nonsense = 1\n")
    return "choiros.toml"


def settings_witness_key(bench: Bench) -> str:
    # In the form of a key, with one letter mistyped.
    bench.flags["proof.witness_keys"] = mistyped = f"w+00000000+{'A' * 44}"
    return mistyped


def versions_python(bench: Bench) -> str:
    bench.patch.setattr(surroundings, "PYTHON_MIN", (99,))
    return "python"


def versions_sqlite(bench: Bench) -> str:
    bench.patch.setattr(surroundings, "SQLITE_MIN", (99,))
    return "SQLite"


def versions_newer_log(bench: Bench) -> str:
    bench.sql("log.db", "PRAGMA user_version = 99")
    return "log.db"


def versions_newer_state(bench: Bench) -> str:
    bench.sql("state.sqlite", "UPDATE projections SET version = 99 WHERE name = 'files'")
    return "state.sqlite"


def versions_unknown_events(bench: Bench) -> str:
    seq = bench.append("dance.step", b'{"foot":"left"}')
    return f"event {seq}"


def disk_unusable(bench: Bench) -> str:
    shutil.rmtree(bench.data)
    bench.data.write_bytes(b"")
    return "users/me"


def disk_space(bench: Bench) -> str:
    bench.look_like(free_bytes=999_999_999)
    return "users/me"


def disk_inodes(bench: Bench) -> str:
    bench.look_like(inodes_free=10)
    return "users/me"


def disk_volatile(bench: Bench) -> str:
    bench.look_like(kind="tmpfs")
    return "users/me"


def disk_remote(bench: Bench) -> str:
    bench.look_like(kind="nfs4")
    return "users/me"


def disk_permissions(bench: Bench) -> str:
    bench.data.chmod(0o755)
    return ".choir"


def lock_held(bench: Bench) -> str:
    descriptor = os.open(bench.data / "lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    bench.held.append(descriptor)
    return "lock"


def lock_unwritable(bench: Bench) -> str:
    (bench.data / "lock").unlink()
    (bench.data / "lock").mkdir()
    return ".choir"


def log_missing(bench: Bench) -> str:
    bench.keep()()
    for path in bench.data.glob("log.db*"):
        path.unlink()
    return "log.db"


def log_unopened(bench: Bench) -> str:
    (bench.data / "log.db").write_bytes(b"no database at all" * 1000)
    return "log.db"


def log_integrity(bench: Bench) -> str:
    bench.sql(
        "log.db",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'salt BLOB', 'salt TEXT') WHERE name = 'events'",
    )
    return "log.db"


def chain_broken(bench: Bench) -> str:
    bench.sql("log.db", "UPDATE events SET payload = x'7b7d' WHERE seq = 4")
    return "event 4"


def chain_unreadable(bench: Bench) -> str:
    seq = bench.append("file.write", b'{"nonsense":1}')
    return f"event {seq}"


def leftovers_left(bench: Bench) -> str:
    (bench.data / "state.next.sqlite").write_bytes(b"half")
    return "state.next.sqlite"


def projections_missing(bench: Bench) -> str:
    for path in bench.data.glob("state.sqlite*"):
        path.unlink()
    return "state.sqlite"


def projections_damaged(bench: Bench) -> str:
    for path in bench.data.glob("state.sqlite*"):
        path.write_bytes(b"no database at all" * 1000)
    return "state.sqlite"


def projections_behind(bench: Bench) -> str:
    restore = bench.keep("state.sqlite*")
    bench.home.write("later.txt", b"later\n")
    restore()
    return "files"


def projections_ahead(bench: Bench) -> str:
    restore = bench.keep("log.db*")
    bench.home.write("later.txt", b"later\n")
    restore()
    return "event"


def projections_differs(bench: Bench) -> str:
    bench.sql("state.sqlite", "UPDATE files SET size = size + 1 WHERE path = 'a.txt'")
    return "files"


def projections_older(bench: Bench) -> str:
    bench.sql("state.sqlite", "UPDATE projections SET version = 0 WHERE name = 'files'")
    return "state.sqlite"


def snapshots_damaged(bench: Bench) -> str:
    path = min((bench.data / "snapshots").glob("*.sqlite"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    return path.name


def snapshots_unvouched(bench: Bench) -> str:
    content = b"nobody kept this"
    name = f"{3:012d}-{hashlib.sha256(content).hexdigest()}.sqlite"
    (bench.data / "snapshots" / name).write_bytes(content)
    return name


def signatures_broken(bench: Bench) -> str:
    seq = bench.append("proof.signed", LogSigned(3, "ab" * 32, "not\neven\na note\n\n"))
    return "the whole log" if seq else ""


def keys_damaged(bench: Bench) -> str:
    path = next((bench.data / "keys").glob("*.key"))
    path.write_bytes(b"rust")
    return path.name


def keys_missing(bench: Bench) -> str:
    next((bench.data / "keys").glob("*.key")).unlink()
    return "keys"


def keys_forgotten(bench: Bench) -> str:
    (bench.data / "keys" / "me.last").unlink()
    return "keys"


def keys_permissions(bench: Bench) -> str:
    path = next((bench.data / "keys").glob("*.key"))
    path.chmod(0o644)
    return path.name


def keys_memory(bench: Bench) -> str:
    restore = bench.keep("log.db*", "state.sqlite*")
    bench.flags["proof.witnesses"] = ""
    bench.home.write("later.txt", b"later\n")
    bench.home.do(lambda client: client.sign())
    restore()
    return "event"


def witnesses_unreachable(bench: Bench) -> str:
    shutil.rmtree(bench.top / "witness")
    return "stick"


def witnesses_behind(bench: Bench) -> str:
    (point,) = (bench.top / "witness").glob("*/checkpoint")
    old = point.read_bytes()
    for number in range(2):
        bench.home.write(f"later{number}.txt", b"later\n")
        bench.home.do(lambda client: client.sign())
    point.write_bytes(old)
    return "stick"


def witnesses_contradicts(bench: Bench) -> str:
    restore = bench.keep("log.db*", "state.sqlite*", "keys/*.last")
    bench.home.write("later.txt", b"later\n")
    bench.home.do(lambda client: client.sign())
    restore()
    return "event"


def blobs_missing(bench: Bench) -> str:
    bench.blob(B).unlink()
    return hashlib.sha256(B).hexdigest()


def blobs_damaged(bench: Bench) -> str:
    bench.blob(B).write_bytes(b"secund\n")
    return hashlib.sha256(B).hexdigest()


def blobs_garbage(bench: Bench) -> str:
    path = bench.blob(b"nobody names this")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"nobody names this")
    return "blobs"


def workspaces_no_folder(bench: Bench) -> str:
    shutil.rmtree(bench.folder)
    return str(bench.folder)


def workspaces_lacking(bench: Bench) -> str:
    (bench.folder / "b" / "c.txt").unlink()
    bench.sql("state.sqlite", "DELETE FROM shown WHERE path = 'b/c.txt'")
    return "b/c.txt"


def workspaces_behind(bench: Bench) -> str:
    bench.seen_as("a.txt", A)
    digest = hashlib.sha256(A).hexdigest()
    bench.sql("state.sqlite", f"UPDATE shown SET content = '{digest}', size = {len(A)} WHERE path = 'a.txt'")
    return "a.txt"


def workspaces_unrecorded(bench: Bench) -> str:
    (bench.folder / "new.txt").write_bytes(b"new\n")
    return "new.txt"


def workspaces_unseen(bench: Bench) -> str:
    bench.deep = True
    bench.seen_as("a.txt", b"rotten")
    return "a.txt"


def workspaces_unkept(bench: Bench) -> str:
    os.mkfifo(bench.folder / "pipe")
    return "pipe"


def workspaces_unreadable(bench: Bench) -> str:
    async def refuse(self: DiskTree, skip: object) -> None:
        raise Unavailable("tree.unavailable", "The folder cannot be listed.", fix="")

    bench.patch.setattr(DiskTree, "scan", refuse)
    return str(bench.folder)


def git_damaged(bench: Bench) -> str:
    (bench.data / "git" / "main.git" / "HEAD").write_bytes(b"\x00\x01")
    return "main.git"


def git_missing(bench: Bench) -> str:
    shutil.rmtree(bench.data / "git")
    return "main.git"


def git_differs(bench: Bench) -> str:
    two, one = bench.home.do(lambda client: client.checkpoints(2))
    bench.append("checkpoint.commit", CheckpointCommitted("main", two.seq, str(one.commit), 1, 0))
    return f"event {two.seq}"


def git_head(bench: Bench) -> str:
    (bench.data / "git" / "main.git" / "refs" / "heads" / "main").unlink()
    return "main.git"


def git_pending(bench: Bench) -> str:
    bench.append("checkpoint", CheckpointMade("main", "three"))
    return "main.git"


def git_failed(bench: Bench) -> str:
    seq = bench.append("checkpoint", CheckpointMade("main", "three"))
    bench.append("checkpoint.failed", CheckpointFailed("main", seq, "The disk was full."))
    return f"event {seq}"


def doctor_failed(bench: Bench) -> str:
    async def fail(case: object) -> None:
        raise KeyError("nobody foresaw this")

    bench.patch.setitem(AREAS, "blobs", fail)
    return "blobs"


INJECTED: dict[str, Callable[[Bench], str]] = {code: globals()[code.replace(".", "_")] for code in KINDS}
