"""Puts things in place and takes them away without ever destroying what somebody else wrote meanwhile.

What was expected is compared twice. Before anything is touched every field counts, the time of the last
change (ctime) too: it betrays a write whose modification time was set back. Then the rename takes what
stood there to a temporary name, where nobody finds it; that rename sets a new ctime, so the second
comparison leaves it out. In between the old content may still be open for writing somewhere, so a lease is
asked for: the kernel grants it only when no program has the file open for writing. Only then is the old
content removed, else it goes back.

Two writes through the same name while it is exchanged end as they would without us: the later one stands.
Timestamps must tell any two writes apart. Linux 6.13 and newer see to it on the common file systems; older
ones count in steps of 1 to 4 ms, and a write of equal length within the step of the look is not seen. Where
there are no leases (some network file systems) a program that still has the old file open loses what it
writes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
from collections.abc import Generator

from choiros.engines.tree.disk.descriptors import LIST, READ, Spot, look_at
from choiros.engines.tree.disk.refusals import CHANGED, OPEN, REMOVED, THERE_NOW, still_holds
from choiros.engines.tree.disk.renames import ExchangeMissingError, exchange, move
from choiros.engines.tree.disk.temporary import new_name
from choiros.kernel.tree import Stat

_OWNER_BITS = 0o700
_TURNS_MAX = 100


def place(source: Spot, target: Spot, *, ours: Stat, expect: Stat | None, was_renamed: bool) -> str:
    """Put the source in place, and return why not, if so; nothing of ours stays at the source.

    `was_renamed` says that we have just renamed or removed another name of the same file.
    """
    is_in = False
    try:
        reason = why_unlike(target, expect, was_renamed=was_renamed) or _why_not_empty(target, expect)
        if not reason:
            reason = _bring_in(source, target, expect=expect)
            is_in = not reason
    finally:
        if not is_in:
            discard(source)
    if not is_in or expect is None:
        return reason
    try:
        # Nothing came out where names cannot be exchanged.
        reason = "" if look_at(source) is None else _drop(source, expect)
    except OSError:
        _put_back(source, target, ours=ours.inode)
        raise
    if reason:
        _put_back(source, target, ours=ours.inode)
    return reason


def remove(spot: Spot, expect: Stat | None, *, was_renamed: bool) -> str:
    """Take away what stands there, and return why not, if so."""
    reason = why_unlike(spot, expect, was_renamed=was_renamed)
    if reason or expect is None:
        return "" if reason == REMOVED else reason
    aside = Spot(spot.directory, new_name())
    try:
        if expect.kind == "dir":
            return _remove_directory(spot)
        move(spot, aside)
    except FileNotFoundError:
        return ""
    except NotADirectoryError:
        return CHANGED
    try:
        reason = _drop(aside, expect)
    except OSError:
        _bring_back(aside, spot)
        raise
    if reason:
        _bring_back(aside, spot)
    return reason


def discard(spot: Spot) -> None:
    """Remove a temporary file, link or empty directory of ours, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        try:
            os.unlink(spot.name, dir_fd=spot.directory)
        except IsADirectoryError:
            with contextlib.suppress(OSError):
                os.rmdir(spot.name, dir_fd=spot.directory)


@contextlib.contextmanager
def discarded_on_error(spot: Spot) -> Generator[None]:
    """Remove a temporary thing of ours when the block fails."""
    try:
        yield
    except OSError:
        discard(spot)
        raise


def why_unlike(spot: Spot, expect: Stat | None, *, was_renamed: bool = False) -> str:
    """Return why what stands there is not what is expected, or '' when it is."""
    reason = difference(look_at(spot), expect, was_renamed=was_renamed)
    if reason or expect is None or expect.kind != "file":
        return reason
    if _is_open_for_writing(spot):
        return OPEN
    # Once more: what was written before the lease was granted is seen now, and after it nobody has written.
    return difference(look_at(spot), expect, was_renamed=was_renamed)


