"""Every error as one that a person can do something about."""

from __future__ import annotations

import errno

from choiros.kernel.errors import ChoirError, Unavailable

_FIXES = {
    errno.ENOSPC: "Free some space, then give the command again.",
    errno.EDQUOT: "Free some space, then give the command again.",
    errno.EACCES: "Check who may read and write that place, or choose another one with --home.",
    errno.EPERM: "Check who may read and write that place, or choose another one with --home.",
    errno.EROFS: "Choose a place that can be written, with --home.",
    errno.ENOTDIR: "Name a directory, for example with --home.",
}


class Bug(ChoirError):  # noqa: N818 (a plain noun, as everywhere in the error tree)
    """Something that nobody foresaw."""


def explained(error: Exception) -> ChoirError:
    """Return the error that is shown for any other one."""
    match error:
        case ChoirError():
            return error
        case MemoryError():
            return Unavailable(
                "system.enomem",
                "There is not enough memory for that. What was recorded before is safe.",
                fix="Close other programs, or raise the limit (ulimit -v), then give the command again.",
            )
        case OSError(errno=int(number)):
            name = errno.errorcode.get(number, "unknown").lower()
            where = f": {error.filename}" if error.filename else ""
            return Unavailable(
                f"system.{name}",
                f"The system refused it: {error.strerror}{where}.",
                fix=_FIXES.get(number, "Look at that place, then give the command again."),
            )
        case _:
            words = str(error).strip().splitlines()
            return Bug(
                "internal.bug",
                f"This is a bug in ChoirOS: {type(error).__name__}{': ' + words[0] if words else ''}.",
                fix="Please report it with what the same command prints with --debug added.",
            )


def unwritable(error: OSError) -> Unavailable:
    """Return the error for an answer that could not be printed; what was asked for has happened all the same."""
    return Unavailable(
        "output.failed",
        f"The answer could not be written: {error.strerror}.",
        fix="Print it to another place. What the command changed is recorded all the same: see 'choir log'.",
    )
