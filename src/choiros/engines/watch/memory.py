"""A watcher that tests poke: the complete double of one that looks at a folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from choiros.kernel.path import TEMPORARY


class MemoryWatcher:
    """Hints at what it was told of."""

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._wake = asyncio.Event()
        self._closed = False

    def poke(self, *paths: str) -> None:
        """Let these paths be hinted at; "" stands for anything."""
        self._waiting |= {path for path in paths if not path.rpartition("/")[2].startswith(TEMPORARY)}
        self._wake.set()

    async def changes(self, settle_ms: int = 50) -> AsyncIterator[frozenset[str]]:  # noqa: ARG002
        """Return {""}, then what was poked since the last item; nothing has to settle."""
        self._waiting.clear()
        if not self._closed:
            yield frozenset({""})
        while not self._closed:
            await self._wake.wait()
            self._wake.clear()
            hints, self._waiting = frozenset(self._waiting), set()
            if hints and not self._closed:
                yield frozenset({""}) if "" in hints else hints

    async def close(self) -> None:
        """End `changes`."""
        self._closed = True
        self._wake.set()
