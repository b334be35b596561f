"""Three-way merge of text by lines: two people changed one version, and both changes are wanted.

What is merged is certain, and everything else is a conflict:

- Between a change of the one side and a change of the other at least one unchanged line must stand. Changes
  that touch (one edits line 3, the other line 4; or both add something at one place) are a conflict, unless
  both sides did exactly the same.
- A line counts as unchanged only when every shortest reading of the change leaves it unchanged. Where equal
  lines follow each other nobody can know which was removed, so a change of the other side among them
  conflicts.

A file with conflict markers in it is never made: what cannot merge, both sides keep, and a person is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from choiros.features.files.match import numbered, sure_matches
from choiros.features.files.shortest import Block
from choiros.features.files.text import is_comparable, is_text, split_lines

Refusal = Literal["", "conflicts", "not_text", "too_large"]


class Side(Struct, frozen=True):
    """The lines of one version in a conflict, with their ends, from line `start` (counted from 1) on.

    Where the version has no lines there, `start` is the line that follows.
    """

    start: int
    lines: tuple[str, ...]


class ConflictRegion(Struct, frozen=True):
    """A place that both sides changed, each in its own way."""

    base: Side
    ours: Side
    theirs: Side


class Merged(Struct, frozen=True):
    """The merged content, or None with the reason; `conflicts` lists the places when there are any."""

    content: bytes | None
    conflicts: tuple[ConflictRegion, ...] = ()
    refusal: Refusal = ""


class _Stretch(NamedTuple):
    """Lines of the base and those that stand for them in the other two; `same` when all three agree."""

    base: slice
    ours: slice
    theirs: slice
    same: bool


def merge(base: bytes, ours: bytes, theirs: bytes) -> Merged:  # noqa: PLR0917 - everybody's order for this
    """Return what both sides made of the base together; the order of the two sides does not matter.

    When only one side changed something, or both made the same of it, that is the result, also for content
    that is not text. Apart from that, content that is not text, or too large, is refused.
    """
    if ours in (base, theirs):
        return Merged(theirs)
    if theirs == base:
        return Merged(ours)
    versions = (base, ours, theirs)
    if not all(is_text(version) for version in versions):
        return Merged(None, refusal="not_text")
    if not all(is_comparable(version) for version in versions):
        return Merged(None, refusal="too_large")
    return _merge_lines([split_lines(version) for version in versions])


def _merge_lines(versions: list[list[bytes]]) -> Merged:
    _, ours, theirs = versions
    numbers = numbered(*versions)
    merged: list[bytes] = []
    conflicts: list[ConflictRegion] = []
    for stretch in _stretches(numbers):
        old, left, right = (lines[part] for lines, part in zip(numbers, stretch[:3], strict=True))
        if stretch.same or left in (old, right):
            merged += theirs[stretch.theirs]
        elif right == old:
            merged += ours[stretch.ours]
        else:
            sides = (_side(lines, part) for lines, part in zip(versions, stretch[:3], strict=True))
            conflicts.append(ConflictRegion(*sides))
    if conflicts:
        return Merged(None, tuple(conflicts), "conflicts")
    return Merged(b"".join(merged))


def _stretches(versions: list[list[int]]) -> Iterator[_Stretch]:
    """Yield all of the three versions in order: what they share surely, and what lies between."""
    base, ours, theirs = versions
    x = y = z = 0
    for block in _in_both(sure_matches(base, ours), sure_matches(base, theirs)):
        yield _Stretch(slice(x, block[0]), slice(y, block[1]), slice(z, block[2]), same=False)
        start, size = block[:3], block[3]
        x, y, z = (place + size for place in start)
        yield _Stretch(*(slice(place, place + size) for place in start), same=True)
    yield _Stretch(slice(x, len(base)), slice(y, len(ours)), slice(z, len(theirs)), same=False)


def _in_both(ours: Sequence[Block], theirs: Sequence[Block]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the lines of the base that both sides kept: their place in the three versions, and how many."""
    first = second = 0
    while first < len(ours) and second < len(theirs):
        left, right = ours[first], theirs[second]
        start, end = max(left.a, right.a), min(left.a + left.size, right.a + right.size)
        if start < end:
            yield start, start - left.a + left.b, start - right.a + right.b, end - start
        if left.a + left.size < right.a + right.size:
            first += 1
        else:
            second += 1


def _side(lines: list[bytes], part: slice) -> Side:
    return Side(part.start + 1, tuple(line.decode() for line in lines[part]))
