"""Why a step was not carried out, in one sentence each, and which errors are no matter of a single step."""

from __future__ import annotations

import errno
import os

from choiros.kernel.errors import Conflict, Corrupt, Rejected, Unavailable

THERE_NOW = "Something else stands there now."
REMOVED = "It was removed in the meantime."
CHANGED = "It was changed in the meantime."
MOVED = "Its directory was moved away in the meantime."
OPEN = "Another program has it open for writing."
NO_DIRECTORY = "There is no directory to hold it, or only a way through a link."

_SHOWN_MAX = 3
_NO_WAY = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
# What the next step may well be spared: rights, names that this file system does not take, places in use.
_OF_ONE_STEP = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.ETXTBSY, errno.EISDIR, errno.ENOTEMPTY),
        *(errno.EEXIST, errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ENOTSUP),
    }
)


def refusal(error: OSError) -> str:
    """Return the sentence for an error that concerns one step; raise any other error again."""
    if error.errno in _NO_WAY:
        return NO_DIRECTORY
    if error.errno in _OF_ONE_STEP:
        return f"The operating system refused: {error.strerror}."
    raise error


def still_holds(names: list[str]) -> str:
    """Return the sentence for a directory that is not empty."""
    shown = [os.fsencode(name).decode("utf-8", "backslashreplace") for name in sorted(names)]
    if len(shown) > _SHOWN_MAX:
        shown = [*shown[:_SHOWN_MAX], "..."]
    return f"The directory still holds something: {', '.join(shown)}."


def unavailable(error: OSError) -> Unavailable:
    """Return the error for a folder that cannot be worked with at all."""
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    return Unavailable(
        "tree.unavailable",
        f"The workspace's folder cannot be used: {error.strerror}.",
        fix="Free some space, then try again."
        if is_full
        else "Check the folder and its disk, then try again.",
        errno=error.errno,
    )


def not_utf8(encoding: str) -> Unavailable:
    """Return the error for a program that was started so that it would misspell names."""
    return Unavailable(
        "tree.unavailable",
        f"File names would be written as {encoding}, but they are kept as UTF-8.",
        fix="Start ChoirOS with PYTHONUTF8=1, or choose a UTF-8 locale.",
        encoding=encoding,
    )


def damaged(digest: str) -> Corrupt:
    """Return the error for content that is not what its name says."""
    return Corrupt(
        "blob.damaged",
        f"The content {digest} is not what was stored, and was not written.",
        fix="Check the disk, then bring it back from a backup, or write the same content again.",
        digest=digest,
    )


def not_found(path: str) -> Rejected:
    """Return the error for nothing there, or no way there but through a link."""
    return Rejected("tree.not_found", f"There is nothing at '{path}'.", fix="Check the path.", path=path)


def not_kept(path: str, why: str) -> Rejected:
    """Return the error for what stands there but cannot be kept."""
    return Rejected(
        "tree.not_kept",
        f"'{path}' cannot be kept: {why}.",
        fix="Leave it out with .choirignore, or change what stands there.",
        path=path,
    )


def bad_entry(path: str, why: str) -> Rejected:
    """Return the error for what cannot stand in a folder."""
    return Rejected(
        "tree.bad_entry", f"'{path}' cannot be written: {why}.", fix="Correct the entry.", path=path
    )


def changing(path: str) -> Conflict:
    """Return the error for what is written while it is read."""
    return Conflict(
        "tree.changing",
        f"'{path}' changes while it is read.",
        fix="Try again when whatever writes it has finished.",
        path=path,
    )
