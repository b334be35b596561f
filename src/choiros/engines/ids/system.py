"""Ids and salts from the operating system's source of randomness."""

from __future__ import annotations

import os

_RANDOM_BITS = 74
_RANDOM_MASK = (1 << _RANDOM_BITS) - 1


class SystemIds:
    """Makes UUIDv7 ids that only grow, also when the wall clock stands still or goes backwards."""

    def __init__(self) -> None:
        self._last = 0

    def event_id(self, now_ms: int) -> str:
        """Return a new UUIDv7 greater than every one before."""
        fresh = (max(now_ms, 0) << _RANDOM_BITS) | (int.from_bytes(os.urandom(10), "big") & _RANDOM_MASK)
        self._last = max(fresh, self._last + 1)
        return uuid7(self._last)

    def salt(self) -> bytes:
        """Return 16 unpredictable bytes."""
        return os.urandom(16)


def uuid7(value: int) -> str:
    """Return the text form of a UUIDv7 made of 48 bits of milliseconds and 74 bits that follow."""
    high, low = value >> 62, value & ((1 << 62) - 1)
    milliseconds, above = high >> 12, high & 0xFFF
    number = (milliseconds << 80) | (7 << 76) | (above << 64) | (2 << 62) | low
    text = number.to_bytes(16).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
