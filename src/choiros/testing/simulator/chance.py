"""Chance that can be repeated: one number leads to one endless row of choices, on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")

_MASK = (1 << 64) - 1


class Chance:
    """A row of choices (the generator splitmix64); rows of different names have nothing to do with each other."""

    def __init__(self, seed: int, name: str = "") -> None:
        digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
        self._state = int.from_bytes(digest[:8])

    def bits(self) -> int:
        """Return 64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((self._state ^ (self._state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, end: int) -> int:
        """Return a number from 0 up to, and without, `end`."""
        return self.bits() % end

    def between(self, first: int, last: int) -> int:
        """Return a number from `first` up to and with `last`."""
        return first + self.bits() % (last - first + 1)

    def one_in(self, count: int) -> bool:
        """Return True about once in so many calls."""
        return self.bits() % count == 0

    def choice(self, among: Sequence[T]) -> T:
        """Return one of these."""
        return among[self.bits() % len(among)]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Bring these into any order."""
        for place in range(len(items) - 1, 0, -1):
            other = self.bits() % (place + 1)
            items[place], items[other] = items[other], items[place]

    def some_bytes(self, count: int) -> bytes:
        """Return so many bytes."""
        return b"".join(self.bits().to_bytes(8) for _ in range(count // 8 + 1))[:count]
