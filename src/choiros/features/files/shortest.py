"""The shortest ways to turn one version into another (Myers 1986), searched with bounded effort."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

_SHORT_RUN = 16
_RUN_PER_STEP = 64
"""So many equal lines in a row cost about as much time as one step."""

Rows = list[list[int]]
"""How far one gets with 0, 1, 2, ... changes.

Row `d` holds, for each diagonal k = -d, -d + 2, ..., d (place in `a` minus place in `b`), the furthest place
in `a` that `d` changes reach.
"""


class Block(NamedTuple):
    """`size` lines that are the same: from line `a` of one version and `b` of the other, counted from 0."""

    a: int
    b: int
    size: int


class Effort:
    """How many steps may still be taken."""

    def __init__(self, steps: int) -> None:
        self.left = steps


class Pair:
    """Two versions side by side."""

    __slots__ = ("a", "b")

    def __init__(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> None:
        self.a = a
        self.b = b

    def run_forward(self, x: int, y: int) -> int:
        """Return how many lines are the same from these two places on."""
        a, b = self.a, self.b
        most = min(len(a) - x, len(b) - y)
        run = 0
        while run < most and run < _SHORT_RUN and a[x + run] == b[y + run]:
            run += 1
        if run < _SHORT_RUN:
            return run
        step = _SHORT_RUN
        while run + step <= most and a[x + run : x + run + step] == b[y + run : y + run + step]:
            run, step = run + step, step * 2
        while step := step // 2:
            if run + step <= most and a[x + run : x + run + step] == b[y + run : y + run + step]:
                run += step
        return run

    def run_back(self, x: int, y: int, *, most: int) -> int:
        """Return how many lines are the same directly before these two places, looking at `most` lines."""
        a, b = self.a, self.b
        run = 0
        while run < most and run < _SHORT_RUN and a[x - run - 1] == b[y - run - 1]:
            run += 1
        if run < _SHORT_RUN:
            return run
        step = _SHORT_RUN
        while run + step <= most and a[x - run - step : x - run] == b[y - run - step : y - run]:
            run, step = run + step, step * 2
        while step := step // 2:
            if run + step <= most and a[x - run - step : x - run] == b[y - run - step : y - run]:
                run += step
        return run

    def edges(self) -> tuple[int, int]:
        """Return how many lines are the same at the start, and how many others at the end."""
        head = self.run_forward(0, 0)
        most = min(len(self.a), len(self.b)) - head
        return head, self.run_back(len(self.a), len(self.b), most=most)


def one_shortest(pair: Pair, effort: Effort) -> list[Block] | None:
    """Return the same lines in one shortest reading, or None when the effort does not suffice."""
    rows = _reach(pair, effort)
    return None if rows is None else _path(pair, rows, below=True)


def all_shortest(pair: Pair, effort: Effort) -> list[Block] | None:
    """Return the same lines on which all shortest readings agree, or None when the effort does not suffice.

    Drawn on a grid of the two versions, readings are paths that cannot cross without meeting. All lie between
    the one that goes below wherever it can and the one that goes above, so what these two share, all share.
    """
    rows = _reach(pair, effort)
    if rows is None:
        return None
    return _shared(_path(pair, rows, below=True), _path(pair, rows, below=False))


def _reach(pair: Pair, effort: Effort) -> Rows | None:
    """Return the rows until both ends are reached."""
    size, goal = len(pair.a), len(pair.a) - len(pair.b)
    if goal * goal // 2 > effort.left:
        return None
    row = [pair.run_forward(0, 0)]
    rows = [row]
    changes = 0
    while abs(goal) > changes or (goal + changes) % 2 or row[(goal + changes) // 2] < size:
        changes += 1
        effort.left -= changes + 1
        if effort.left < 0:
            return None
        row = _next_row(pair, row, effort=effort)
        rows.append(row)
    return rows


def _next_row(pair: Pair, before: list[int], *, effort: Effort) -> list[int]:
    a, b = pair.a, pair.b
    size_a, size_b, changes = len(a), len(b), len(before)
    row: list[int] = []
    for index in range(changes + 1):
        k = 2 * index - changes
        x = before[index - 1] + 1 if index else before[0]
        if index < changes and before[index] > x:
            x = before[index]
        # A place beyond an edge stands for the end of its diagonal, which can be reached as well.
        y = x - k
        if x < size_a and y < size_b and a[x] == b[y]:
            run = pair.run_forward(x, y)
            effort.left -= run // _RUN_PER_STEP
            x += run
        row.append(x)
    return row


def _path(pair: Pair, rows: Rows, *, below: bool) -> list[Block]:
    """Walk back from both ends along a shortest reading, and leave the diagonal as early as it allows.

    Below: by a line that was added where that is possible; above: by one that was removed.
    """
    blocks: list[Block] = []
    x, y, changes = len(pair.a), len(pair.b), len(rows) - 1
    while x or y:
        turn = _until_turn(rows[changes - 1], (x, y), below=below) if changes else x
        run = pair.run_back(x, y, most=min(x, y, turn))
        if run:
            x, y = x - run, y - run
            blocks.append(Block(x, y, run))
        if changes:
            adds = below == (run == turn)
            x, y, changes = (x, y - 1, changes - 1) if adds else (x - 1, y, changes - 1)
    blocks.reverse()
    return blocks


def _until_turn(row: list[int], place: tuple[int, int], *, below: bool) -> int:
    """Return how far to go back on the diagonal until the preferred change leads there; beyond it: never.

    `row` is that of one change less. It suffices for the place before the preferred change exactly when it
    reaches at least as far on that place's diagonal.
    """
    x, y = place
    changes = len(row)
    index = (x - y + changes) // 2 - (not below)
    if not 0 <= index < changes:
        return x + 1
    return max(0, x - row[index] - (not below))


def _shared(one: list[Block], other: list[Block]) -> list[Block]:
    """Return the pairs of lines that both readings hold."""
    shared: list[Block] = []
    first = second = 0
    while first < len(one) and second < len(other):
        left, right = one[first], other[second]
        start, end = max(left.a, right.a), min(left.a + left.size, right.a + right.size)
        if start < end and left.a - left.b == right.a - right.b:
            shared.append(Block(start, start - left.a + left.b, end - start))
        if left.a + left.size < right.a + right.size:
            first += 1
        else:
            second += 1
    return shared
