"""The computer is killed at any moment: what it acknowledged is there, and folder, views and log agree.

This shows C-18 and C-68, and of C-16 that what is kept outlives every process.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from choiros.cli.client import Changed, LogQuery
from choiros.cli.direct import DirectClient, connect
from choiros.kernel.event import GENESIS, Point
from choiros.settings import resolve

WORKER = """
import asyncio, random, sys
from pathlib import Path
from choiros.cli.direct import connect
from choiros.kernel.errors import ChoirError
from choiros.settings import resolve

async def content(data):
    yield data

async def act(client, dice):
    path = f"d{dice.randrange(3)}/f{dice.randrange(6)}.txt"
    match dice.randrange(8):
        case 0 | 1 | 2 | 3:
            data = "".join(f"{dice.randrange(1000)}\\n" for _ in range(dice.randrange(200)))
            return await client.write(path, content(data.encode()), mode=None, run=None, base=None)
        case 4:
            return await client.remove([path], recursive=True, run=None)
        case 5:
            return await client.move(path, f"moved{dice.randrange(4)}.txt", run=None)
        case 6:
            return await client.undo(run=None, seq=None, since=None, leave=())
        case _:
            return await client.checkpoint(f"point {dice.randrange(100)}")

async def main(home, seed):
    dice, resolved = random.Random(seed), resolve({"home": home}, {})
    print("up", flush=True)
    while True:
        client = await connect(resolved, workspace=None, write=True)
        try:
            for _ in range(dice.randrange(1, 6)):
                try:
                    changed = await act(client, dice)
                except ChoirError as error:
                    continue
                for line in changed.lines:
                    print(line.seq, line.id, flush=True)
        finally:
            await client.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def _killed_after(home: Path, seed: int, seconds: float) -> dict[int, str]:
    """Let the computer work, kill it so long after its start, and return the events that it had acknowledged."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHOIR_")}
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(home), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        lines = process.stdout.read().splitlines()
    assert process.returncode == -signal.SIGKILL, "it ended by itself"
    whole = [line.split() for line in lines if line.count(" ") == 1]
    return {int(seq): name for seq, name in whole if len(name) == 36}


def _on_disk(folder: Path) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(".git"):
            found[name] = None if path.is_dir() else path.read_bytes()
    return found


async def _verify(home: Path, acknowledged: dict[int, str]) -> None:
    resolved = resolve({"home": str(home)}, {})
    client = await connect(resolved, workspace=None, write=True)
    try:
        computer = client._computer
        ids: dict[int, str] = {}
        async for events in computer.journal.events(Point(0, GENESIS)):
            ids |= {event.seq: event.head.id for event in events}
        assert list(ids) == list(range(1, len(ids) + 1))
        assert {seq: ids.get(seq) for seq in acknowledged} == acknowledged
        live = computer.projectors.digests()
        await _compare_folder(client, Path(computer.place(computer.workspaces.all()[0])))
        rebuilt = await client.rebuild(full=True)
        assert rebuilt.differed == []
        assert dict(rebuilt.digests) == live or rebuilt.seq > len(ids)
        lines = await client.log(LogQuery(limit=10, routine=True))
        assert [json.loads(bytes(line.event))["seq"] for line in lines] == [line.seq for line in lines]
    finally:
        await client.close()


async def _compare_folder(client: DirectClient, folder: Path) -> None:
    listed = await client.files("", None)
    assert listed.unkept == {}
    shown: dict[str, bytes | None] = {}
    for line in listed.files:
        content = [chunk async for chunk in client.cat(line.path, None)] if line.kind == "file" else None
        shown[line.path] = None if content is None else b"".join(content)
    assert shown == _on_disk(folder)
    leftovers = list(folder.rglob(".choir-tmp-*"))
    assert leftovers == []


@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_and_all_layers_agree_after_kill_9(tmp_path: Path) -> None:
    dice = random.Random(20261118)
    rounds = 60 if os.environ.get("CHOIR_SOAK") else 8
    acknowledged: dict[int, str] = {}
    for seed in range(rounds):
        acknowledged |= _killed_after(tmp_path / "home", seed, dice.uniform(0.05, 1.2))
        asyncio.run(_verify(tmp_path / "home", acknowledged))
    assert len(acknowledged) > rounds


def test_an_undo_after_a_kill_restores_the_state_before(tmp_path: Path) -> None:
    acknowledged = _killed_after(tmp_path / "home", 7, 1.2)
    assert acknowledged

    async def back_to_the_beginning() -> tuple[Changed, list[str]]:
        client = await connect(resolve({"home": str(tmp_path / "home")}, {}), workspace=None, write=True)
        try:
            changed = await client.undo(run=None, seq=None, since=2, leave=())
            assert isinstance(changed, Changed)
            return changed, [line.path for line in (await client.files("", None)).files]
        finally:
            await client.close()

    changed, left = asyncio.run(back_to_the_beginning())
    assert changed.lines[0].event_type == "undo"
    assert left == []
