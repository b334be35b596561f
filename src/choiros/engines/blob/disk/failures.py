"""How an error of the operating system becomes one that a person understands."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Generator
from typing import NoReturn

from choiros.kernel.errors import Corrupt, Unavailable


@contextlib.contextmanager
def explained(what: str) -> Generator[None]:
    """Turn an OSError of the block into Unavailable, with a sentence about what was being done."""
    try:
        yield
    except OSError as error:
        give_up(error, what)


def give_up(error: OSError, what: str) -> NoReturn:
    """Raise Unavailable for an error of the operating system."""
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    raise Unavailable(
        "blob.unavailable",
        f"{what}: {error.strerror}.",
        fix="Free some space, then try again." if is_full else "Check the disk, then try again.",
        errno=error.errno,
    ) from error


def missing(digest: str) -> Corrupt:
    """Return the error for content that is not here."""
    return Corrupt(
        "blob.missing",
        f"The content {digest} is not in the store.",
        fix="Bring it back from a backup, or write the same content again.",
        digest=digest,
    )


def damaged(digest: str, why: str, *, file: str) -> Corrupt:
    """Return the error for content that is here, but not as it was stored."""
    return Corrupt(
        "blob.damaged",
        f"The stored content {digest} {why} (file {file}).",
        fix="Check the disk, then bring the file back from a backup, or write the same content again.",
        digest=digest,
        file=file,
    )
