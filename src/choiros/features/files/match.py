"""Which lines of two versions are the same ones: the ground under merging, comparing and blaming.

The exact answer is a shortest list of changes. It is searched with bounded effort; where the bound is
reached, lines that occur once in both versions serve as anchors, and what lies between is searched again.
What stays open is called changed as a whole. That is never wrong, it only makes a change look larger than it
was.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from choiros.features.files.shortest import Block, Effort, Pair, all_shortest, one_shortest

STEPS_MAX = 400_000
"""The effort for one comparison: about 0.3 s in the worst case."""

QUICK_STEPS_MAX = 20_000
"""The effort before lines that only one version has are set aside, which costs time on a large file."""

DEPTH_MAX = 2
"""How often a region may be divided by anchors. Without a bound a hostile file costs quadratic time."""

Gap = tuple[int, int, int, int]
"""Lines from-to of the one version, and the lines from-to of the other that stand in their place."""


class _Region(NamedTuple):
    """A part of both versions in which the lines that are the same are still to be found."""

    a: int
    a_end: int
    b: int
    b_end: int
    depth: int


def matches(a: Sequence[bytes], b: Sequence[bytes]) -> list[Block]:
    """Return the lines that are the same in one readable reading, in order.

    Where several readings are equally short, lines count as added or removed as late as possible: that shows
    a new paragraph as the paragraph with the gap after it, as people expect.
    """
    head, tail = Pair(a, b).edges()
    left, right = numbered(a[head : len(a) - tail], b[head : len(b) - tail])
    inner = [Block(block.a + head, block.b + head, block.size) for block in _solve(left, right, sure=False)]
    outer = [Block(0, 0, head), *inner, Block(len(a) - tail, len(b) - tail, tail)]
    return _settled(_joined(outer), Pair(a, b))


def sure_matches(a: Sequence[int], b: Sequence[int]) -> list[Block]:
    """Return only the lines that are the same in every shortest reading, in order.

    Of three equal lines one was removed: which one nobody can know, so none of them is sure. A merge that
    relies on sure lines never puts somebody's change at a place that was guessed.
    """
    return _joined(_solve(a, b, sure=True))


def numbered(*versions: Sequence[bytes]) -> list[list[int]]:
    """Return the versions with a number for each line, equal for equal lines: fast to compare."""
    numbers: dict[bytes, int] = {}
    fresh = count()
    return [list(map(numbers.setdefault, lines, fresh)) for lines in versions]


def gaps(blocks: Iterable[Block], sizes: tuple[int, int]) -> Iterator[Gap]:
    """Yield what lies between the blocks of two versions that have so many lines."""
    x = y = 0
    for block in (*blocks, Block(*sizes, 0)):
        if x < block.a or y < block.b:
            yield x, block.a, y, block.b
        x, y = block.a + block.size, block.b + block.size


def _solve(a: Sequence[int], b: Sequence[int], *, sure: bool) -> list[Block]:
    effort = Effort(STEPS_MAX)
    found: list[Block] = []
    todo = [_Region(0, len(a), 0, len(b), DEPTH_MAX)]
    while todo:
        region = todo.pop()
        left, right = a[region.a : region.a_end], b[region.b : region.b_end]
        if not left or not right:
            continue
        blocks = _shortest(left, right, effort=effort, sure=sure)
        if blocks is None:
            blocks = _anchored(Pair(left, right))
            if region.depth and blocks:
                todo += _between(region, blocks)
        found += [Block(block.a + region.a, block.b + region.b, block.size) for block in blocks]
    return sorted(found)


def _between(region: _Region, blocks: list[Block]) -> list[_Region]:
    sizes = (region.a_end - region.a, region.b_end - region.b)
    return [
        _Region(region.a + x, region.a + x_end, region.b + y, region.b + y_end, region.depth - 1)
        for x, x_end, y, y_end in gaps(blocks, sizes)
    ]


def _shortest(a: Sequence[int], b: Sequence[int], *, effort: Effort, sure: bool) -> list[Block] | None:
    """Return a shortest reading, or what all of them share, or None when the effort does not suffice."""
    search = all_shortest if sure else one_shortest
    quick = Effort(min(QUICK_STEPS_MAX, effort.left))
    effort.left -= quick.left
    blocks = search(Pair(a, b), quick)
    effort.left += quick.left
    if blocks is not None or effort.left <= 0:
        return blocks
    # A line that the other version does not have is part of no reading: without it the search is shorter.
    in_a, in_b = set(a), set(b)
    kept_a = [place for place, line in enumerate(a) if line in in_b]
    kept_b = [place for place, line in enumerate(b) if line in in_a]
    kept = search(Pair([a[place] for place in kept_a], [b[place] for place in kept_b]), effort)
    if kept is None:
        return None
    places = ((block, offset) for block in kept for offset in range(block.size))
    return _joined(Block(kept_a[block.a + offset], kept_b[block.b + offset], 1) for block, offset in places)


def _anchored(pair: Pair) -> list[Block]:
    """Return the same lines at both edges, and between them a longest chain of lines that each has once."""
    head, tail = pair.edges()
    end_a, end_b = len(pair.a) - tail, len(pair.b) - tail
    in_a, in_b = Counter(pair.a[head:end_a]), Counter(pair.b[head:end_b])
    places = {line: place for place, line in enumerate(pair.b[head:end_b], head) if in_b[line] == 1}
    pairs = [
        (place, places[line])
        for place, line in enumerate(pair.a[head:end_a], head)
        if line in places and in_a[line] == 1
    ]
    chain = [Block(x, y, 1) for x, y in _rising(pairs)]
    return _joined([Block(0, 0, head), *chain, Block(end_a, end_b, tail)])


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a longest part of the pairs in which the second numbers rise too (the first ones do already)."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, y) in enumerate(pairs):
        length = len(ends) if not ends or y > ends[-1] else bisect_left(ends, y)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [y]
        last[length : length + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    chain.reverse()
    return chain


def _joined(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks without empty ones, and with those that touch made one."""
    joined: list[Block] = []
    for block in blocks:
        if not block.size:
            continue
        last = joined[-1] if joined else None
        if last and last.a + last.size == block.a and last.b + last.size == block.b:
            joined[-1] = Block(last.a, last.b, last.size + block.size)
        else:
            joined.append(block)
    return joined


def _settled(blocks: list[Block], pair: Pair) -> list[Block]:
    """Move lines that were only added, or only removed, down as far as they can go."""
    settled: list[Block] = []
    x = y = 0
    for block in blocks:
        run = 0
        if x < block.a and y == block.b:
            run = _slide(pair.a, (x, block.a), most=block.size)
        elif y < block.b and x == block.a:
            run = _slide(pair.b, (y, block.b), most=block.size)
        settled += [Block(x, y, run), Block(block.a + run, block.b + run, block.size - run)]
        whole = run == block.size
        x, y = (x + run, y + run) if whole else (block.a + block.size, block.b + block.size)
    return _joined(settled)


def _slide(lines: Sequence[object], gap: tuple[int, int], *, most: int) -> int:
    """Return by how many lines the gap can move down without changing what the versions say."""
    start, end = gap
    run = 0
    while run < most and lines[start + run] == lines[end + run]:
        run += 1
    return run
