"""A writer that never rests: it is killed, or its disk goes away, at a moment of chance."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from choiros.cli.client import Asked, Changed
from choiros.cli.direct import DirectClient, connect
from choiros.kernel.errors import ChoirError, Conflict, Rejected, Unavailable
from choiros.settings import resolve


def work(arguments: Mapping[str, Any]) -> int:
    """Change files until the end comes; each line that is printed acknowledges an event."""
    asyncio.run(_work(arguments["home"], random.Random(arguments["seed"]), arguments.get("acts")))
    return 0


async def _work(home: str, dice: random.Random, acts: int | None) -> None:
    flags = {"home": home, "snapshots.events_max": "100"}
    while acts is None or acts > 0:
        client = await connect(resolve(flags, {}), workspace=None, write=True)
        try:
            for _ in range(dice.randrange(1, 8)):
                await _one(client, dice)
                acts = None if acts is None else acts - 1
        finally:
            await client.close()


async def _one(client: DirectClient, dice: random.Random) -> None:
    try:
        changed = await _act(client, dice)
    except ChoirError as refused:
        if not isinstance(refused, (Rejected, Conflict)):
            print("refused", refused.code, flush=True)
        return
    if isinstance(changed, Changed):
        _acknowledge(changed)


async def _content(dice: random.Random) -> AsyncIterator[bytes]:
    yield "".join(f"{dice.randrange(10_000)}\n" for _ in range(dice.randrange(400))).encode()


async def _act(client: DirectClient, dice: random.Random) -> Changed | Asked:
    path = f"d{dice.randrange(3)}/f{dice.randrange(6)}.txt"
    match dice.randrange(12):
        case 0:
            return await client.remove([path], recursive=True, run=None)
        case 1:
            return await client.move(path, f"moved{dice.randrange(4)}.txt", run=None)
        case 2:
            return await client.undo(run=None, seq=None, since=None, leave=())
        case 3:
            return await client.redo(())
        case 4:
            return await client.checkpoint(f"point {dice.randrange(100)}")
        case 5:
            return await client.remove(["d0"], recursive=True, run=None)
        case _:
            return await client.write(path, _content(dice), mode=None, run=None, base=None)


def endure(arguments: Mapping[str, Any]) -> int:
    """Write until the disk is full, look around, make room, and go on: all in one process."""
    asyncio.run(_endure(arguments["home"], Path(arguments["ballast"]), dice=random.Random(1)))
    return 0


async def _endure(home: str, ballast: Path, *, dice: random.Random) -> None:
    client = await connect(resolve({"home": home}, {}), workspace=None, write=True)
    try:
        refused = await _until_refused(client, dice)
        print("refused", refused.code, refused.fix, flush=True)
        listed = await client.files("", (await client.status()).events)
        content = b"".join([chunk async for chunk in client.cat(listed.files[-1].path, listed.at)])
        print("readable", len(listed.files), len(content), flush=True)
        for path in list(ballast.iterdir()):
            path.unlink()
        for number in range(3):
            changed = await client.write(f"after/{number}", _content(dice), mode=None, run=None, base=None)
            assert isinstance(changed, Changed)
            assert not changed.warnings, changed.warnings
            _acknowledge(changed)
    finally:
        await client.close()


async def _until_refused(client: DirectClient, dice: random.Random) -> ChoirError:
    for number in range(5_000):
        try:
            changed = await client.write(f"many/{number}", _much(dice), mode=None, run=None, base=None)
        except ChoirError as refused:
            return refused
        assert isinstance(changed, Changed)
        _acknowledge(changed)
        if changed.warnings:
            return Unavailable("warned", changed.warnings[0], fix="")
    raise AssertionError("the disk never filled")


async def _much(dice: random.Random) -> AsyncIterator[bytes]:
    yield dice.randbytes(20_000)


def _acknowledge(changed: Changed) -> None:
    print("".join(f"{line.seq} {line.id} .\n" for line in changed.lines), end="", flush=True)
