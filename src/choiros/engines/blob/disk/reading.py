"""Content on its way out: hashed as it goes, so that damage is never taken for content."""

from __future__ import annotations

import errno
import hashlib
import os

from choiros.engines.blob.disk.failures import damaged, give_up, missing
from choiros.engines.blob.disk.store import Store

_CHUNK = 1 << 20
# The disk cannot read it, or something stands there that is no file of ours.
_DAMAGE = frozenset({errno.EIO, errno.ELOOP, errno.EISDIR, errno.ENOTDIR})


class Reading:
    """One content being read."""

    def __init__(self, store: Store, digest: str) -> None:
        self._store = store
        self._digest = digest
        self._hash = hashlib.sha256()
        self._fd = -1
        self._left = 0
        self._file = ""
        self.is_done = False

    @property
    def is_open(self) -> bool:
        """Whether a descriptor is held."""
        return self._fd >= 0

    def next(self) -> bytes:
        """Return the next chunk; before the last one is returned the hash is compared and the file closed."""
        chunk = self._read()
        self._hash.update(chunk)
        self._left -= len(chunk)
        if self._left <= 0 or not chunk:
            self.close()
            self.is_done = True
            if self._hash.hexdigest() != self._digest:
                raise damaged(self._digest, "is not what was stored", file=self._file)
        return chunk

    def close(self) -> None:
        """Close the file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _read(self) -> bytes:
        try:
            if self._fd < 0:
                self._open()
            return os.read(self._fd, _CHUNK)
        except FileNotFoundError as error:
            raise missing(self._digest) from error
        except OSError as error:
            if error.errno in _DAMAGE:
                why = f"cannot be read: {error.strerror}"
                raise damaged(self._digest, why, file=self._file) from error
            give_up(error, f"The content {self._digest} could not be read")

    def _open(self) -> None:
        path = self._store.find(self._digest)
        self._file = str(path)
        self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        self._left = os.fstat(self._fd).st_size
