"""One simulated machine: its disk, its clock, and a computer that is started, used, killed and started again."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Literal, TypeVar

import apsw
from msgspec.structs import replace

from choiros.engines.blob.disk import syncing as blob_syncing
from choiros.engines.blob.disk import temporary as blob_names
from choiros.engines.log import sqlite as log_engine
from choiros.engines.tables import sqlite as tables_engine
from choiros.engines.tree.disk import syncing as tree_syncing
from choiros.engines.tree.disk import temporary as tree_names
from choiros.features.files import ignore, pattern
from choiros.kernel import journal
from choiros.settings import Resolved, resolve
from choiros.testing.simulator.calls import PREFIX, Calls
from choiros.testing.simulator.chance import Chance
from choiros.testing.simulator.database import Connection, databases_on
from choiros.testing.simulator.disk import NEVER, Disk, Fault, Node, PowerCut, failure
from choiros.testing.simulator.engines import (
    SimulatedClock,
    SimulatedIds,
    SlowRepository,
    SlowWorker,
    WatchedLog,
)
from choiros.testing.simulator.hand import Hand
from choiros.testing.simulator.loop import SimulatedLoop
from choiros.testing.simulator.model import Books
from choiros.testing.simulator.takeover import taken_over
from choiros.wiring import Parts, disk_parts

T = TypeVar("T")

End = Literal["closed", "killed", "cut"]

# The same lines are read at every start: the simulator starts thousands of times in one process.
_parse = functools.cache(pattern.parse)

_SETTINGS = {"checkpoints.events_max": "12", "snapshots.events_max": "25", "lock_timeout_s": "2"}


class Machine:
    """Everything that outlives a process, and what happens to the process that runs now."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = Chance(seed, "machine")
        self.clock = SimulatedClock()
        self.disk = Disk(Chance(seed, "disk"), self.clock.now_ns)
        self.disk.ordered = not self.chance.one_in(3)
        self.calls = Calls(self.disk)
        self.hand = Hand(self.calls, Chance(seed, "hand"))
        self.ids = SimulatedIds(Chance(seed, "ids"))
        self.books = Books()
        self.places: dict[tuple[str, str], list[str]] = {}
        self.repositories: dict[str, SlowRepository] = {}
        self.seconds = 0.0
        self.counts: Counter[str] = Counter()
        self.planted: list[tuple[Any, str, Any]] = []
        self.change_parts: Callable[[Parts], Parts] = _unchanged
        self._connections: list[apsw.Connection] = []
        self._late_one_in = self.chance.choice((0, 0, 5))
        self._pauses = self.chance.choice((0, 1, 3))
        self._cut_at = NEVER
        self._hand_at = NEVER
        self._fault: tuple[int, int, Fault] = (NEVER, 0, "full")
        self._cut_step = NEVER
        self.disk.on_event = self._at_operation
        self.resolved: Resolved

    # --- rare branches ---

    def _rare(self) -> list[tuple[Any, str, Any]]:
        """Return constants of the engines with values that make rare branches common."""
        pick = self.chance.choice
        return [
            (Connection, "checkpoint_pages", pick((1000, 4, 30))),
            (ignore, "parse", _parse),
            (log_engine, "GROUP_MAX", pick((1, 2, 512))),
            (journal, "READ", pick((3, 500))),
            (journal, "BATCH", pick((5, 4000))),
            (tables_engine, "CHECKPOINT_PAGES", pick((2, 20, 8000))),
            (blob_syncing, "SYNC_EACH_MAX", pick((0, 2, 32))),
            (tree_syncing, "SYNC_EACH_MAX", pick((0, 2, 32))),
        ]

    @contextmanager
    def powered(self) -> Generator[None]:
        """Answer everybody's calls from this machine for the block."""
        with ExitStack() as stack:
            stack.enter_context(replaced([*self._rare(), *self.planted]))
            stack.enter_context(taken_over(self.calls))
            stack.enter_context(databases_on(self.calls))
            hook = self._connections.append
            apsw.connection_hooks.append(hook)
            stack.callback(apsw.connection_hooks.remove, hook)
            self.resolved = resolve({"home": f"{PREFIX}/home", **_SETTINGS}, {})
            yield

    # --- processes ---

    def parts(self) -> Parts:
        """Return the engines for wiring, as a new process makes them."""
        worker = SlowWorker(Chance(self.chance.bits(), "worker"), pauses=self._pauses)
        parts = disk_parts(self.resolved, worker=worker, clock=self.clock)
        log = WatchedLog(
            parts.log,
            self.books,
            self.disk,
            chance=Chance(self.chance.bits(), "log"),
            late_one_in=self._late_one_in,
        )
        return self.change_parts(replace(parts, log=log, ids=self.ids, repository=self._repository))

    def _repository(self, workspace: str, folder: str | None) -> SlowRepository:
        del folder
        if workspace not in self.repositories:
            chance = Chance(self.chance.bits(), "repository")
            self.repositories[workspace] = SlowRepository(chance, self.disk, places=self.places)
        return self.repositories[workspace]

    def live(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run one process until it ends or the power goes off, which raises PowerCut."""
        loop = SimulatedLoop(Chance(self.chance.bits(), "loop"), start_s=self.seconds)
        loop.before_step = lambda: self._at_step(loop)
        self.clock.seconds = loop.time
        names = [(module, "_numbers", itertools.count(1)) for module in (blob_names, tree_names)]
        for module in (blob_names, tree_names):
            # A new process asks anew who it is.
            module.owner.cache_clear()
        try:
            with replaced(names):
                return loop.run(main())
        finally:
            self.seconds = loop.time() + 5
            self.clock.seconds = lambda: self.seconds

    def end(self, how: End) -> None:
        """End the process that runs: nothing it still holds reaches the disk any more."""
        self.disk.is_off = True
        for connection in self._connections:
            drop(connection)
        self._connections.clear()
        self.disk.is_off = False
        self.disk.next_event = NEVER
        if how == "cut":
            self.disk.cut_power()
            self.hand.left.clear()
        elif how == "killed":
            for _, node in self.disk.files():
                node.locks.clear()
        self.calls.begin_process()
        if self.disk.trace is not None:
            self.disk.trace.append(f"--- {how}")
        apsw.randomness(0)

    # --- what goes wrong ---

    def plan(self, *, cut_at: int | None, step: int | None, fault: Fault | None) -> None:
        """Say what will go wrong in the process that comes: after how many operations or steps, and what."""
        now = self.disk.count
        self._cut_at = NEVER if cut_at is None else now + cut_at
        self._cut_step = NEVER if step is None else step
        begin = NEVER if fault is None else now + self.chance.below(600)
        end = begin + self.chance.choice((1, 1, 10, 200))
        self._fault = (begin, end, fault or "full")
        self._hand_at = now + self.chance.below(100) if self.chance.one_in(2) else NEVER
        self._await_next()

    def calm(self) -> None:
        """Let nothing more go wrong in this process."""
        self.plan(cut_at=None, step=None, fault=None)
        self._hand_at = NEVER
        self._await_next()

    @contextmanager
    def hands_off(self) -> Generator[None]:
        """Let nobody work in the folder for the block."""
        before, self._hand_at = self._hand_at, NEVER
        self._await_next()
        try:
            yield
        finally:
            self._hand_at = before
            self._await_next()

    @property
    def is_faulty(self) -> bool:
        """Whether the disk has failed or may fail in this process."""
        return self._fault[0] < NEVER

    def _await_next(self) -> None:
        begin, end, _ = self._fault
        fault = begin if self.disk.count < end else NEVER
        self.disk.next_event = min(self._cut_at, self._hand_at, fault)

    def _at_step(self, loop: SimulatedLoop) -> None:
        if loop.steps >= self._cut_step:
            self.disk.is_off = True
        if self.disk.is_off:
            raise PowerCut

    def _at_operation(self, what: str, node: Node) -> None:
        count = self.disk.count
        if count >= self._cut_at:
            self.disk.is_off = True
            return
        begin, end, fault = self._fault
        if count >= self._hand_at:
            self._hand_at = NEVER
            self.disk.next_event = NEVER
            self.hand.act()
            self._hand_at = self.disk.count + self.chance.below(150)
        self._await_next()
        if begin <= count < end:
            self._fail(what, node, fault)

    def _fail(self, what: str, node: Node, fault: Fault) -> None:
        is_hit = what in _GROWS if fault == "full" else what in _BREAKS
        if not is_hit or not node.number or self.chance.one_in(3):
            return
        self.counts[f"{fault} {what}"] += 1
        if what == "sync":
            self.disk.fail_sync(node)
        raise failure(fault)


_GROWS = frozenset({"write", "create", "mkdir", "symlink"})
_BREAKS = frozenset({"write", "sync", "read", "rename", "exchange", "unlink", "truncate", "list"})


def drop(connection: apsw.Connection) -> None:
    """Close a connection whose machine is off."""
    with suppress(PowerCut, apsw.Error):
        connection.close(force=True)


def _unchanged(parts: Parts) -> Parts:
    return parts


@contextmanager
def replaced(values: list[tuple[Any, str, Any]]) -> Generator[None]:
    """Give names of modules or classes other values for the block."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in values]
    try:
        for owner, name, value in values:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)
