"""One seed, one story: a computer is used, disturbed, killed and started again, and everything promised is checked."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from choiros.engines.tables.sqlite import SqliteTables
from choiros.kernel.errors import ChoirError, Corrupt
from choiros.kernel.event import GENESIS, Point, Record
from choiros.kernel.path import TEMPORARY
from choiros.kernel.projector import ProjectorRunner
from choiros.testing.simulator.calls import PREFIX
from choiros.testing.simulator.chance import Chance
from choiros.testing.simulator.disk import Fault, Node, PowerCut
from choiros.testing.simulator.loop import Stuck
from choiros.testing.simulator.machine import End, Machine
from choiros.testing.simulator.model import Files, History, Violation, require
from choiros.testing.simulator.workload import Worker, collect
from choiros.wiring import Computer, open_computer, projectors, rebuild

HOME = f"{PREFIX}/home/users/me"

_FAULTS: tuple[Fault | None, ...] = (None, None, None, "full", "broken")


@dataclass
class Story:
    """What became of a seed."""

    seed: int
    broken: str = ""
    """The invariant that does not hold, and how; empty when all do."""
    cause: Violation | None = None
    counts: Counter[str] = field(default_factory=Counter[str])
    trace: list[str] = field(default_factory=list[str])


def simulate(seed: int, *, trace: bool = False, prepare: Callable[[Machine], None] | None = None) -> Story:
    """Play the story of a seed; `prepare` may plant a fault in the machine first."""
    machine = Machine(seed)
    if trace:
        machine.disk.trace = []
    if prepare is not None:
        prepare(machine)
    story = Story(seed, counts=machine.counts)
    with machine.powered():
        try:
            _Player(machine).play()
        except Violation as violation:
            story.broken, story.cause = str(violation), violation
        finally:
            machine.end("killed")
    machine.counts["operations"] = machine.disk.count
    story.trace = machine.disk.trace or []
    return story


class _Player:
    """Plays one story."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._chance = Chance(machine.seed, "player")
        self._history = History([])
        self._computer: Computer | None = None

    def play(self) -> None:
        """Live several lives, the last one undisturbed, then let the disk age."""
        for _ in range(self._chance.between(1, 3)):
            self._one_life()
        self._machine.calm()
        self._process(self._last_life, "closed")
        self._age()

    def _one_life(self) -> None:
        chance = self._chance
        fault = chance.choice(_FAULTS)
        cut_at = chance.below(chance.choice((60, 600, 3000))) if chance.one_in(2) else None
        step = chance.below(2000) if cut_at is None and chance.one_in(2) else None
        self._machine.plan(cut_at=cut_at, step=step, fault=fault)
        self._machine.clock.set_ms += chance.choice((0, 0, 0, 5, -5, 3_600_000, -3_600_000, -86_400_000))
        how: End = chance.choice(("killed", "cut", "cut"))
        self._process(self._life, how)
        self._machine.calm()
        self._process(self._recovery, chance.choice(("closed", "killed", "cut")))

    def _process(self, main: Callable[[], Coroutine[Any, Any, None]], how: End) -> None:
        machine = self._machine
        try:
            machine.live(main)
        except PowerCut:
            machine.counts["cut in the middle"] += 1
            how = "cut" if how == "closed" else how
        except Stuck as stuck:
            raise Violation("I9", f"it hangs: {stuck}") from stuck
        except ChoirError as refusal:
            require(machine.is_faulty, "I9", f"it refuses to start on a sound disk: {refusal.code} {refusal}")
            machine.counts[f"refused {refusal.code}"] += 1
        except Violation:
            raise
        except Exception as error:
            raise Violation("I9", f"an error that nobody explains: {error!r}") from error
        machine.end(how)
        machine.counts[how] += 1

    # --- lives ---

    async def _open(self) -> Computer:
        machine = self._machine
        notices: list[str] = []
        self._computer = await open_computer(
            machine.parts(), machine.resolved.settings, write=True, notice=notices.append
        )
        machine.counts["rebuilt at start"] += len(notices)
        return self._computer

    async def _life(self) -> None:
        """Work, disturbed by whatever was planned."""
        computer = await self._open()
        for _ in range(self._chance.between(1, 3)):
            await self._round(computer)
            computer = await self._upkeep(computer)
        if self._chance.one_in(2):
            await self._close(computer)

    async def _recovery(self) -> None:
        """I9: on a disk that has stopped failing, everything is ready again; then all is checked."""
        computer = await self._open()
        await self._check(computer, is_restarted=True)
        await self._close(computer)

    async def _last_life(self) -> None:
        computer = await self._open()
        await self._check(computer, is_restarted=True)
        await self._round(computer)
        await self._check(computer)
        computer = await self._rebuilt(computer)
        await self._check(computer)
        await self._close(computer)

    async def _close(self, computer: Computer) -> None:
        if self._chance.one_in(2):
            try:
                if await computer.keep_snapshot() is not None:
                    self._machine.counts["snapshots"] += 1
            except ChoirError:
                self._machine.counts["snapshot refused"] += 1
        await computer.close()

    async def _round(self, computer: Computer) -> None:
        """Let several work at once."""
        chance = self._chance
        workers = [
            Worker(computer, Chance(chance.bits(), "worker"), number=number)
            for number in range(chance.between(1, 3))
        ]
        tasks = [asyncio.ensure_future(self._work(one)) for one in workers]
        tasks.append(asyncio.ensure_future(self._by_hand()))
        await asyncio.gather(*tasks)
        self._machine.clock.set_ms += chance.choice((0, 0, 0, 1, -1, 2_000_000, -2_000_000))
        await self._check_undone(computer, workers)
        for worker in workers:
            self._machine.counts.update(f"act: {name}" for name in worker.done)

    async def _work(self, worker: Worker) -> None:
        for _ in range(self._chance.between(1, 5)):
            await worker.act()

    async def _by_hand(self) -> None:
        for _ in range(self._chance.below(4)):
            await asyncio.sleep(self._chance.below(100) / 1000)
            try:
                self._machine.hand.act()
            except OSError:
                continue

    async def _check_undone(self, computer: Computer, workers: list[Worker]) -> None:
        """I6: back to N means exactly what stood at N."""
        undone = [one for worker in workers for one in worker.undone]
        if not undone:
            return
        history = History(await _records(computer))
        for workspace, seq, first, last in undone:
            then, now = history.standing(workspace, seq), history.standing(workspace, last)
            require(then == now, "I6", f"undo {first} brought {now} instead of {then} of event {seq}")
            self._machine.counts["I6"] += 1

    async def _upkeep(self, computer: Computer) -> Computer:
        match self._chance.below(6):
            case 0:
                self._machine.counts["collected"] += await collect(computer)
            case 1:
                return await self._rebuilt(computer)
            case 2:
                await self._check(computer)
            case _:
                pass
        return computer

    async def _rebuilt(self, computer: Computer) -> Computer:
        """I4, by the product's own way."""
        full = self._chance.one_in(2)
        computer.tables.close()
        parts = computer.parts
        rebuilt = await rebuild(parts, computer.settings, full=full)
        require(not rebuilt.differed, "I4", f"rebuilt views differ: {rebuilt.differed}")
        await computer.close()
        self._machine.counts["rebuilds"] += 1
        return await self._open()

    # --- checks ---

    async def _check(self, computer: Computer, *, is_restarted: bool = False) -> None:
        """Check every invariant; nobody is at work now."""
        with self._machine.hands_off():
            await self._check_all(computer, is_restarted=is_restarted)

    async def _check_all(self, computer: Computer, *, is_restarted: bool) -> None:
        is_quiet = await self._settled(computer)
        machine = self._machine
        records = await _records(computer)
        machine.books.compare(records)
        if is_restarted:
            machine.books.settle()
        history = self._history = History(records)
        history.check_verdicts()
        self._check_blobs(history)
        if computer.projectors.position().seq == len(records):
            await self._check_views(computer, history)
        if is_quiet:
            for workspace in history.open_workspaces():
                self._check_folder(history, workspace)
            self._check_hand(history)
            commits = [commit for one in machine.repositories.values() for commit in await one.log(1000)]
            history.check_effects([commit.seq for commit in commits])
        machine.counts["checks"] += 1
        machine.counts["quiet checks"] += is_quiet
        machine.counts["events checked"] += len(records)

    async def _settled(self, computer: Computer) -> bool:
        """Let the folders and the log agree; return whether they do, which a failing disk may prevent."""
        try:
            await computer.projectors.catch_up()
            for _ in range(4):
                found = False
                troubles = await computer.reactors.catch_up()
                require(not troubles or self._machine.is_faulty, "I5", f"effects are stuck: {troubles}")
                for one in computer.workspaces.all():
                    if one.state == "open":
                        captured = await computer.merger.capture(one.id)
                        found = found or bool(captured.events) or captured.restored > 0
                        require(
                            not captured.unkept or self._machine.is_faulty, "I5", f"unkept: {captured.unkept}"
                        )
                if not found and not troubles:
                    return computer.projectors.position() == await computer.journal.head()
        except ChoirError as refusal:
            if refusal.code == "dispatch.busy":
                # The log says now and then that it is late, and here four times in a row.
                return False
            require(self._machine.is_faulty, "I5", f"it does not settle: {refusal.code} {refusal}")
            return False
        require(self._machine.is_faulty or self._machine.disk.next_event < 1 << 60, "I5", "it never settles")
        return False

    async def _check_views(self, computer: Computer, history: History) -> None:
        """I4: views made again from nothing equal the live ones, and those equal the model."""
        tables = SqliteTables()
        try:
            runner = ProjectorRunner(
                computer.journal, tables, projectors=projectors(computer.journal.registry)
            )
            runner.prepare()
            await runner.catch_up()
            again, live = runner.digests(), computer.projectors.digests()
        finally:
            tables.close()
        differing = sorted(name for name in live if live[name] != again[name])
        require(not differing, "I4", f"live views differ from rebuilt ones: {differing}")
        last = len(history.events)
        for seq in {last, self._chance.below(last + 1)}:
            found = computer.files.below_at("main", "", seq=seq)
            told = {path: _plain(entry) for path, entry in found.items()}
            wanted = history.standing("main", seq)
            require(told == wanted, "I4", f"at event {seq} the view shows {told}, the log {wanted}")
        now = {path: _plain(entry) for path, entry in computer.files.below("main").items()}
        require(now == history.standing("main"), "I4", "the view of the present is not what the log says")

    def _check_blobs(self, history: History) -> None:
        """I1 for contents: what an event names is stored, byte for byte."""
        stored = self._stored()
        for digest in sorted(history.contents):
            node = stored.get(digest)
            require(node is not None, "I1", f"the content {digest} is not stored")
            assert node is not None
            require(hashlib.sha256(node.data).hexdigest() == digest, "I1", f"the content {digest} is damaged")

    def _stored(self) -> dict[str, Node]:
        fans = self._machine.calls.find(f"{HOME}/.choir").entries.get("blobs")
        return {
            name: node
            for fan in (fans.entries.values() if fans else ())
            for name, node in fan.entries.items()
        }

    def _check_folder(self, history: History, workspace: str) -> None:
        """I5: the folder shows what the log says."""
        place = f"{HOME}/workspace" if workspace == "main" else f"{HOME}/workspaces/{workspace}"
        shown: dict[str, tuple[object, ...]] = {}
        _walk("", self._machine.calls.find(place), shown)
        wanted = {path: _look(entry) for path, entry in history.standing(workspace).items()}
        if shown != wanted:
            paths = sorted(path for path in {*shown, *wanted} if shown.get(path) != wanted.get(path))
            path = paths[0]
            raise Violation(
                "I5", f"{workspace}: {path} shows {shown.get(path)}, the log says {wanted.get(path)}"
            )

    def _check_hand(self, history: History) -> None:
        """Nothing that somebody wrote in the folder was overwritten before it was seen."""
        left = self._machine.hand.left
        if not left:
            return
        stored = self._stored()
        kept = b"\n".join(bytes(stored[digest].data) for digest in sorted(history.contents))
        lost = {path: token for path, token in left.items() if token not in kept}
        require(not lost, "I5", f"outside edits were overwritten unseen: {lost}")

    # --- ageing ---

    def _age(self) -> None:
        """Flip one stored byte: it is found, or it has no meaning."""
        machine, chance = self._machine, self._chance
        files = [(path, node) for path, node in machine.disk.files() if "/.choir/" in path and node.data]
        path, node = chance.choice(files)
        machine.disk.rot(node, chance.below(len(node.data)), flip=1 << chance.below(8))
        before = self._history
        outcome = "unnoticed"
        is_derived = "state." in path
        try:
            machine.live(lambda: self._aged(before, is_derived=is_derived))
        except Corrupt as damage:
            outcome = damage.code
        except Violation as violation:
            raise Violation(
                violation.invariant, f"after a flipped byte in {path}: {violation}"
            ) from violation
        except ChoirError as refusal:
            outcome = refusal.code
        except Exception as error:
            raise Violation("I9", f"a flipped byte in {path} ends in {error!r}") from error
        name = path.rpartition("/")[2]
        machine.counts[f"rot in {name if len(name) < 20 else 'blob or snapshot'}: {outcome}"] += 1

    async def _aged(self, before: History, *, is_derived: bool) -> None:
        computer = await self._open()
        if is_derived:
            # Derived tables have no checksums: what helps is to make them again.
            computer.tables.close()
            await rebuild(computer.parts, computer.settings, full=True)
            await computer.close()
            computer = await self._open()
        async for _ in computer.journal.events(Point(0, GENESIS)):
            pass
        history = History(await _records(computer))
        require(len(history.events) >= len(before.events), "I1", "events are missing")
        for digest in sorted(history.contents):
            async for _ in computer.parts.blobs.read(digest):
                pass
        await self._check_views(computer, history)


async def _records(computer: Computer) -> list[Record]:
    return [record async for some in computer.parts.log.read("me") for record in some]


def _plain(entry: object) -> Files:
    return {
        name: getattr(entry, name)
        for name, usual in (("kind", None), ("mode", None), ("size", 0), ("content", ""), ("target", ""))
        if getattr(entry, name) != usual
    }


def _look(entry: Files) -> tuple[object, ...]:
    return entry["kind"], entry["mode"], entry.get("content", ""), entry.get("target", "")


def _walk(path: str, directory: Node, shown: dict[str, tuple[object, ...]]) -> None:
    for name, node in directory.entries.items():
        if name[: len(TEMPORARY)] == TEMPORARY:
            # After a power cut the note that one may be there can be lost; scans never show it.
            continue
        inner = f"{path}/{name}" if path else name
        content = hashlib.sha256(node.data).hexdigest() if node.kind == "file" else ""
        shown[inner] = (node.kind, node.mode, content, node.target)
        if node.kind == "dir":
            _walk(inner, node, shown)
