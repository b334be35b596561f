"""An event loop in which time is a number and the order of ready tasks is chance."""

from __future__ import annotations

import asyncio
import heapq
import sys
from asyncio import events
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar, cast

from choiros.testing.simulator.chance import Chance

T = TypeVar("T")

_ROUNDS = 5

STEP_S = 0.00005
"""How long one step of a task takes."""


class Stuck(Exception):  # noqa: N818 - it is a finding about the program, not an error of the simulator
    """Nothing can go on, or nothing comes to an end."""


class SimulatedLoop(asyncio.AbstractEventLoop):
    """Runs tasks one step at a time, the next one chosen among all that are ready.

    `before_step` is called before each step; it may raise PowerCut, which ends everything.
    """

    def __init__(self, chance: Chance, *, start_s: float = 0.0) -> None:
        self._chance = chance
        self._time = start_s
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._made = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self._generators: list[AsyncGenerator[Any, Any]] = []
        self.steps = 0
        self.steps_max = 1_000_000
        self.before_step: Callable[[], None] | None = None
        self.surprises: list[str] = []

    # --- what asyncio asks of a loop ---

    def time(self) -> float:
        """Return the simulated seconds."""
        return self._time

    def get_debug(self) -> bool:
        """No slow checks."""
        return False

    def is_running(self) -> bool:
        """It only exists while it runs."""
        return True

    def is_closed(self) -> bool:
        """It is never closed: it is dropped."""
        return False

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Make something ready."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Make something ready after some time."""
        return self.call_at(self._time + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Make something ready at a time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._made += 1
        heapq.heappush(self._timers, (when, self._made, handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], **options: Any
    ) -> asyncio.Task[T]:
        """Return a task that is ready to begin."""
        task = asyncio.Task(coro, loop=self, **options)
        self._tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Note what nobody has looked at."""
        self.surprises.append(f"{context.get('message')} {context.get('exception')!r}")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing: a cancelled timer is left out when its time comes."""

    # --- running ---

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run until this is done.

        Raises PowerCut when the power went off meanwhile; then every task has been ended.
        """
        hooks = sys.get_asyncgen_hooks()
        # Kept until the end: when the collector of garbage comes is no part of a story.
        sys.set_asyncgen_hooks(self._generators.append, None)
        events._set_running_loop(self)  # noqa: SLF001 - documented for those who write event loops
        task = self.create_task(main)
        try:
            while not task.done():
                self._step()
            return task.result()
        finally:
            self._end_all()
            events._set_running_loop(None)  # noqa: SLF001
            sys.set_asyncgen_hooks(*hooks)

    def _step(self) -> None:
        if self.before_step is not None:
            self.before_step()
        self.steps += 1
        if self.steps > self.steps_max:
            raise Stuck(f"no end after {self.steps_max} steps")
        self._advance()
        place = self._chance.below(len(self._ready)) if len(self._ready) > 1 else 0
        handle = self._ready.pop(place)
        self._time += STEP_S
        if not handle.cancelled():
            handle._run()  # noqa: SLF001 - as every event loop does

    def _advance(self) -> None:
        """Make due timers ready; when nothing else is, let time pass until the next one."""
        if not self._ready:
            if not self._timers:
                raise Stuck("everybody waits for somebody else")
            self._time = max(self._time, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._time:
            self._ready.append(heapq.heappop(self._timers)[2])

    def _end_all(self) -> None:
        """Cancel every task and close every generator, so that nothing is left behind half done."""
        self.before_step = None
        for _ in range(_ROUNDS):
            for task in self._tasks:
                task.cancel()
            self._finish_tasks()
        for generator in self._generators:
            if cast("Any", generator).ag_frame is not None:
                self.create_task(_closed(generator))
        self._finish_tasks()
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.exception()
        self._tasks.clear()
        self._generators.clear()

    def _finish_tasks(self) -> None:
        self.steps_max = limit = self.steps + 20_000
        while self.steps < limit and not all(task.done() for task in self._tasks):
            if not self._ready and not self._timers:
                break
            self._step()


async def _closed(generator: AsyncGenerator[Any, Any]) -> None:
    await generator.aclose()
