"""A computer's log is compared with every memory of it; who cannot be asked is named."""

import asyncio
from pathlib import Path

from choiros.features.proof.commands import SignLog
from choiros.kernel.command import Context
from choiros.kernel.errors import Unavailable
from choiros.testing.clock import FakeClock
from choiros.wiring import verified
from tests.computers import Desk
from tests.places import Hand


class Away:
    """A witness that cannot be asked."""

    name = "away"

    async def newest(self, origin: str) -> str:
        raise Unavailable("witness.unavailable", "The stick is away.", fix="")

    async def add(self, request: str) -> str:
        raise Unavailable("witness.unavailable", "The stick is away.", fix="")


def test_the_memory_beside_the_keys_is_asked_and_so_is_every_witness(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path, clock=FakeClock())
        desk.witnesses.append(Away())  # pyright: ignore[reportArgumentType]
        computer = await desk.open()
        await Hand(computer).write("a.txt", b"1")
        await computer.kernel.handle(SignLog(), Context("me", source="system"))
        found, unasked = await verified(computer)
        assert (found.claims, found.problems, unasked) == (1, (), ["The stick is away."])
        assert found.last == (await computer.journal.head()).seq
        part, _ = await verified(computer, 1, until=2)
        assert (part.first, part.last) == (2, 2)
        await computer.close()

    asyncio.run(story())
