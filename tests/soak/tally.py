"""Adds up what the tests with real faults did, and tells it at the end of the run."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

PROPERTY = "soak: "
"""How the names of a test's properties begin that count something."""


def totals(reports: Iterable[object]) -> dict[str, int]:
    """Return the sums of everything that was counted, by name."""
    counted: Counter[str] = Counter()
    for report in reports:
        if getattr(report, "when", None) == "teardown":
            for name, number in getattr(report, "user_properties", ()):
                if str(name).startswith(PROPERTY):
                    counted[str(name).removeprefix(PROPERTY)] += number
    return dict(sorted(counted.items()))


def report(file: Path, counted: Mapping[str, int], *, failed: int) -> None:
    """Append one line to the report file."""
    line = {"at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "failed": failed, **counted}
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")
