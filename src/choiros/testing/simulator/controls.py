"""Planted faults: each breaks one promise of the program, and a simulator that does not find it is no evidence."""

# ruff: noqa: SLF001 - a planted fault reaches inside on purpose

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import msgspec
from msgspec.structs import replace

from choiros.engines.blob.disk import syncing as blob_syncing
from choiros.engines.log import sqlite as log_engine
from choiros.features.files.view import FilesProjector
from choiros.kernel import event, journal
from choiros.kernel.blob import BlobStore
from choiros.kernel.dispatch import Kernel
from choiros.kernel.event import EVENT_DOMAIN, Draft, Event, Head, Point, Record
from choiros.kernel.tables import Tables
from choiros.kernel.tree import Done, Entry, Stat, Step, Tree
from choiros.testing.simulator.disk import Node
from choiros.testing.simulator.hand import FOLDER

if TYPE_CHECKING:
    from choiros.kernel.command import Proposal
    from choiros.kernel.gate import Ruling
    from choiros.testing.simulator.machine import Machine
    from choiros.wiring import Parts

_sha256 = event.hashlib.sha256
_DATA = f"{FOLDER.rpartition('/')[0]}/.choir"


class _Early(log_engine.LogFile):
    """A log that says yes before it commits: each group is committed with the next one."""

    def commit(self, group: Sequence[log_engine.Pending]) -> list[list[Record] | Exception]:
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        self._db.execute("BEGIN IMMEDIATE")
        head = self.head()
        return self._append_all(group, head) or self._append_each(group, head)


def acknowledged_before_the_commit(machine: Machine) -> None:
    """The log answers before the event is on the disk."""
    machine.planted.append((log_engine, "LogFile", _Early))


def the_log_is_not_synced(machine: Machine) -> None:
    """One fsync is left out: that of the write-ahead log."""

    def forgets(node: Node) -> bool:
        data = machine.calls.find(_DATA)
        return node is data.entries.get("log.db-wal")

    machine.disk.forgets_sync = forgets


def contents_are_not_synced(machine: Machine) -> None:
    """One fsync is left out: that of new contents; their directories are synced."""
    real = blob_syncing.sync

    def sync(path: Path) -> None:
        if path.is_dir():
            real(path)

    def sync_all(paths: Sequence[Path], root_fd: int) -> None:
        del root_fd
        for path in paths:
            sync(path)

    machine.planted += [(blob_syncing, "sync", sync), (blob_syncing, "sync_all", sync_all)]


def directories_are_not_synced(machine: Machine) -> None:
    """One kind of fsync is left out: that of directories."""
    machine.disk.forgets_sync = lambda node: node.kind == "dir"


def synchronous_is_off(machine: Machine) -> None:
    """SQLite is told not to wait for the disk."""
    real = log_engine._open

    def hasty(path: Path, *, read_only: bool) -> apsw.Connection:
        connection = real(path, read_only=read_only)
        connection.pragma("synchronous", "OFF")
        return connection

    machine.planted.append((log_engine, "_open", hasty))


def views_are_out_of_order(machine: Machine) -> None:
    """A view sees the events of a list in another order."""
    real = FilesProjector.apply

    def apply(self: FilesProjector, tables: Tables, events: Sequence[Event]) -> None:
        real(self, tables, list(reversed(events)))

    machine.planted.append((FilesProjector, "apply", apply))


def the_chain_has_no_lengths(machine: Machine) -> None:
    """The hash of an event leaves out the length of its head; reading agrees with it."""
    decode = msgspec.json.Decoder(Head).decode

    def link(prev: bytes, head: bytes) -> bytes:
        return _sha256(EVENT_DOMAIN + prev + head).digest()

    def open_records(records: Sequence[Record], after: Point) -> list[Head]:
        del after
        return [decode(record.head) for record in records]

    machine.planted += [(event, "link", link), (journal, "open_records", open_records)]


def verdicts_are_forgotten(machine: Machine) -> None:
    """What the gate allowed is recorded, but not that it did."""
    real = Kernel._drafts

    def drafts(self: Kernel, proposal: Proposal, ruling: Ruling) -> list[Draft]:
        made = real(self, proposal, ruling)
        return made if len(made) == 1 or proposal.effect != "reversible" else made[1:]

    machine.planted.append((Kernel, "_drafts", drafts))


class _Blind:
    """A folder that is written without a look at what stands there now."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    async def scan(self, skip: Callable[[str, bool], bool]) -> tuple[dict[str, Stat], dict[str, str]]:
        return await self._tree.scan(skip)

    async def look(self, paths: Iterable[str]) -> dict[str, Stat | None]:
        return await self._tree.look(paths)

    async def take(self, path: str, blobs: BlobStore) -> tuple[Entry, Stat]:
        return await self._tree.take(path, blobs)

    async def apply(self, steps: Sequence[Step], blobs: BlobStore) -> Mapping[str, Done]:
        now = await self._tree.look([step.path for step in steps])
        blind = [Step(step.path, step.entry, now[step.path]) for step in steps]
        return await self._tree.apply(blind, blobs)

    async def sweep(self) -> int:
        return await self._tree.sweep()


def the_merger_does_not_look(machine: Machine) -> None:
    """Whatever stands in the folder is overwritten."""

    def change(parts: Parts) -> Parts:
        real = parts.folder

        def folder(workspace: str, own: str | None) -> tuple[Tree, bool]:
            tree, is_new = real(workspace, own)
            return _Blind(tree), is_new

        return replace(parts, folder=folder)

    machine.change_parts = change


CONTROLS = (
    acknowledged_before_the_commit,
    the_log_is_not_synced,
    contents_are_not_synced,
    directories_are_not_synced,
    synchronous_is_off,
    views_are_out_of_order,
    the_chain_has_no_lengths,
    verdicts_are_forgotten,
    the_merger_does_not_look,
)
