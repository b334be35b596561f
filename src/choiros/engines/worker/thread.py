"""A worker that runs blocking calls in one thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class ThreadWorker:
    """Runs calls one after the other in a thread that starts with the first call."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"choir-{name}")

    async def run(self, call: Callable[[], T]) -> T:
        """Run the call in the thread and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        """Finish what is under way and end the thread."""
        self._executor.shutdown(wait=True)
