"""Which stored contents are kept because something names them."""

import asyncio
from pathlib import Path

from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.kernel.dispatch import Asked
from choiros.wiring.contents import awaited_contents, named_contents
from tests.computers import Desk
from tests.places import Hand


def test_what_files_ever_held_is_named_and_nothing_else(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        me = Hand(computer)
        one, two = await me.entry(b"one"), await me.entry(b"two")
        await me.write("a", b"one")
        await me.write("a", b"two")
        await me.remove("a")
        await me.entry(b"never named")
        assert named_contents(computer) == {one.content, two.content}
        await computer.close()

    asyncio.run(story())


def test_what_an_open_request_may_come_to_name_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await Hand(computer).write("a", b"one")
        await Hand(computer).do(MakeCheckpoint("main", "here"))
        digest = "ab" * 32
        asked = await computer.kernel.handle(PushCheckpoint("main", f"/srv/{digest}"), computer.context())
        assert isinstance(asked, Asked)
        assert awaited_contents(computer) == {digest}
        assert digest in named_contents(computer)
        await computer.close()

    asyncio.run(story())
