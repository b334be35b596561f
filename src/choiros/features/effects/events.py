"""The fact that nobody knows what became of an effect."""

from __future__ import annotations

from msgspec import Struct

from choiros.kernel.registry import EventType


class EffectUnknown(Struct, frozen=True):
    """What became of the effect that an event announced is not known: the program ended in the middle of it.

    It is not done again blindly; a person looks, and wishes for it again if it did not happen.
    """

    intent: int
    event_type: str


EVENTS = (EventType("effect.unknown", EffectUnknown, effect="pure", ends="intent"),)