def difference(current: Stat | None, expect: Stat | None, *, was_renamed: bool = False) -> str:
    """Return how one look differs from the expected one, or '' when it is the same thing.

    A directory's size and times tell of what it holds, and while we work in one that is read-only we give its
    owner rights for a moment: inode and mode are compared, and those bits may have been added.
    """
    if current is None or expect is None:
        return THERE_NOW if current is not None else REMOVED if expect is not None else ""
    if current.kind == expect.kind == "dir":
        modes = {expect.mode, expect.mode | _OWNER_BITS}
        return "" if current.inode == expect.inode and current.mode in modes else CHANGED
    same = _lasting(current) == _lasting(expect)
    return "" if same and (was_renamed or current.ctime_ns == expect.ctime_ns) else CHANGED


def _lasting(look: Stat) -> tuple[object, ...]:
    """Return what a rename leaves as it is."""
    return look.kind, look.mode, look.size, look.mtime_ns, look.inode


def _drop(spot: Spot, expect: Stat) -> str:
    """Remove what came out under a temporary name and return why not, if it is not what was expected."""
    reason = why_unlike(spot, expect, was_renamed=True)
    if reason:
        return reason
    if expect.kind == "dir":
        return _remove_directory(spot)
    os.unlink(spot.name, dir_fd=spot.directory)
    return ""


def _remove_directory(spot: Spot) -> str:
    try:
        os.rmdir(spot.name, dir_fd=spot.directory)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        return still_holds(_names_in(spot))
    return ""


def _names_in(spot: Spot) -> list[str]:
    with contextlib.suppress(OSError):
        descriptor = os.open(spot.name, LIST, dir_fd=spot.directory)
        try:
            with os.scandir(descriptor) as entries:
                return [entry.name for entry in entries]
        finally:
            os.close(descriptor)
    return []


def _put_back(aside: Spot, target: Spot, *, ours: int) -> None:
    """Undo an exchange whose outcome was unexpected, until what stands aside may be removed.

    When something new has come to the target in the meantime, it stays there: it has replaced what we hold.
    """
    removable = ours
    for _ in range(_TURNS_MAX):
        held = look_at(aside)
        if held is None:
            return
        try:
            exchange(aside, target)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                move(aside, target)
                return
            continue
        came_out = look_at(aside)
        if came_out is None or came_out.inode == removable:
            discard(aside)
            return
        removable = held.inode
    raise OSError(
        errno.EBUSY, f"The name is being replaced all the time; '{aside.name}' holds the last content"
    )


def _bring_in(source: Spot, target: Spot, *, expect: Stat | None) -> str:
    try:
        if expect is None:
            move(source, target)
        else:
            _exchange_or_replace(source, target, expect=expect)
    except FileExistsError:
        return THERE_NOW
    except FileNotFoundError:
        return REMOVED
    return ""


def _exchange_or_replace(source: Spot, target: Spot, *, expect: Stat) -> None:
    try:
        exchange(source, target)
    except ExchangeMissingError:
        # Weaker, after the look alone: see renames.py.
        found = look_at(source)
        if expect.kind == "dir":
            os.rmdir(target.name, dir_fd=target.directory)
            move(source, target)
        elif found is not None and found.kind == "dir":
            os.unlink(target.name, dir_fd=target.directory)
            move(source, target)
        else:
            os.rename(source.name, target.name, src_dir_fd=source.directory, dst_dir_fd=target.directory)


def _why_not_empty(spot: Spot, expect: Stat | None) -> str:
    names = _names_in(spot) if expect is not None and expect.kind == "dir" else []
    return still_holds(names) if names else ""


def _bring_back(aside: Spot, spot: Spot) -> None:
    """Give a thing its name back; when a new one stands there already, it has replaced the one we hold."""
    try:
        move(aside, spot)
    except FileExistsError:
        discard(aside)


def _is_open_for_writing(spot: Spot) -> bool:
    """Whether a program has this file open for writing; False as well where the system cannot tell."""
    try:
        descriptor = os.open(spot.name, READ, dir_fd=spot.directory)
    except OSError:
        return False
    try:
        # Should somebody open it for writing just now, we get a signal. The usual one ends the process, so we
        # ask for one that is ignored.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    else:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False
    finally:
        os.close(descriptor)
