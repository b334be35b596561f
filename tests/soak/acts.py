"""What the processes do that faults happen to, and what looks at the remains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.soak.checking import check, describe
from tests.soak.rot import fill, flip, shift
from tests.soak.session import session
from tests.soak.writing import endure, work

ACTS: dict[str, Callable[[Mapping[str, Any]], int]] = {
    "check": check,
    "describe": describe,
    "endure": endure,
    "fill": fill,
    "flip": flip,
    "session": session,
    "shift": shift,
    "work": work,
}
