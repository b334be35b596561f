"""Names of temporary files: each says which process made it, so that only what a crash left is removed."""

from __future__ import annotations

import functools
import itertools
import os
from pathlib import Path

_numbers = itertools.count(1)


def new_name() -> str:
    """Return a name that no other process and no other call uses."""
    return f"{owner(os.getpid())}-{next(_numbers)}"


@functools.cache
def owner(pid: int) -> str:
    """Return what tells this process from all others, also from a later one with the same number."""
    return f"{pid}-{started(pid)}"


def is_left_over(name: str) -> bool:
    """Return whether the process that made this name is gone; its number may belong to another by now."""
    pid, _, rest = name.partition("-")
    start = rest.partition("-")[0]
    return not (pid.isdecimal() and start and started(int(pid)) == start)


def started(pid: int) -> str:
    """Return when a process started, in clock ticks since boot, or '' when there is none of this number."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name of the program stands in brackets and may hold anything; the start is the 20th field behind it.
    return text.rpartition(")")[2].split()[19]
