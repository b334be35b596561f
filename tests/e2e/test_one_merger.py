"""Nobody but the merger's engine touches a workspace, and nothing is touched before it is recorded (F-50, C-78)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from choiros.engines.tree.memory import MemoryTree
from choiros.kernel.blob import BlobStore
from choiros.kernel.event import GENESIS, Point
from choiros.kernel.tree import Done, Step
from tests.checkout import ROOT
from tests.computers import Desk
from tests.places import Hand

# Every call that changes files, with the module of ours that made it; SQLite and libgit2 do theirs unseen.
WATCHED = """
    import asyncio, json, os, sys
    from pathlib import Path

    home, calls = sys.argv[1], []
    CHANGING = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
                "os.chown", "os.utime", "os.setxattr", "shutil.rmtree", "shutil.copyfile", "shutil.move"}
    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def made_by():
        frame = sys._getframe(2)
        while frame is not None:
            name = frame.f_globals.get("__name__", "")
            if name.startswith("choiros."):
                return name
            frame = frame.f_back
        return ""

    def hook(name, arguments):
        if name in CHANGING or (name == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING):
            named = arguments[: 1 if name == "open" else 2]
            paths = [os.fsdecode(one) for one in named if isinstance(one, (str, bytes, Path))]
            if paths:
                calls.append((name, paths, made_by()))

    from choiros.cli.direct import connect
    from choiros.settings import resolve

    async def content():
        yield b"one\\n"

    async def act():
        resolved = resolve({"home": home, "snapshots.events_max": "1"}, {})
        client = await connect(resolved, workspace=None, write=True)
        await client.write("notes/a.md", content(), mode=0o600, run="r1", base=None)
        point = (await client.checkpoint("first")).seqs[0]
        await client.edit("notes/a.md", old="one", new="two", everywhere=False, run="r1")
        await client.make_link("link", "notes/a.md", run=None)
        await client.make_directory("empty", None)
        await client.move("notes", "papers", run=None)
        await client.remove(["link"], recursive=False, run=None)
        await client.undo(run=None, seq=None, since=None, leave=())
        await client.redo(())
        await client.undo(run="r1", seq=None, since=None, leave=())
        await client.restore(str(point))
        (Path(home) / "users/me/workspace/by-hand").write_text("mine")
        await client.files("", None)
        await client.checkpoint("second")
        await client.rebuild(full=True)
        await client.collect(preview=False)
        await client.close()

    sys.addaudithook(hook)
    asyncio.run(act())
    print(json.dumps(calls))
"""
TREE = "choiros.engines.tree.disk"


def test_only_the_mergers_engine_writes_below_a_workspace(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(WATCHED), str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    calls: list[tuple[str, list[str], str]] = [tuple(call) for call in json.loads(done.stdout)]
    data = tmp_path / "users" / "me"
    merged = [call for call in calls if call[2].startswith(TREE)]
    assert len(merged) > 10, "the watch sees nothing"
    others = [call for call in calls if not call[2].startswith(TREE) and call[2]]
    # A name without its directory may stand anywhere: only the pointer to the repository is written so.
    loose = [call for call in others if not all(path.startswith("/") for path in call[1])]
    assert {(name, *paths, by) for name, paths, by in loose} == {
        ("open", ".git", "choiros.engines.repository.libgit.store")
    }
    inside = [call for call in others if any(f"{path}/".startswith(f"{data}/workspace/") for path in call[1])]
    made = {(name, *paths, by) for name, paths, by in inside}
    assert made == {("os.mkdir", str(data / "workspace"), "choiros.wiring.disk")}
    left = {path.name for path in (data / "workspace").iterdir()}
    assert left == {".git", "by-hand", "notes"}


class Witness(MemoryTree):
    """A folder that looks, right before it is changed, at what is on disk already."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.applied: list[str] = []

    async def apply(self, steps: Sequence[Step], blobs: BlobStore) -> dict[str, Done]:
        said = b""
        async for records in self._desk.log.read("me"):
            said += b"".join(record.payload or b"" for record in records)
        for step in steps:
            assert f'"{step.path}"'.encode() in said, f"{step.path} is touched before it is recorded"
            if step.entry is not None and step.entry.kind == "file":
                assert step.entry.content.encode() in said
                assert step.entry.content in [digest async for digest in blobs.digests()]
            self.applied.append(step.path)
        return dict(await super().apply(steps, blobs))


def test_writing_moving_removing_and_undoing_are_recorded_before_the_folder_changes(tmp_path: Path) -> None:
    async def story() -> list[str]:
        desk = Desk(tmp_path)
        witness = Witness(desk)
        desk.trees["main"] = witness
        computer = await desk.open()
        hand = Hand(computer)
        await hand.write("a", b"one\n")
        await hand.edit("a", "one", "two")
        await hand.link("b", "a")
        await hand.move("a", "d/c")
        await hand.remove("b")
        await hand.undo()
        await hand.redo()
        assert await computer.journal.head() > Point(0, GENESIS)
        await computer.close()
        return witness.applied

    applied = asyncio.run(story())
    assert applied[:3] == ["a", "a", "b"]
    assert {"a", "b", "d", "d/c"} == set(applied)
