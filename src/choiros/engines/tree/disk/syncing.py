"""What brings the folder onto the disk: one directory after the other, or the whole file system at once."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
from collections.abc import Collection, Sequence

from choiros.engines.tree.disk.descriptors import LIST, directory

SYNC_EACH_MAX = 32
"""Up to so many files or directories are synced one by one, more with one `syncfs`.

One fsync costs 0.17 ms on a server's disk and 1 to 10 ms on a laptop's. `syncfs` costs as much as a few of
them, but waits for what all other programs have written as well: it is not worth it for less than dozens.
"""

_libc = ctypes.CDLL(None, use_errno=True)


def sync_directories(root: int, directories: Collection[Sequence[str]]) -> None:
    """Bring these directories, given by their names, onto the disk; one that is gone by now is left out."""
    if len(directories) > SYNC_EACH_MAX and can_syncfs():
        syncfs(root)
        return
    for names in directories:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            _sync_directory(root, names)


def _sync_directory(root: int, names: Sequence[str]) -> None:
    with directory(root, names) as walked:
        try:
            descriptor = os.open(".", LIST, dir_fd=walked)
        except PermissionError:
            # It may be entered and written, but not opened: then everything is synced.
            os.sync()
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def syncfs(descriptor: int) -> None:
    """Bring a file system onto the disk; raises OSError also for errors since the descriptor was opened."""
    if _libc.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def can_syncfs() -> bool:
    """Return whether syncfs exists and reports write errors, which it does since Linux 5.8."""
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    is_new = release is not None and (int(release[1]), int(release[2])) >= (5, 8)
    return is_new and hasattr(_libc, "syncfs")
