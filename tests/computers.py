"""Computers for tests: the real kernel and rooms on engines in memory, with a clock and ids that repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.lock.memory import MemoryLock
from choiros.engines.log.memory import MemoryLog
from choiros.engines.repository.memory import MemoryRepository
from choiros.engines.signer.memory import MemorySigner
from choiros.engines.tables.sqlite import SqliteCabinet
from choiros.engines.tree.memory import MemoryTree
from choiros.engines.watch.memory import MemoryWatcher
from choiros.engines.witness.memory import MemoryWitness
from choiros.kernel.blob import BlobStore
from choiros.kernel.log import EventLog
from choiros.settings import Settings
from choiros.testing.clock import FakeClock
from choiros.testing.ids import CountingIds
from choiros.wiring import Computer, Parts, open_computer


@dataclass
class Desk:
    """The engines of one computer, kept over restarts, with the folders within reach of a test."""

    directory: Path
    log: EventLog = field(default_factory=MemoryLog)
    blobs: BlobStore = field(default_factory=lambda: MemoryBlobs(size_bytes_max=1 << 20))
    clock: FakeClock = field(default_factory=FakeClock)
    ids: CountingIds = field(default_factory=CountingIds)
    trees: dict[str, MemoryTree] = field(default_factory=dict[str, MemoryTree])
    repositories: dict[str, MemoryRepository] = field(default_factory=dict[str, MemoryRepository])
    watchers: dict[str, MemoryWatcher] = field(default_factory=dict[str, MemoryWatcher])
    settings: Settings = field(default_factory=Settings)
    signer: MemorySigner = field(default_factory=MemorySigner)
    witnesses: list[MemoryWitness] = field(default_factory=list[MemoryWitness])
    notices: list[str] = field(default_factory=list[str])

    def folder(self, workspace: str, folder: str | None) -> tuple[MemoryTree, bool]:
        """Return the folder of a workspace, a new one the first time."""
        name = folder or workspace
        fresh = name not in self.trees
        return self.trees.setdefault(name, MemoryTree()), fresh

    def parts(self) -> Parts:
        """Return the engines for wiring."""
        return Parts(
            log=self.log,
            blobs=self.blobs,
            cabinet=SqliteCabinet(self.directory),
            clock=self.clock,
            ids=self.ids,
            lock=MemoryLock(),
            folder=self.folder,
            repository=lambda workspace, _: self.repositories.setdefault(workspace, MemoryRepository()),
            place=lambda workspace, folder: folder or workspace,
            watcher=lambda workspace, _, __: self.watchers.setdefault(workspace, MemoryWatcher()),
            signer=self.signer,
            witnesses=tuple(self.witnesses),
        )

    async def open(self) -> Computer:
        """Start the computer."""
        return await open_computer(self.parts(), self.settings, write=True, notice=self.notices.append)


Opened = Callable[[], Computer]
