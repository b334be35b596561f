"""Which change brought each line of a file, told while one version after the other is fed in."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from choiros.features.files.match import matches
from choiros.features.files.text import is_comparable, split_lines


class Line(Struct, frozen=True):
    """A line of the last version, counted from 1 and without its end, and the change that brought it."""

    number: int
    seq: int
    text: str


class Blame:
    """The lines of one file and where they came from, up to the version that was fed last."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._seqs: list[int] = []

    def feed(self, seq: int, content: bytes | None) -> None:
        """Take in the next version; None says that the file did not exist then.

        Lines that were there in the version before keep their origin. After a version without lines (the file
        was gone, or not text, or too large to compare) every line is new. A file that moved is fed like any
        next version.
        """
        lines = split_lines(content) if content is not None and is_comparable(content) else []
        seqs = [seq] * len(lines)
        for block in matches(self._lines, lines):
            seqs[block.b : block.b + block.size] = self._seqs[block.a : block.a + block.size]
        self._lines, self._seqs = lines, seqs

    def lines(self) -> list[Line]:
        """Return the lines of the last version with their origin."""
        found = zip(self._seqs, self._lines, strict=True)
        return [Line(number, seq, _shown(line)) for number, (seq, line) in enumerate(found, 1)]


def attribute(versions: Iterable[tuple[int, bytes | None]]) -> list[Line]:
    """Return for each line of the last version the change that brought it; the versions come oldest first."""
    blame = Blame()
    for seq, content in versions:
        blame.feed(seq, content)
    return blame.lines()


def _shown(line: bytes) -> str:
    return line.removesuffix(b"\n").removesuffix(b"\r").decode()
