"""Content on its way in: hashed as it comes, written without its zeros, staged when it is complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from choiros.engines.blob.disk.failures import explained
from choiros.engines.blob.disk.store import Store
from choiros.kernel.errors import Rejected

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_TROUBLE = "The content could not be stored"


class Upload:
    """One content. Its first piece stays in memory: small content that is here already costs no file."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hash = hashlib.sha256()
        self._size = 0
        self._held = b""
        self._path: Path | None = None
        self._fd = -1

    def take(self, content: bytes) -> str:
        """Stage content that is in memory as a whole, and return its digest."""
        self._grow(content)
        self._held = content
        return self.finish()

    def write(self, piece: bytes) -> None:
        """Take the next piece."""
        self._grow(piece)
        if self._size == len(piece):
            self._held = piece
            return
        with explained(_TROUBLE):
            if self._fd < 0:
                self._spill()
            write_sparse(self._fd, piece, offset=self._size - len(piece))

    def finish(self) -> str:
        """Stage what was written and return its digest."""
        digest = self._hash.hexdigest()
        with explained(_TROUBLE):
            if self._store.has(digest, self._size):
                self.discard()
                return digest
            was_streamed = self._fd >= 0
            if not was_streamed:
                self._spill()
            os.ftruncate(self._fd, self._size)
            # Large content may be written out, fail, and be forgotten by the kernel before `flush` opens it.
            if was_streamed:
                os.fsync(self._fd)
            self._close()
        assert self._path is not None
        self._store.stage(digest, self._path, is_synced=was_streamed)
        # It is the store's from here on: a caller who was cancelled just now must not discard it.
        self._path = None
        return digest

    def discard(self) -> None:
        """Leave no trace."""
        self._close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        limit = self._store.size_bytes_max
        if self._size > limit:
            raise Rejected(
                "blob.too_large",
                f"The content is larger than {limit} bytes, the limit for one file.",
                fix="Leave the file out with .choirignore, or raise the limit in the settings.",
                size_bytes_max=limit,
            )
        self._hash.update(piece)

    def _spill(self) -> None:
        self._path, self._fd = self._store.new_temporary()
        write_sparse(self._fd, self._held, offset=0)
        self._held = b""

    def _close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


def write_sparse(fd: int, piece: bytes, *, offset: int) -> None:
    """Write at the offset, but leave a hole for each block of zeros; the caller sets the length."""
    view = memoryview(piece)
    for start, end in _solid(piece):
        done = start
        while done < end:
            os.lseek(fd, offset + done, os.SEEK_SET)
            done += os.write(fd, view[done:end])


def _solid(piece: bytes) -> Iterator[tuple[int, int]]:
    """Return the stretches of the piece that are not whole blocks of zeros."""
    begin = 0
    for start in range(0, len(piece), _BLOCK):
        if piece[start : start + _BLOCK] == _ZEROS:
            if begin < start:
                yield begin, start
            begin = start + _BLOCK
    if begin < len(piece):
        yield begin, len(piece)
