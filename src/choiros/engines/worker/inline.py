"""A worker without a thread: the call runs where it is made; for tests, simulation and short-lived commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class InlineWorker:
    """Runs each call at once, in the caller."""

    def __init__(self) -> None:
        self._closed = False

    async def run(self, call: Callable[[], T]) -> T:
        """Run the call and return its result."""
        if self._closed:
            raise RuntimeError("the worker is closed")
        return call()

    def close(self) -> None:
        """Accept nothing more."""
        self._closed = True
