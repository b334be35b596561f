"""Hints about a folder from the kernel of Linux, which tells what happens in each watched directory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from choiros.engines.watch.inotify.directories import Directories, Skip, no_folder
from choiros.kernel.errors import Unavailable

T = TypeVar("T")

_ANYTHING = frozenset({""})
_LONGEST_BURST_S = 2.0
_HINTS_MAX = 10_000


class InotifyWatcher:
    """Watches a folder and everything below it, but for what `skip(path, is_directory)` leaves out.

    `skip` is called from a thread. What it answers for a path must not change while the watcher lives, as a
    directory that was skipped is not watched. When the system allows no more watches, `trouble` says so, and
    "anything" is hinted every `poll_s` seconds. What another machine changes on a network file system is not
    noticed.
    """

    def __init__(self, root: Path, skip: Skip | None = None, *, poll_s: float = 10.0) -> None:
        self._root = root
        self._skip = skip
        self._poll_s = poll_s
        self._closed = False
        self._wakes: set[asyncio.Event] = set()
        self.trouble: Unavailable | None = None
        """Why changes are noticed late, None as long as they are noticed at once."""

    async def changes(self, settle_ms: int = 50) -> AsyncIterator[frozenset[str]]:
        """Return the relative paths that each burst of changes has touched, {""} as the first item.

        Raises Unavailable (`watch.no_folder`) when the folder is not there or goes away; when it goes away,
        {""} is the last item.
        """
        wake = asyncio.Event()
        directories = Directories(self._root, self._skip)
        self._wakes.add(wake)
        try:
            await _to_the_end(directories.start)
            self.trouble = directories.trouble
            if not self._closed:
                yield _ANYTHING
            while not self._closed:
                hints = await self._burst(directories, wake, settle_s=settle_ms / 1000)
                self.trouble = directories.trouble
                if hints and not self._closed:
                    yield hints
                if directories.is_gone:
                    raise no_folder(self._root)
        finally:
            self._wakes.discard(wake)
            directories.close()

    async def close(self) -> None:
        """Stop watching; `changes` ends."""
        self._closed = True
        for wake in self._wakes:
            wake.set()

    async def _burst(
        self, directories: Directories, wake: asyncio.Event, *, settle_s: float
    ) -> frozenset[str]:
        """Wait for a change, then until nothing has changed for a while, and return all that did."""
        if not await _ready(directories.queue, wake, timeout_s=self._poll_s if self.trouble else None):
            return _ANYTHING
        clock = asyncio.get_running_loop()
        deadline = clock.time() + _LONGEST_BURST_S
        hints: set[str] = set()
        while not self._closed:
            hints |= await _to_the_end(directories.drain)
            if "" in hints or len(hints) > _HINTS_MAX:
                hints = {""}
            if clock.time() > deadline or not await _ready(directories.queue, wake, timeout_s=settle_s):
                break
        return frozenset(hints)


async def _ready(queue: int | None, wake: asyncio.Event, *, timeout_s: float | None) -> bool:
    """Return whether, within the time, there is something to read or somebody has closed the watcher."""
    loop = asyncio.get_running_loop()
    if queue is not None:
        loop.add_reader(queue, wake.set)
    try:
        await asyncio.wait_for(wake.wait(), timeout_s)
    except TimeoutError:
        return False
    finally:
        if queue is not None:
            loop.remove_reader(queue)
    wake.clear()
    return True


async def _to_the_end(call: Callable[[], T]) -> T:
    """Run the call in a thread; when this task is cancelled, wait until it has let go of the descriptors."""
    task = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
