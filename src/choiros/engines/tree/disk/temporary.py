"""Names of temporary files: each says which process made it, so that only what a crash left is removed."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os

from choiros.kernel.path import TEMPORARY

_STAT_BYTES_MAX = 4096
_numbers = itertools.count(1)


def new_name() -> str:
    """Return a temporary name that no other process and no other call uses."""
    return f"{TEMPORARY}{owner(os.getpid())}-{next(_numbers)}"


@functools.cache
def owner(pid: int) -> str:
    """Return what tells this process from all others, also from a later one with the same number."""
    return f"{pid}-{started(pid)}"


def is_temporary(name: str) -> bool:
    """Return whether a name is the merger's own and never content."""
    return name.startswith(TEMPORARY)


def is_left_over(name: str) -> bool:
    """Return whether the process that made this temporary name is gone.

    Its number alone may belong to another process by now; number and start never do.
    """
    pid, _, rest = name.removeprefix(TEMPORARY).partition("-")
    start = rest.partition("-")[0]
    return not (pid.isdecimal() and start and started(int(pid)) == start)


def started(pid: int) -> str:
    """Return when a process started, in clock ticks since boot, or '' when there is none of this number."""
    with contextlib.suppress(OSError):
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        try:
            text = os.read(descriptor, _STAT_BYTES_MAX)
        finally:
            os.close(descriptor)
        # The program's name stands in brackets and may hold anything; the start is the 20th field behind it.
        return text.rpartition(b")")[2].split()[19].decode()
    return ""
