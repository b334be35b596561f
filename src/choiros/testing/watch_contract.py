"""What every watcher promises, as tests that an engine inherits: override the two fixtures."""

# ruff: noqa: D102 - a test's name is its sentence, and pytest passes fixtures by name

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Self, TypeAlias, cast

import pytest

from choiros.kernel.path import TEMPORARY, parents
from choiros.kernel.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

Touch: TypeAlias = Callable[[str], None]

PATIENCE_S = 20.0
"""How long a test waits for what must come. On any machine that is well it comes within a moment."""


class Listener:
    """Collects what a watcher hints at."""

    def __init__(self, watcher: Watcher, settle_ms: int = 5) -> None:
        self._items = watcher.changes(settle_ms)
        self.items: list[frozenset[str]] = []

    async def __aenter__(self) -> Self:
        await self.next()
        assert self.items == [frozenset({""})]
        self.items.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        await cast("AsyncGenerator[frozenset[str]]", self._items).aclose()

    async def next(self) -> None:
        """Wait for one item."""
        async with asyncio.timeout(PATIENCE_S):
            self.items.append(await anext(self._items))

    @property
    def seen(self) -> frozenset[str]:
        """Everything that was hinted at so far."""
        return frozenset(path for item in self.items for path in item)

    async def until(self, *paths: str) -> frozenset[str]:
        """Wait until each of these paths was hinted at by its name, and return all that was."""
        async with asyncio.timeout(PATIENCE_S):
            while not set(paths) <= self.seen:
                await self.next()
        return self.seen

    async def ends(self) -> bool:
        """Return whether nothing comes any more."""
        async with asyncio.timeout(PATIENCE_S):
            return await anext(self._items, None) is None


def covers(hints: Iterable[str], path: str) -> bool:
    """Return whether the hints lead to this path: by name, by a folder above it, or by "anything"."""
    return not {"", path, *parents(path)}.isdisjoint(hints)


@pytest.mark.anyio
class WatchContract:
    """The promises of `choiros.kernel.watch`."""

    @pytest.fixture
    def watcher(self) -> Watcher:
        """Return a watcher that nobody listens to yet."""
        raise NotImplementedError

    @pytest.fixture
    def touch(self) -> Touch:
        """Return what changes a file, at a path whose folder is there: the top, or `folder`."""
        raise NotImplementedError

    async def test_the_first_item_is_anything(self, watcher: Watcher, touch: Touch) -> None:
        touch("before")
        async with Listener(watcher) as listener:
            assert listener.items == []

    async def test_a_change_is_hinted_at(self, watcher: Watcher, touch: Touch) -> None:
        async with Listener(watcher) as listener:
            for path in ("a", "folder/b", "a", "naïve \N{GRINNING FACE}"):
                touch(path)
                assert await listener.until(path) <= {path, "folder"}
                listener.items.clear()

    async def test_a_burst_is_hinted_at_whole(self, watcher: Watcher, touch: Touch) -> None:
        paths = [f"folder/{number}" for number in range(100)]
        async with Listener(watcher, settle_ms=50) as listener:
            for path in paths:
                touch(path)
            await listener.until(*paths)
            assert all(listener.items), "an item tells something"

    async def test_what_changes_while_an_item_is_looked_at_comes_next(
        self, watcher: Watcher, touch: Touch
    ) -> None:
        async with Listener(watcher) as listener:
            touch("a")
            await listener.until("a")
            touch("b")
            await asyncio.sleep(0)
            touch("c")
            await listener.until("b", "c")

    async def test_the_mergers_own_files_are_not_hinted_at(self, watcher: Watcher, touch: Touch) -> None:
        async with Listener(watcher) as listener:
            touch(f"{TEMPORARY}1")
            touch(f"folder/{TEMPORARY}2")
            touch("last")
            seen = await listener.until("last")
            assert not [path for path in seen if TEMPORARY in path]

    async def test_closing_ends_a_wait(self, watcher: Watcher) -> None:
        async with Listener(watcher) as listener:
            ending = asyncio.ensure_future(listener.ends())
            await asyncio.sleep(0)
            assert not ending.done()
            await watcher.close()
            assert await ending

    async def test_a_closed_watcher_has_nothing_to_tell(self, watcher: Watcher, touch: Touch) -> None:
        async with Listener(watcher) as listener:
            touch("a")
            await watcher.close()
            await watcher.close()
            assert await listener.ends()
        assert await Listener(watcher).ends()

    async def test_a_listener_may_leave_and_another_may_come(self, watcher: Watcher, touch: Touch) -> None:
        for path in ("a", "b"):
            async with Listener(watcher) as listener:
                touch(path)
                await listener.until(path)

    async def test_a_listener_may_be_cancelled(self, watcher: Watcher, touch: Touch) -> None:
        async def listen() -> None:
            async with Listener(watcher) as listener:
                await listener.until("never")

        for _ in range(3):
            task = asyncio.ensure_future(listen())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        async with Listener(watcher) as listener:
            touch("a")
            await listener.until("a")
