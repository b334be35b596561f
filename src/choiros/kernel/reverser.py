"""The port to taking back: each room that has reversible events says how theirs are reversed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from choiros.kernel.event import Event


class Obstacle(Struct, frozen=True):
    """One reason why events cannot be taken back as wished."""

    what: str
    reason: str


class Reversal(Struct, frozen=True):
    """What would take events back: facts with new contents, what stands against it, and what stays, told in words."""

    facts: tuple[Struct, ...]
    contents: tuple[bytes, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    notes: tuple[Obstacle, ...] = ()


class Reverser(Protocol):
    """Works out how events of some types are taken back while everything that came later is kept."""

    @property
    def types(self) -> frozenset[str]:
        """Return the names of the event types that this reverser takes back."""
        ...

    async def reverse(self, events: Sequence[Event], leave: frozenset[str]) -> Reversal:
        """Return what would take back these events, given in the order in which they happened.

        `leave` names things (paths) that shall stay as they are. Nothing is changed.
        """
        ...
