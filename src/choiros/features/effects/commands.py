"""What ChoirOS reports about effects that were broken off."""

from __future__ import annotations

from msgspec import Struct


class ReportUnknown(Struct, frozen=True):
    """Report that nobody knows what became of effects: the numbers and types of the events that announced them."""

    intents: tuple[tuple[int, str], ...]
