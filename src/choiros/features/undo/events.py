"""The fact that something was taken back; the events that took it back follow it and name it as their cause."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from choiros.kernel.registry import EventType

Span = tuple[int, int]
Target = Literal["unit", "run", "event", "since", "redo"]


class Undone(Struct, frozen=True):
    """Events were taken back; `spans` are the first and last numbers of each unbroken row of them."""

    target: Target
    name: str
    """The run, or the number of the event, that was asked for."""
    spans: tuple[Span, ...]
    left: tuple[str, ...] = ()
    """What the person wanted to stay as it is."""


EVENTS = (EventType("undo", Undone, effect="reversible"),)


def spans_of(seqs: list[int]) -> tuple[Span, ...]:
    """Return numbers in ascending order as unbroken rows."""
    spans: list[Span] = []
    for seq in seqs:
        if spans and spans[-1][1] == seq - 1:
            spans[-1] = (spans[-1][0], seq)
        else:
            spans.append((seq, seq))
    return tuple(spans)
