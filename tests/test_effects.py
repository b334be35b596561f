"""No record, no effect: every way to change something outside is known here, and none is open without its record."""

import ast
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from choiros.engines.repository.memory import MemoryRepository
from choiros.engines.tree.memory import MemoryTree
from choiros.engines.witness.memory import MemoryWitness
from choiros.features.checkpoints.events import CheckpointMade, PushRequested
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.proof.events import LogSigned
from choiros.features.workspaces.events import WorkspaceRemoved
from choiros.kernel.blob import BlobStore
from choiros.kernel.event import Event
from choiros.kernel.repository import Commit
from choiros.kernel.tree import Done, Entry, Step
from choiros.wiring import Computer
from tests import house
from tests.checkout import checkout
from tests.computers import Desk
from tests.golden.record import desk, story
from tests.places import Hand, recorded

# What the methods of the ports are: an effect changes what somebody outside ChoirOS sees, and needs its record.
EFFECTS = {
    "Tree.apply": "files in a workspace",
    "Tree.sweep": "leftovers of a broken off `apply`, under names that nobody else has",
    "Repository.commit": "a commit in the workspace's repository",
    "Repository.backup": "references in that repository",
    "Repository.push": "what leaves the machine",
    "Witness.add": "what leaves the machine",
    "Signer.remember": "what is kept beside the keys",
}
# What ChoirOS keeps for itself: contents before the event that names them, what is derived, the log itself.
KEEPS = {
    *(
        "BlobStore.put",
        "BlobStore.flush",
        "BlobStore.delete",
        "EventLog.append",
        "Signer.create",
        "Signer.sign",
    ),
    *("Archive.write", "Tables.run", "Tables.script", "Tables.transaction", "Tables.close"),
    *("Cabinet.open", "Cabinet.beside", "Cabinet.switch", "Cabinet.save", "Cabinet.drop"),
    *("Lock.acquire", "Lock.release", "EventLog.close", "Watcher.close", "Worker.close", "Worker.run"),
    *("Projector.apply", "Reactor.react", "Clock.sleep"),
}
READS = {
    "Archive.read",
    *(
        "BlobStore.size",
        "BlobStore.read",
        "BlobStore.digests",
        "Tables.query",
        "Tables.digest",
    ),
    *("Cabinet.snapshots", "Tree.scan", "Tree.look", "Tree.take", "Watcher.changes"),
    *("EventLog.head", "EventLog.read", "EventLog.fetch", "EventLog.follow"),
    *("Repository.head", "Repository.log", "Repository.files", "Witness.name", "Witness.newest"),
    *("Signer.publics", "Signer.verify", "Signer.remembered", "Clock.now_ms", "Clock.monotonic_ns"),
    *("Ids.event_id", "Ids.salt", "Approvals.granted", "Check.name", "Check.judge", "Reactor.name"),
    *("Projector.name", "Projector.version", "Projector.tables", "Projector.schema"),
    *("Reverser.types", "Reverser.reverse"),
}
# The only places that call an effect, each with the record that is there before.
SITES = {
    ("features/files/react.py", "_apply", "tree.apply"): "the facts of files, which the views know by then",
    ("features/files/react.py", "_clear", "tree.apply"): "workspace.remove",
    ("features/files/react.py", "_tree", "tree.sweep"): "the facts of the effect that was broken off",
    ("features/checkpoints/react.py", "_commit", "repository.commit"): "checkpoint",
    ("features/checkpoints/react.py", "_push", "repository.push"): "checkpoint.push",
    (
        "cli/direct/points.py",
        "_backup",
        "repository.backup",
    ): "checkpoint: it keeps what stands, and takes nothing",
    (
        "wiring/doctor/mending.py",
        "_commit_again",
        "repository.commit",
    ): "the checkpoint whose commit is missing",
    ("features/proof/react.py", "_added", "witness.add"): "proof.signed",
    ("features/proof/react.py", "react", "_signer.remember"): "proof.signed",
    (
        "wiring/portable/arriving.py",
        "replace",
        "signer.remember",
    ): "backup.import, in the log that took its place",
}


def port_methods(texts: Mapping[str, str]) -> Iterator[str]:
    for _, text in house.python(texts, house.KERNEL):
        for port in house.protocols(text):
            yield from (f"{port.name}.{one.name}" for one in house.functions(port) if one.name != "__call__")


