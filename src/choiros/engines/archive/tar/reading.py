"""A tar file on its way in: no byte of it is taken for granted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from choiros.engines.archive.tar.headers import BLOCK, END, RefusedError, is_pax, name_and_size
from choiros.kernel.errors import Corrupt, Rejected, Unavailable

_CHUNK = 1 << 20


class Reading:
    """One file being read, from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._left = 0
        self._padding = 0
        try:
            # A pipe under this name must not stall the open.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _not_found(path, str(error.strerror)) from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise _not_found(path, "it is not a file")
        self._size = found.st_size
        self._file = os.fdopen(descriptor, "rb", buffering=_CHUNK)

    def next_part(self) -> tuple[str, int] | None:
        """Return name and size of the next part, None at the end of the archive."""
        start = self._at
        block = self._read(BLOCK, "a header")
        if block == bytes(BLOCK):
            self._check_end(start)
            return None
        try:
            name, size = self._told(block)
        except RefusedError as reason:
            raise self._damaged(str(reason), start) from reason
        if size > self._size - self._at:
            raise self._cut(f"in {name}, which has {size:,} bytes")
        self._left, self._padding = size, -size % BLOCK
        return name, size

    def chunk(self) -> bytes:
        """Return the next chunk of the part, nothing behind its last one."""
        if self._left == 0:
            return b""
        content = self._read(min(self._left, _CHUNK), "a part", exactly=False)
        self._left -= len(content)
        return content

    def end_part(self) -> None:
        """Check what fills up the last block of a part that was read to its end."""
        assert self._left == 0, "the part was not read to its end"
        start = self._at
        if self._padding and any(self._read(self._padding, "the end of a part")):
            raise self._damaged("something stands between two of its parts", start)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _told(self, block: bytes) -> tuple[str, int]:
        if not is_pax(block):
            return name_and_size(block)
        extended = block + self._read(BLOCK, "a header")
        return name_and_size(self._read(BLOCK, "a header"), extended)

    def _check_end(self, start: int) -> None:
        if self._read(BLOCK, "its end") != END[BLOCK:]:
            raise self._damaged("something stands behind its end", start)
        if self._file.read(1):
            raise self._damaged("something stands behind its end", self._at)

    def _read(self, count: int, what: str, *, exactly: bool = True) -> bytes:
        try:
            content = self._file.read(count)
        except OSError as error:
            raise Unavailable(
                "archive.unavailable",
                f"{self._path.name} cannot be read at byte {self._at:,}: {error.strerror}.",
                fix="Check the disk, or use another copy. Nothing was changed.",
                file=str(self._path),
            ) from error
        self._at += len(content)
        if len(content) < count and (exactly or not content):
            raise self._cut(f"in {what}")
        return content

    def _cut(self, where: str) -> Corrupt:
        return Corrupt(
            "archive.cut",
            f"{self._path.name} is cut off: it ends at byte {self._size:,}, {where}.",
            fix="Nothing was changed. Use another copy of the file.",
            file=str(self._path),
            at=self._size,
        )

    def _damaged(self, reason: str, at: int) -> Corrupt:
        return Corrupt(
            "archive.damaged",
            f"{self._path.name} is not an archive as ChoirOS writes it: at byte {at:,}, {reason}.",
            fix="Nothing was changed. Use another copy of the file; a repacked one cannot be read.",
            file=str(self._path),
            at=at,
        )


def _not_found(path: Path, reason: str) -> Rejected:
    return Rejected(
        "archive.not_found",
        f"{path} cannot be read: {reason}.",
        fix="Name a file that 'choir export' or 'choir backup' has written.",
        file=str(path),
    )
