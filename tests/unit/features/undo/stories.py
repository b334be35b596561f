"""Stories told at a fresh computer, and how the files in them look."""

import asyncio
from collections.abc import Awaitable, Callable

from choiros.wiring import Computer
from tests.places import Place, recorded

DIRECTORY = ("dir", 0o755, b"")

Story = Callable[[Computer], Awaitable[None]]


def told(place: Place, story: Story) -> None:
    """Tell a story at a fresh computer; in the end the folder and the log must agree, and the log must verify."""

    async def whole() -> None:
        computer = await place.open()
        await story(computer)
        events = await recorded(computer)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        await computer.close()

    asyncio.run(whole())


def file(data: bytes, mode: int = 0o644) -> tuple[str, int, bytes]:
    return ("file", mode, data)