def sites(texts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield module, function and call of everything that looks like an effect, outside the engines."""
    owners = {(effect.split(".")[0].lower(), effect.split(".")[1]) for effect in EFFECTS}
    outside = (house.ENGINES, house.SRC + "testing/", house.KERNEL)
    for path, text in house.python(texts, house.SRC, outside=outside):
        for function in house.functions(house.parsed(text)):
            for node in ast.walk(function):
                words = house.dotted(node.func).split(".")[-2:] if isinstance(node, ast.Call) else []
                if len(words) == 2 and (words[0].strip("_"), words[1]) in owners:
                    yield path.removeprefix(house.SRC), function.name, ".".join(words)


def test_every_method_of_every_port_is_known_as_effect_or_not() -> None:
    known = {*EFFECTS, *KEEPS, *READS}
    found = set(port_methods(checkout()))
    assert found - known == set(), "say what they are: an effect needs its record"
    assert known - found == set(), "they are gone"


def test_effects_are_called_where_their_record_is_there_and_nowhere_else() -> None:
    assert set(sites(checkout())) == set(SITES)


def test_an_effect_that_is_called_elsewhere_is_found() -> None:
    planted = {house.FEATURES + "files/decide.py": "async def f(tree): await tree.apply([], None)"}
    assert list(sites(planted)) == [("features/files/decide.py", "f", "tree.apply")]


# --- The same, while it runs ---


class Watch:
    """Asks at every effect whether the log holds what announced it."""

    def __init__(self) -> None:
        self.computer: Computer | None = None
        self.seen: dict[str, int] = {}

    async def events(self, effect: str) -> Sequence[Event]:
        self.seen[effect] = self.seen.get(effect, 0) + 1
        assert self.computer is not None
        return await recorded(self.computer)


class WatchedTree(MemoryTree):
    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    async def apply(self, steps: Sequence[Step], blobs: BlobStore) -> Mapping[str, Done]:
        if self._watch.computer is not None:
            facts = [event.payload for event in await self._watch.events("Tree.apply")]
            said = set(said_of(facts))
            removed = any(isinstance(fact, WorkspaceRemoved) for fact in facts)
            for step in steps:
                assert (step.path, step.entry) in said or (step.entry is None and removed), step
        return await super().apply(steps, blobs)


def said_of(facts: Sequence[object]) -> Iterator[tuple[str, Entry | None]]:
    for fact in facts:
        match fact:
            case FileWritten(_, path, entry):
                yield path, entry
            case FileDeleted(_, path):
                yield path, None
            case FileMoved(_, path, to, entry):
                yield path, None
                yield to, entry
            case _:
                pass


class WatchedRepository(MemoryRepository):
    fails = False

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    async def commit(self, *args: object, **options: object) -> Commit:
        events = await self._watch.events("Repository.commit")
        assert isinstance(events[int(str(options["seq"])) - 1].payload, CheckpointMade)
        return await super().commit(*args, **options)  # type: ignore[arg-type]

    async def push(self, url: str, branch: str) -> str:
        facts = [event.payload for event in await self._watch.events("Repository.push")]
        assert any(isinstance(one, PushRequested) and (one.url, one.branch) == (url, branch) for one in facts)
        return await super().push(url, branch)


class WatchedWitness(MemoryWitness):
    def __init__(self, watch: Watch) -> None:
        super().__init__("stick")
        self._watch = watch

    async def add(self, request: str) -> str:
        facts = [event.payload for event in await self._watch.events("Witness.add")]
        assert any(isinstance(one, LogSigned) and request.endswith(one.note) for one in facts)
        return await super().add(request)


class WatchedDesk(Desk):
    watch: Watch

    async def open(self) -> Computer:
        computer = await super().open()
        self.watch.computer = computer
        return computer


def watched(directory: Path) -> WatchedDesk:
    watch = Watch()
    found = WatchedDesk(
        directory,
        settings=desk(directory).settings,
        trees={"main": WatchedTree(watch)},
        repositories={"main": WatchedRepository(watch)},
        witnesses=[WatchedWitness(watch)],
    )
    found.watch = watch
    return found


def test_each_effect_finds_its_record_in_the_log_when_it_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def played() -> None:
        at = watched(tmp_path)
        monkeypatch.setattr("tests.golden.record.FlakyRepository", WatchedRepository)
        computer = await story(at)
        await computer.close()
        assert set(at.watch.seen) == {"Tree.apply", "Repository.commit", "Repository.push", "Witness.add"}

    asyncio.run(played())


def test_an_effect_without_a_record_is_noticed(tmp_path: Path) -> None:
    async def played() -> None:
        at = watched(tmp_path)
        computer = await at.open()
        await Hand(computer).write("a", b"1")
        with pytest.raises(AssertionError):
            await at.repositories["main"].push("/srv/a.git", "main")
        with pytest.raises(AssertionError):
            await at.trees["main"].apply([Step("b", Entry("dir", 0o755), None)], at.blobs)
        await computer.close()

    asyncio.run(played())
