"""A disk as a power cut finds it: what was written, what was synced, and every state that may be left of both.

A file has the bytes that programs see and the bytes that are on the platter; between two syncs it has a list of
writes that may have reached the platter or not, each sector of 512 bytes for itself and in any order. A name in a
directory has its own list: making, renaming and removing are on the platter when the directory has been synced. A
rename is on the platter as a whole or not at all; names of one directory do not keep others waiting unless the
disk is `ordered`, as those of ext4 and XFS are.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from typing import Literal

from choiros.testing.simulator.chance import Chance

SECTOR = 512
NEVER = 1 << 62

Kind = Literal["file", "dir", "link"]
Fault = Literal["full", "broken"]


class PowerCut(BaseException):
    """The machine is off; whatever a program does now has no effect any more."""


class Node:
    """A file, directory or link: as programs see it, and as it is on the platter (`kept_*`)."""

    __slots__ = (
        "ctime",
        "data",
        "entries",
        "held",
        "kept",
        "kept_entries",
        "kept_look",
        "kind",
        "locks",
        "mode",
        "mtime",
        "number",
        "target",
        "writes",
    )

    def __init__(self, number: int, kind: Kind, *, mode: int, now: int, target: str = "") -> None:
        self.number = number
        self.kind: Kind = kind
        self.mode = mode
        self.mtime = self.ctime = now
        self.target = target
        self.data = bytearray()
        self.kept = bytearray()
        self.kept_look = (mode, now, now)
        # Writes that no sync has confirmed: an offset and bytes, or a size and None for a change of the length.
        self.writes: list[tuple[int, bytes | None]] = []
        self.entries: dict[str, Node] = {}
        self.kept_entries: dict[str, Node] = {}
        self.locks: dict[object, int] = {}
        self.held: object | None = None

    @property
    def size(self) -> int:
        """The length that programs see."""
        return len(self.data) if self.kind == "file" else len(os.fsencode(self.target)) or 4096


Naming = tuple[Node, str, Node | None]
"""In this directory this name means that node from now on, None for nothing."""


class Disk:
    """All nodes of one file system, its clock, its faults, and what is not synced yet."""

    def __init__(self, chance: Chance, now_ns: Callable[[], int]) -> None:
        self.chance = chance
        self._now_ns = now_ns
        self._numbers = 1
        self._ticks = 0
        self.root = Node(1, "dir", mode=0o755, now=0)
        self.ordered = True
        self.pending: list[tuple[Naming, ...]] = []
        self._unsynced: dict[Node, None] = {}
        self.is_off = False
        self.count = 0
        self.trace: list[str] | None = None
        self.next_event = NEVER
        self.on_event: Callable[[str, Node], None] = _nothing
        self.forgets_sync: Callable[[Node], bool] | None = None

    def now(self) -> int:
        """Return a time of a change that no other change has."""
        self._ticks += 1
        return self._now_ns() // 1_000_000 * 1_000_000 + self._ticks % 1_000_000

    def note(self, line: str) -> None:
        """Write a line into the trace, if one is kept."""
        if self.trace is not None:
            self.trace.append(line)

    def act(self, what: str, node: Node, name: str = "") -> None:
        """Count an operation; this is where the power goes off, the disk fails, or somebody else comes in."""
        if self.is_off:
            raise PowerCut
        self.count += 1
        if self.trace is not None:
            self.trace.append(f"{self.count} {what} {node.number} {name}".rstrip())
        if self.count >= self.next_event:
            self.on_event(what, node)
            if self.is_off:
                raise PowerCut

    def new(self, kind: Kind, mode: int, *, target: str = "") -> Node:
        """Return a node that has no name yet."""
        self._numbers += 1
        return Node(self._numbers, kind, mode=mode, now=self.now(), target=target)

    def name(self, *namings: Naming) -> None:
        """Let names mean other nodes, all at once."""
        now = self.now()
        for directory, name, node in namings:
            if node is None:
                directory.entries.pop(name, None)
            else:
                directory.entries[name] = node
                node.ctime = now
            directory.mtime = directory.ctime = now
            self._unsynced[directory] = None
        self.pending.append(namings)

    def write(self, node: Node, offset: int, *, data: bytes) -> None:
        """Change bytes as programs see them."""
        if len(node.data) < offset:
            node.data += bytes(offset - len(node.data))
        node.data[offset : offset + len(data)] = data
        node.writes.append((offset, data))
        self.touch(node)

    def truncate(self, node: Node, size: int) -> None:
        """Change the length as programs see it."""
        _set_size(node.data, size)
        node.writes.append((size, None))
        self.touch(node)

    def touch(self, node: Node) -> None:
        """Note that a node was changed just now."""
        node.mtime = node.ctime = self.now()
        self._unsynced[node] = None

    def change_mode(self, node: Node, mode: int) -> None:
        """Change the permission bits."""
        node.mode = mode
        node.ctime = self.now()
        self._unsynced[node] = None

    def sync(self, node: Node) -> None:
        """Bring a node onto the platter: a file with its bytes, a directory with its names."""
        if self.forgets_sync is not None and self.forgets_sync(node):
            return
        if node.kind == "dir":
            self._settle([self._touches(batch, node) for batch in self.pending])
        else:
            for write in node.writes:
                carry_out(node.kept, write)
            node.writes.clear()
        node.kept_look = (node.mode, node.mtime, node.ctime)
        self._unsynced.pop(node, None)

    def sync_all(self) -> None:
        """Bring everything onto the platter."""
        for node in list(self._unsynced):
            self.sync(node)

    def fail_sync(self, node: Node) -> None:
        """Let a sync fail as Linux does: what was not written is clean from now on, and lost."""
        if node.kind != "file":
            return
        self._lose(node)
        if self.chance.one_in(2):
            # The page was dropped from memory: programs see what is on the platter.
            node.data = bytearray(node.kept)
        node.writes.clear()

    def _touches(self, batch: tuple[Naming, ...], node: Node) -> bool:
        if self.ordered:
            return True
        return any(directory is node for directory, _, _ in batch)

    def _settle(self, chosen: list[bool]) -> None:
        """Bring chosen changes of names onto the platter, with those before them that they build on."""
        needed: set[tuple[int, str]] = set()
        for place in range(len(self.pending) - 1, -1, -1):
            names = {(directory.number, name) for directory, name, _ in self.pending[place]}
            if chosen[place] or not needed.isdisjoint(names):
                chosen[place] = True
                needed |= names
        left: list[tuple[Naming, ...]] = []
        for batch, is_kept in zip(self.pending, chosen, strict=True):
            if not is_kept:
                left.append(batch)
                continue
            for directory, name, node in batch:
                if node is None:
                    directory.kept_entries.pop(name, None)
                else:
                    directory.kept_entries[name] = node
        self.pending = left

    def cut_power(self) -> None:
        """Keep what a power cut may leave: what was synced, and any legal part of the rest."""
        self._settle_some()
        found: list[Node] = [self.root]
        for node in found:
            found += node.kept_entries.values()
        for node in dict.fromkeys(found):
            self._find_after_cut(node)
        self.pending.clear()
        self._unsynced.clear()

    def _settle_some(self) -> None:
        count, chance = len(self.pending), self.chance
        match chance.below(4):
            case 0:
                chosen = [False] * count
            case 1:
                chosen = [True] * count
            case _ if self.ordered:
                end = chance.below(count + 1)
                chosen = [place < end for place in range(count)]
            case _:
                chosen = [chance.one_in(2) for _ in range(count)]
        self._settle(chosen)

    def _find_after_cut(self, node: Node) -> None:
        look = (node.mode, node.mtime, node.ctime)
        if node.kind == "file" and node.writes:
            seen, synced = bytearray(node.data), bytearray(node.kept)
            self._lose(node)
            node.data = bytearray(node.kept)
            node.writes.clear()
            # A look belongs to the bytes that had it; others have a look of their own.
            look = (
                look if node.data == seen else node.kept_look if node.data == synced else self._new_look(node)
            )
        elif node.kind == "dir" and node.entries != node.kept_entries:
            node.entries = dict(node.kept_entries)
            look = self._new_look(node)
        elif self.chance.one_in(2):
            look = node.kept_look
        node.mode, node.mtime, node.ctime = node.kept_look = look
        node.locks.clear()
        node.held = None

    def _new_look(self, node: Node) -> tuple[int, int, int]:
        now = self.now()
        return node.mode, now, now

    def _lose(self, node: Node) -> None:
        """Let a part of the unsynced writes reach the platter: none, all, the first, or any sectors of any."""
        writes, chance = node.writes, self.chance
        if not writes:
            return
        match chance.below(5):
            case 0:
                return
            case 1:
                kept = len(writes)
            case 2:
                kept = chance.below(len(writes) + 1)
            case _:
                self._tear(node)
                return
        for write in writes[:kept]:
            carry_out(node.kept, write)

    def _tear(self, node: Node) -> None:
        for offset, data in node.writes:
            if self.chance.one_in(3):
                continue
            if data is None or self.chance.one_in(2):
                carry_out(node.kept, (offset, data))
                continue
            for start, end in sectors(offset, len(data)):
                if self.chance.one_in(2):
                    carry_out(node.kept, (offset + start, data[start:end]))

    def rot(self, node: Node, place: int, *, flip: int) -> None:
        """Change one stored byte, as an ageing disk does."""
        node.data[place] ^= flip
        node.kept[:] = node.data
        node.writes.clear()

    def files(self) -> Iterator[tuple[str, Node]]:
        """Return every file that programs see, with its path below the root."""
        return _below("", self.root)


def _below(path: str, directory: Node) -> Iterator[tuple[str, Node]]:
    for name, node in directory.entries.items():
        inner = f"{path}/{name}" if path else name
        if node.kind == "dir":
            yield from _below(inner, node)
        else:
            yield inner, node


def sectors(offset: int, length: int) -> Iterator[tuple[int, int]]:
    """Return the parts of a write that fall into one sector each, from the start of the write."""
    start = 0
    while start < length:
        end = min(length, start + SECTOR - (offset + start) % SECTOR)
        yield start, end
        start = end


def failure(fault: Fault) -> OSError:
    """Return the error that programs get."""
    number = errno.ENOSPC if fault == "full" else errno.EIO
    return OSError(number, os.strerror(number))


def carry_out(data: bytearray, write: tuple[int, bytes | None]) -> None:
    """Change bytes as a write does."""
    offset, content = write
    if content is None:
        _set_size(data, offset)
        return
    if len(data) < offset:
        data += bytes(offset - len(data))
    data[offset : offset + len(content)] = content


def _set_size(data: bytearray, size: int) -> None:
    if size < len(data):
        del data[size:]
    else:
        data += bytes(size - len(data))


def _nothing(_what: str, _node: Node) -> None:
    pass
