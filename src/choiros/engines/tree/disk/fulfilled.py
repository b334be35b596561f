"""Whether a wish is fulfilled already: it makes it harmless to apply the same steps again after a crash."""

from __future__ import annotations

import hashlib
import os

from choiros.engines.tree.disk.descriptors import READ, Spot, stat_of
from choiros.kernel.tree import Entry, Stat

_CHUNK = 1 << 20


def is_fulfilled(spot: Spot, current: Stat, *, entry: Entry, sync: bool) -> bool:
    """Return whether just this stands there; then a file's content is synced too, if asked for."""
    if current.kind != entry.kind:
        return False
    if entry.kind == "link":
        return os.readlink(spot.name, dir_fd=spot.directory) == entry.target
    if current.mode != entry.mode:
        return False
    return entry.kind == "dir" or (
        current.size == entry.size and _holds(spot, current, entry=entry, sync=sync)
    )


def _holds(spot: Spot, current: Stat, *, entry: Entry, sync: bool) -> bool:
    try:
        descriptor = os.open(spot.name, READ, dir_fd=spot.directory)
    except OSError:
        # It cannot be read, or is no longer a file: what it holds is not known.
        return False
    try:
        if stat_of(os.fstat(descriptor)) != current or _digest(descriptor) != entry.content:
            return False
        if sync:
            os.fsync(descriptor)
        return stat_of(os.fstat(descriptor)) == current
    finally:
        os.close(descriptor)


def _digest(descriptor: int) -> str:
    digest = hashlib.sha256()
    while chunk := os.read(descriptor, _CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
