"""The calls of Linux that Python does not know: inotify(7)."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from enum import IntFlag

from msgspec import Struct

_HEADER = struct.Struct("iIII")
_READ_BYTES, _READS_MAX = 1 << 16, 16


class Mask(IntFlag):
    """What happened, and what to be told of."""

    MODIFY = 0x2
    ATTRIB = 0x4
    CLOSE_WRITE = 0x8
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATE = 0x100
    DELETE = 0x200
    DELETE_SELF = 0x400
    MOVE_SELF = 0x800
    UNMOUNT = 0x2000
    OVERFLOW = 0x4000
    IGNORED = 0x8000
    ONLYDIR = 0x0100_0000
    EXCL_UNLINK = 0x0400_0000
    ISDIR = 0x4000_0000


WANTED = (
    Mask.MODIFY
    | Mask.CLOSE_WRITE  # a file that was written through a mapping tells nothing before
    | Mask.ATTRIB
    | Mask.MOVED_FROM
    | Mask.MOVED_TO
    | Mask.CREATE
    | Mask.DELETE
    | Mask.DELETE_SELF
    | Mask.MOVE_SELF
    | Mask.ONLYDIR
    | Mask.EXCL_UNLINK
)


class Event(Struct, frozen=True):
    """One thing that happened: in the directory of `watch`, to what `name` names there or to itself."""

    watch: int
    mask: Mask
    name: bytes


def open_queue() -> int:
    """Return the descriptor of a new queue of events."""
    return _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))


def add_watch(queue: int, directory: int) -> int:
    """Watch an open directory and return the number of the watch; the same one for the same directory."""
    path = f"/proc/self/fd/{directory}".encode()
    return _checked(_libc.inotify_add_watch(queue, path, int(WANTED)))


def remove_watch(queue: int, watch: int) -> None:
    """Stop watching; no error when the directory is gone."""
    _libc.inotify_rm_watch(queue, watch)


def read_events(queue: int) -> Iterator[Event]:
    """Yield what is in the queue, but not for ever while somebody fills it."""
    for _ in range(_READS_MAX):
        try:
            data = os.read(queue, _READ_BYTES)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, mask, _cookie, length = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            yield Event(watch, Mask(mask), data[at : at + length].rstrip(b"\0"))
            at += length


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


_libc = ctypes.CDLL(None, use_errno=True)
