"""The port to a folder's changes: hints that something outside ChoirOS wrote there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol


class Watcher(Protocol):
    """Tells which paths may have changed; a hint may be wrong, a change is never left out."""

    def changes(self, settle_ms: int = 50) -> AsyncIterator[frozenset[str]]:
        """Return, once a burst of changes has settled, the relative paths that it touched.

        A folder's path stands for everything below it too, as a folder that was moved is one change. The
        empty path stands for "anything": hints were lost and the whole folder is to be looked at. The first
        item is always {""}, yielded when watching has begun, so that no change before it is missed.
        """
        ...

    async def close(self) -> None:
        """Stop watching; `changes` ends."""
        ...
