"""Whether a wish can be fulfilled, and whether it is already: that makes it harmless to apply it twice."""

from __future__ import annotations

import hashlib
import os

from choiros.engines.tree.disk.descriptors import NINE_BITS, READ, Spot, is_utf8, stat_of
from choiros.engines.tree.disk.refusals import bad_entry
from choiros.kernel.path import check_path
from choiros.kernel.tree import Entry, Stat, Step

_CHUNK = 1 << 20


def checked(step: Step) -> Step:
    """Return the step when its path and its entry can stand in a folder; raise Rejected if not."""
    check_path(step.path)
    if step.entry is None:
        return step
    if step.entry.mode & ~NINE_BITS:
        # Among the other bits are those that lend the owner's rights to whoever runs the file.
        raise bad_entry(step.path, "its mode has more than the nine permission bits")
    target = step.entry.target
    if step.entry.kind == "link" and (not target or "\0" in target or not is_utf8(target)):
        raise bad_entry(step.path, "its target is empty, or not valid UTF-8, or holds a NUL byte")
    return step


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
