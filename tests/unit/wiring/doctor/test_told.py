"""What events tell about contents, about what is mentioned, and about types that nobody knows."""

import asyncio
from pathlib import Path

from choiros.kernel.event import Draft
from choiros.wiring.doctor.told import Told
from tests.computers import Desk
from tests.places import Hand


def test_every_content_that_ever_stood_somewhere_is_named_with_its_place(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        hand = Hand(computer)
        await hand.write("a.txt", b"first")
        await hand.write("a.txt", b"second!")
        await computer.journal.append(
            [
                Draft(
                    "01900000-0000-7000-9000-000000000001",
                    1,
                    "me",
                    "user",
                    "dance.step",
                    b'{"a":1}',
                    bytes(16),
                )
            ]
        )
        told = Told()
        async for events in computer.journal.events(await computer.journal.point(0)):
            for event in events:
                told.take(event)
        assert sorted((one.size, one.path) for one in told.contents.values()) == [(5, "a.txt"), (7, "a.txt")]
        assert set(told.contents) <= told.mentioned
        assert list(told.unknown) == ["dance.step"]
        assert not told.is_whole
        await computer.close()

    asyncio.run(story())
