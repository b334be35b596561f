"""How a person answers."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class DecideApproval(Struct, frozen=True):
    """Answer a request that is still open; `digest` is that of what was shown."""

    request: str
    digest: str
    answer: Literal["allow", "deny"]
    note: str = ""
