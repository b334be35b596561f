"""Which stored contents nothing names: never one that only the views do not know yet."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from choiros.kernel.errors import Unavailable
from choiros.wiring import unnamed
from tests.computers import Desk
from tests.places import Hand


def test_what_no_event_names_is_found_and_nothing_else(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await Hand(computer).write("a", b"old")
        await Hand(computer).write("a", b"new")
        left = await computer.parts.blobs.put(b"left over")
        await computer.parts.blobs.flush()
        assert await unnamed(computer) == [left]
        await computer.close()

    asyncio.run(story())


def test_content_of_an_event_that_the_views_lack_is_not_taken_for_garbage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise Unavailable("state.unavailable", "The disk is full.", fix="Free some space.")

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        with monkeypatch.context() as patch:
            patch.setattr(computer.projectors, "apply", full)
            entry = await Hand(computer).entry(b"new")
            outcome = await Hand(computer).write("a", b"new")
            assert outcome.troubles == ("state.unavailable",)
            assert await unnamed(computer) == []
        assert computer.files.entry("main", "a") is None
        assert await unnamed(computer) == []
        assert entry.content == hashlib.sha256(b"new").hexdigest()
        await computer.close()

    asyncio.run(story())
