"""Every state of the log that a power cut may leave, made from a recorded session and opened by the real engine."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import apsw

from choiros.engines.log.sqlite import LogFile, SqliteLog
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import ChoirError
from choiros.kernel.event import Draft, Record
from choiros.testing.simulator.calls import PREFIX, Calls
from choiros.testing.simulator.chance import Chance
from choiros.testing.simulator.database import Connection, databases_on
from choiros.testing.simulator.disk import Disk, Naming, Node, carry_out, sectors
from choiros.testing.simulator.engines import SimulatedClock
from choiros.testing.simulator.loop import SimulatedLoop
from choiros.testing.simulator.machine import drop, replaced
from choiros.testing.simulator.model import History, Violation, require
from choiros.testing.simulator.takeover import taken_over

DIRECTORY = f"{PREFIX}/log"
LOG = Path(f"{DIRECTORY}/log.db")

Write = tuple[int, bytes | None]
Files = dict[str, bytearray]


@dataclass
class Operation:
    """One thing that reached the disk, or a promise that was made."""

    kind: Literal["write", "name", "sync", "submit", "promise"]
    node: Node | None = None
    write: Write = (0, None)
    naming: tuple[Naming, ...] = ()
    count: int = 0


class RecordingDisk(Disk):
    """A disk that writes down what is done to it."""

    def __init__(self, chance: Chance) -> None:
        super().__init__(chance, SimulatedClock().now_ns)
        self.operations: list[Operation] = []

    def write(self, node: Node, offset: int, *, data: bytes) -> None:
        """Write, and note it."""
        self.operations.append(Operation("write", node, (offset, data)))
        super().write(node, offset, data=data)

    def truncate(self, node: Node, size: int) -> None:
        """Change a length, and note it."""
        self.operations.append(Operation("write", node, (size, None)))
        super().truncate(node, size)

    def name(self, *namings: Naming) -> None:
        """Change names, and note it."""
        self.operations.append(Operation("name", naming=namings))
        super().name(*namings)

    def sync(self, node: Node) -> None:
        """Sync, and note it."""
        self.operations.append(Operation("sync", node))
        super().sync(node)


@dataclass
class Session:
    """A recorded session: what reached the disk, and the records that were promised in the end."""

    operations: list[Operation]
    records: list[Record]
    ends: set[int] = field(default_factory=lambda: {0})
    """The numbers of events at which a batch ends."""


def record(seed: int, prepare: Callable[[RecordingDisk], None] | None = None) -> Session:
    """Let the real log work for a while on a disk that writes down what is done."""
    chance = Chance(seed, "session")
    disk = RecordingDisk(Chance(seed, "disk"))
    calls = Calls(disk)
    calls.mkdir(DIRECTORY)
    disk.sync_all()
    disk.operations.clear()
    if prepare is not None:
        prepare(disk)
    ends = {0}
    with ExitStack() as stack:
        stack.enter_context(replaced([(Connection, "checkpoint_pages", chance.choice((1000, 6, 12)))]))
        stack.enter_context(taken_over(calls))
        stack.enter_context(databases_on(calls))
        loop = SimulatedLoop(Chance(seed, "loop"))
        records = loop.run(_session(disk, chance, ends=ends))
    return Session(disk.operations, records, ends)


async def _session(disk: RecordingDisk, chance: Chance, *, ends: set[int]) -> list[Record]:
    """Append in groups of any size, and close and open again now and then; return all records."""
    made = 0
    kept: list[Record] = []
    for _ in range(chance.between(1, 3)):
        log = SqliteLog(lambda _: LOG, InlineWorker(), clock=SimulatedClock())
        for _ in range(chance.between(2, 5)):
            batches: list[list[Draft]] = []
            for _ in range(chance.between(1, 3)):
                batches.append([_draft(chance, made + place) for place in range(chance.between(1, 3))])
                made += len(batches[-1])
            disk.operations.append(Operation("submit", count=made))
            promised = await asyncio.gather(*(log.append("me", batch) for batch in batches))
            ends |= {records[-1].seq for records in promised}
            disk.operations.append(Operation("promise", count=made))
        kept = [one async for some in log.read("me") for one in some]
        await log.close()
    return kept


def _draft(chance: Chance, number: int) -> Draft:
    payload = b'{"text":"%s"}' % (b"x" * chance.choice((10, 300, 5000)))
    ident = f"01900000-0000-7000-8000-{number:012x}"
    return Draft(ident, 1_790_000_000_000 + number, "me", "user", "note", payload, chance.some_bytes(16))


@dataclass
class State:
    """What a power cut may have left, and what must be in it."""

    files: Files
    promised: int
    submitted: int

    def look(self) -> bytes:
        """Return a short name for this state, the same for equal ones."""
        digest = hashlib.blake2b(f"{self.promised} {self.submitted}".encode(), digest_size=12)
        for name, data in self.files.items():
            digest.update(f"/{name}/{len(data)}/".encode())
            digest.update(data)
        return digest.digest()


class _Platter:
    """What is on the platter after the operations so far, and what may still get there."""

    def __init__(self) -> None:
        self.kept: dict[Node, bytearray] = {}
        self.waiting: dict[Node, list[Write]] = {}
        self.names: dict[str, Node] = {}
        self.namings: list[tuple[Naming, ...]] = []
        self.promised = self.submitted = 0

    def follow(self, operation: Operation) -> None:
        """Take in one more operation."""
        node = operation.node
        match operation.kind:
            case "write" if node is not None:
                self.waiting.setdefault(node, []).append(operation.write)
            case "name":
                self.namings.append(operation.naming)
            case "sync" if node is not None and node.kind == "dir":
                _rename(self.names, self.namings)
                self.namings = []
            case "sync" if node is not None:
                data = self.kept.setdefault(node, bytearray())
                for write in self.waiting.pop(node, []):
                    carry_out(data, write)
            case "submit":
                self.submitted = operation.count
            case _:
                self.promised = operation.count

    def state(self, chance: Chance, *, kept: int | None) -> State:
        """Return a state in which `kept` of the waiting writes have arrived, or, for None, any sectors of any."""
        names = dict(self.names)
        _rename(names, self.namings[: chance.below(len(self.namings) + 1)])
        files: Files = {}
        for name, node in names.items():
            data = bytearray(self.kept.get(node, b""))
            waiting = self.waiting.get(node, [])
            if kept is None:
                _tear(data, waiting, chance)
            else:
                for write in waiting[:kept]:
                    carry_out(data, write)
            files[name] = data
        return State(files, self.promised, self.submitted)


def _rename(names: dict[str, Node], namings: Sequence[tuple[Naming, ...]]) -> None:
    for naming in namings:
        for _, name, node in naming:
            if node is None:
                names.pop(name, None)
            else:
                names[name] = node


def _tear(data: bytearray, writes: Sequence[Write], chance: Chance) -> None:
    for offset, content in writes:
        choice = chance.below(4)
        if choice == 0:
            continue
        if content is None or choice == 1:
            carry_out(data, (offset, content))
            continue
        bits = chance.bits()
        for place, (start, end) in enumerate(sectors(offset, len(content))):
            if bits >> (place % 64) & 1:
                carry_out(data, (offset + start, content[start:end]))


def states(session: Session, chance: Chance, *, per_point: int) -> Iterator[State]:
    """Return states for a power cut after each operation: the plain ones, then torn and reordered ones."""
    platter = _Platter()
    for operation in session.operations:
        platter.follow(operation)
        waiting = max((len(writes) for writes in platter.waiting.values()), default=0)
        plain = range(min(waiting + 1, per_point))
        for kept in plain:
            yield platter.state(chance, kept=kept)
        if waiting or platter.namings:
            for _ in range(per_point - len(plain)):
                yield platter.state(chance, kept=None)


def check(session: Session, found: Iterator[State]) -> int:
    """Open each state with the real log and compare; return how many different ones there were.

    Raises Violation for the first one in which a promise is broken.
    """
    History(session.records)
    disk = Disk(Chance(0, "states"), SimulatedClock().now_ns)
    calls = Calls(disk)
    calls.mkdir(DIRECTORY)
    directory = calls.find(DIRECTORY)
    connections: list[apsw.Connection] = []
    hook = connections.append
    seen: set[bytes] = set()
    with taken_over(calls), databases_on(calls), ExitStack() as stack:
        apsw.connection_hooks.append(hook)
        stack.callback(apsw.connection_hooks.remove, hook)
        for state in found:
            look = state.look()
            if look in seen:
                continue
            seen.add(look)
            directory.entries = {name: _node(data) for name, data in state.files.items()}
            _check_one(session, state)
            disk.is_off = True
            for connection in connections:
                drop(connection)
            connections.clear()
            disk.is_off = False
            disk.pending.clear()
    return len(seen)


def _node(data: bytearray) -> Node:
    node = Node(7, "file", mode=0o600, now=0)
    node.data = data
    return node


def _check_one(session: Session, state: State) -> None:
    try:
        records = LogFile(LOG).read(0, 1 << 30)
    except (ChoirError, apsw.Error) as error:
        raise Violation("I9", f"the log cannot be opened: {error!r}") from error
    count = len(records)
    told = f"{count} events are there, {state.promised} were promised, {state.submitted} were handed over"
    require(state.promised <= count, "I1", told)
    require(count <= state.submitted and count in session.ends, "I2", told)
    require(records == session.records[:count], "I1", "the events are not those that were promised")
