"""A writer that never rests: it is killed, or its disk goes away, at a moment of chance."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

from choiros.cli.client import Asked, Changed
from choiros.cli.direct import DirectClient, connect
from choiros.kernel.errors import ChoirError, Conflict, Rejected
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
        said = "".join(f"{line.seq} {line.id} .\n" for line in changed.lines)
        print(said, end="", flush=True)


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
