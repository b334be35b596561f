"""The two renames that destroy nothing, renameat2's, and what stands in for them where they are missing.

Some file systems (FAT, some network and FUSE file systems) know neither. There a link takes the place of
the rename that must not replace, and a check before takes the place of the exchange: what somebody else
writes in the microseconds between check and rename is lost. Nothing better can be had there.
"""

from __future__ import annotations

import ctypes
import errno
import os

from choiros.engines.tree.disk.descriptors import Spot

_NOREPLACE = 1
_EXCHANGE = 2
_MISSING = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})
_libc = ctypes.CDLL(None, use_errno=True)


class ExchangeMissingError(Exception):
    """This file system cannot exchange two names."""


def move(source: Spot, target: Spot) -> None:
    """Rename; raises FileExistsError when something stands at the target, whatever it is."""
    try:
        renameat2(source, target, flags=_NOREPLACE)
    except OSError as error:
        if error.errno not in _MISSING:
            raise
        _move_by_link(source, target)


def exchange(one: Spot, other: Spot) -> None:
    """Let two names change places at once; raises FileNotFoundError when one of them is missing."""
    try:
        renameat2(one, other, flags=_EXCHANGE)
    except OSError as error:
        if error.errno not in _MISSING:
            raise
        raise ExchangeMissingError from error


def renameat2(source: Spot, target: Spot, *, flags: int) -> None:
    """Call the operating system; raises OSError, with ENOSYS where its library has no such call."""
    if not hasattr(_libc, "renameat2"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    result = _libc.renameat2(
        source.directory, os.fsencode(source.name), target.directory, os.fsencode(target.name), flags
    )
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _move_by_link(source: Spot, target: Spot) -> None:
    try:
        os.link(
            source.name,
            target.name,
            src_dir_fd=source.directory,
            dst_dir_fd=target.directory,
            follow_symlinks=False,
        )
    except OSError as error:
        # A directory has no second name, and neither has anything on some file systems.
        if error.errno not in _NO_LINKS:
            raise
        _move_after_a_look(source, target)
    else:
        os.unlink(source.name, dir_fd=source.directory)


def _move_after_a_look(source: Spot, target: Spot) -> None:
    try:
        os.stat(target.name, dir_fd=target.directory, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(source.name, target.name, src_dir_fd=source.directory, dst_dir_fd=target.directory)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
