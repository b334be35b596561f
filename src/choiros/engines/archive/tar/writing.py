"""A tar file on its way to the disk: beside its name until it is complete."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from choiros.engines.archive.tar.headers import BLOCK, END
from choiros.kernel.archive import Written
from choiros.kernel.errors import Corrupt, Rejected, Unavailable

_BUFFER = 1 << 20
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})


class Writing:
    """One file being written; only `finish` lets it appear under its name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = path.with_name(f".{path.name}.part")
        self._hash = hashlib.sha256()
        self._size = 0
        self._name, self._wanted, self._part = "", 0, 0
        with explained(path):
            if os.path.lexists(path):
                raise exists(path)
            self._file = os.fdopen(_created(self._beside), "wb", buffering=_BUFFER)

    def begin(self, head: bytes, name: str, *, size: int) -> None:
        """Begin the next part."""
        self._name, self._wanted, self._part = name, size, 0
        self._put(head)

    def write(self, chunk: bytes) -> None:
        """Write the next chunk of the part."""
        self._part += len(chunk)
        self._put(chunk)

    def end_part(self) -> None:
        """Fill up the last block of the part; raises Corrupt when it was not as long as it was said to be."""
        if self._part != self._wanted:
            raise Corrupt(
                "archive.changed",
                f"{self._name} has {self._part} bytes instead of {self._wanted}.",
                fix="Nothing was written. Check the disk, then try again.",
                part=self._name,
            )
        self._put(bytes(-self._part % BLOCK))

    def finish(self) -> Written:
        """Bring the file onto the disk and give it its name."""
        self._put(END)
        with explained(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            _give_name(self._beside, self._path)
            _sync_directory(self._path.parent)
        return Written(self._size, self._hash.hexdigest())

    def discard(self) -> None:
        """Leave nothing but a finished file."""
        with suppress(OSError):
            self._beside.unlink(missing_ok=True)
        with suppress(OSError):
            self._file.close()

    def _put(self, content: bytes) -> None:
        self._hash.update(content)
        self._size += len(content)
        with explained(self._path):
            self._file.write(content)


def _created(beside: Path) -> int:
    """Return a new file in place of one that a killed process left, but not of one that is being written."""
    with suppress(FileNotFoundError):
        former = os.open(beside, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(former, fcntl.LOCK_EX | fcntl.LOCK_NB)
            beside.unlink()
        finally:
            os.close(former)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(beside, flags, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _give_name(beside: Path, path: Path) -> None:
    """Let the file appear under its name, which must be free."""
    try:
        os.link(beside, path, follow_symlinks=False)
    except FileExistsError as error:
        raise exists(path) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # FAT and some network file systems know no second names: a look before the rename is all there is.
        if os.path.lexists(path):
            raise exists(path) from error
        beside.rename(path)
    else:
        beside.unlink()


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exists(path: Path) -> Rejected:
    """Return the error for a name that is taken."""
    return Rejected(
        "archive.exists",
        f"{path.name} exists already; it was left as it is.",
        fix="Choose another name, or remove that file first.",
        file=str(path),
    )


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn an OSError of the block into Unavailable."""
    try:
        yield
    except BlockingIOError as error:
        raise Unavailable(
            "archive.unavailable",
            f"Another ChoirOS is writing {path.name} at the moment.",
            fix="Wait for it to finish, or choose another name.",
            file=str(path),
        ) from error
    except OSError as error:
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise Unavailable(
            "archive.unavailable",
            f"{path} could not be written: {error.strerror}. Nothing was left there.",
            fix="Free some space, then try again." if is_full else "Check the place and your rights there.",
            file=str(path),
        ) from error
