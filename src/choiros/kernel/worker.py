"""The port to threads: blocking work is handed over here, so that a simulator can run it in its own order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Worker(Protocol):
    """Runs blocking calls one after the other, in the order they were handed over."""

    async def run(self, call: Callable[[], T]) -> T:
        """Run the call off the event loop and return its result; its exception is raised here."""
        ...

    def close(self) -> None:
        """Finish what is under way and accept nothing more: `run` raises RuntimeError from now on."""
        ...
