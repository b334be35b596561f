"""The fact that a person has answered; the question itself is recorded by the gate."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from choiros.kernel.registry import EventType


class ApprovalDecided(Struct, frozen=True):
    """A person has allowed or denied a request; the first answer holds."""

    request: str
    answer: Literal["allow", "deny"]
    note: str = ""


EVENTS = (EventType("approval.decision", ApprovalDecided, effect="pure"),)
