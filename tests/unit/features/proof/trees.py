"""The tree of RFC 6962 as its definition reads, for comparing: short, slow, and written by nobody's cleverness."""

import hashlib
from collections.abc import Sequence


def mth(entries: Sequence[bytes]) -> bytes:
    """Section 2.1: the Merkle tree hash of a list."""
    if not entries:
        return hashlib.sha256().digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\x00" + entries[0]).digest()
    k = largest_power_below(len(entries))
    return hashlib.sha256(b"\x01" + mth(entries[:k]) + mth(entries[k:])).digest()


def path(m: int, entries: Sequence[bytes]) -> list[bytes]:
    """Section 2.1.1: the audit path of an entry."""
    if len(entries) == 1:
        return []
    k = largest_power_below(len(entries))
    if m < k:
        return [*path(m, entries[:k]), mth(entries[k:])]
    return [*path(m - k, entries[k:]), mth(entries[:k])]


def proof(m: int, entries: Sequence[bytes]) -> list[bytes]:
    """Section 2.1.2: the consistency proof of the first m entries."""
    return subproof(m, entries, b=True)


def subproof(m: int, entries: Sequence[bytes], *, b: bool) -> list[bytes]:
    if m == len(entries):
        return [] if b else [mth(entries)]
    k = largest_power_below(len(entries))
    if m <= k:
        return [*subproof(m, entries[:k], b=b), mth(entries[k:])]
    return [*subproof(m - k, entries[k:], b=False), mth(entries[:k])]


def largest_power_below(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def entries(size: int) -> list[bytes]:
    return [b"event %d" % number for number in range(size)]


def node_of(leaves: Sequence[bytes]):
    """Return complete subtrees by height and number, and refuse those that are not there."""

    def node(height: int, number: int) -> bytes:
        width = 1 << height
        part = leaves[number * width : (number + 1) * width]
        assert len(part) == width, "only complete subtrees may be asked for"
        return mth(part)

    return node
