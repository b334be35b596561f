"""The Merkle tree of RFC 6962 over the events of a log: its root, and proofs about it. Pure.

A leaf is the stored head of an event, which holds the hash of its payload; the payload itself stays outside, so
that it can be erased while every proof stays valid.

    leaf = SHA-256(0x00 head)        node = SHA-256(0x01 left right)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

_sha256 = hashlib.sha256

EMPTY = _sha256().digest()
"""The root of the tree without leaves."""

Node = Callable[[int, int], bytes]
"""Gives the hash of the complete subtree `number` of 2**`height` leaves."""


def leaf_hash(head: bytes) -> bytes:
    """Return the hash of an event as a leaf."""
    return _sha256(b"\x00" + head).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of two subtrees together."""
    return _sha256(b"\x01" + left + right).digest()


def complete_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over 1, 2, 4, 8 ... neighbouring hashes."""
    while len(hashes) > 1:
        hashes = [node_hash(*pair) for pair in zip(hashes[::2], hashes[1::2], strict=True)]
    return hashes[0]


class Frontier:
    """A tree that grows to the right and remembers only the roots of its complete subtrees."""

    def __init__(self, size: int = 0, roots: Iterable[bytes] = ()) -> None:
        """Go on from a tree of `size` leaves; `roots` are those of its complete subtrees, the largest first."""
        self.size = size
        self._roots = list(roots)
        assert len(self._roots) == size.bit_count(), "there is one complete subtree for each bit of the size"

    def add(self, leaves: Iterable[bytes]) -> None:
        """Append the hashes of leaves."""
        size, roots = self.size, self._roots
        for leaf in leaves:
            hashed, rest = leaf, size
            while rest & 1:
                hashed = _sha256(b"\x01" + roots.pop() + hashed).digest()
                rest >>= 1
            roots.append(hashed)
            size += 1
        self.size = size

    def root(self) -> bytes:
        """Return the root of the whole tree."""
        if not self._roots:
            return EMPTY
        found = self._roots[-1]
        for left in reversed(self._roots[:-1]):
            found = node_hash(left, found)
        return found


def frontier_of(size: int, node: Node) -> Frontier:
    """Return the tree of the first `size` leaves."""
    roots: list[bytes] = []
    start = 0
    for height in reversed(range(size.bit_length())):
        if size >> height & 1:
            roots.append(node(height, start >> height))
            start += 1 << height
    return Frontier(size, roots)


def inclusion_proof(index: int, size: int, *, node: Node) -> list[bytes]:
    """Return the hashes that lead from leaf `index` to the root of the first `size` leaves."""
    return _path(index, 0, end=size, node=node)


def _path(index: int, start: int, *, end: int, node: Node) -> list[bytes]:
    if end - start <= 1:
        return []
    middle = start + _split(end - start)
    if index < middle:
        return [*_path(index, start, end=middle, node=node), _range(middle, end, node=node)]
    return [*_path(index, middle, end=end, node=node), _range(start, middle, node=node)]


def consistency_proof(old: int, size: int, *, node: Node) -> list[bytes]:
    """Return the hashes which show that the first `old` leaves are still the beginning of the first `size`."""
    if old in {0, size}:
        return []
    return _subproof(old, 0, end=size, is_known=True, node=node)


def _subproof(old: int, start: int, *, end: int, is_known: bool, node: Node) -> list[bytes]:
    if old == end:
        return [] if is_known else [_range(start, end, node=node)]
    middle = start + _split(end - start)
    if old <= middle:
        left = _subproof(old, start, end=middle, is_known=is_known, node=node)
        return [*left, _range(middle, end, node=node)]
    right = _subproof(old, middle, end=end, is_known=False, node=node)
    return [*right, _range(start, middle, node=node)]


def _range(start: int, end: int, *, node: Node) -> bytes:
    """Return the root over the leaves from `start` up to `end`; such a range always begins at a multiple."""
    width = end - start
    if width & (width - 1) == 0:
        height = width.bit_length() - 1
        return node(height, start >> height)
    middle = start + _split(width)
    return node_hash(_range(start, middle, node=node), _range(middle, end, node=node))


def _split(width: int) -> int:
    """Return the largest power of two below a width."""
    return 1 << (width - 1).bit_length() - 1


def root_from_inclusion(leaf: bytes, index: int, *, size: int, proof: Sequence[bytes]) -> bytes | None:
    """Return the root that a proof leads to; None when it cannot belong to this leaf of such a tree."""
    if not 0 <= index < size:
        return None
    found, last = leaf, size - 1
    for step in proof:
        if last == 0:
            return None
        if index & 1 or index == last:
            found = node_hash(step, found)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            found = node_hash(found, step)
        index, last = index >> 1, last >> 1
    return found if last == 0 else None


def is_consistent(old: int, old_root: bytes, *, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """Return whether a proof shows that a tree of `size` leaves begins with one of `old` leaves."""
    if not 0 <= old <= size:
        return False
    if old == 0:
        return not proof and old_root == EMPTY
    if old == size:
        return not proof and old_root == root
    # A beginning that is one complete subtree is not repeated in the proof.
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    return bool(path) and _both_roots(path, old - 1, last=size - 1) == (old_root, root)


def _both_roots(path: Sequence[bytes], index: int, *, last: int) -> tuple[bytes, bytes] | None:
    """Return the roots of the old and of the new tree that a proof leads to; None when its length is wrong."""
    while index & 1:
        index, last = index >> 1, last >> 1
    first = second = path[0]
    for step in path[1:]:
        if last == 0:
            return None
        if index & 1 or index == last:
            first, second = node_hash(step, first), node_hash(step, second)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            second = node_hash(second, step)
        index, last = index >> 1, last >> 1
    return (first, second) if last == 0 else None
