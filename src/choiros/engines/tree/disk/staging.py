"""Content on its way into the folder: a temporary file, hashed as it is written, complete before its use."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator

from choiros.engines.tree.disk.descriptors import Spot, directory, split, stat_of
from choiros.engines.tree.disk.placing import discard
from choiros.engines.tree.disk.refusals import damaged
from choiros.engines.tree.disk.temporary import new_name
from choiros.kernel.tree import Stat, Step

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
# The directory does not exist yet, or is read-only until its turn comes.
_NEXT_ABOVE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES})


class Staging:
    """One file that is being written.

    It is made in the target's own directory or, when that does not exist yet, in the nearest one above: it is
    on the same file system there, and inherits the same group and access list.
    """

    def __init__(self, root: int, step: Step) -> None:
        assert step.entry is not None
        self._root = root
        self._path = step.path
        self._entry = step.entry
        self._hash = hashlib.sha256()
        self._size = 0
        self._fd = -1
        self.directory: list[str] = []
        self.name = ""
        self.stat: Stat | None = None

    def write(self, chunk: bytes) -> None:
        """Write the next chunk, but leave a hole for each block of zeros."""
        if self._fd < 0:
            self._open()
        self._hash.update(chunk)
        view = memoryview(chunk)
        for start, end in _solid(chunk):
            done = start
            while done < end:
                os.lseek(self._fd, self._size + done, os.SEEK_SET)
                done += os.write(self._fd, view[done:end])
        self._size += len(chunk)

    def finish(self, last: bytes, *, sync: bool) -> None:
        """Write the last chunk, check the hash, set mode and length; raises Corrupt for wrong content."""
        self.write(last)
        if self._hash.hexdigest() != self._entry.content:
            raise damaged(self._entry.content)
        os.ftruncate(self._fd, self._size)
        os.fchmod(self._fd, self._entry.mode)
        if sync:
            os.fsync(self._fd)
        self.stat = stat_of(os.fstat(self._fd))
        self._close()

    def discard(self) -> None:
        """Leave no trace; in a directory that somebody has just moved away it is left to `sweep`."""
        self._close()
        if self.name:
            with contextlib.suppress(OSError), directory(self._root, self.directory) as descriptor:
                discard(Spot(descriptor, self.name))

    def _open(self) -> None:
        above, _ = split(self._path)
        for depth in range(len(above), -1, -1):
            try:
                with directory(self._root, above[:depth]) as descriptor:
                    name = new_name()
                    self._fd = os.open(name, _CREATE, 0o600, dir_fd=descriptor)
                    self.directory, self.name = above[:depth], name
                    return
            except OSError as error:
                if error.errno not in _NEXT_ABOVE or not depth:
                    raise

    def _close(self) -> None:
        if self._fd >= 0:
            descriptor, self._fd = self._fd, -1
            os.close(descriptor)


def _solid(chunk: bytes) -> Iterator[tuple[int, int]]:
    """Return the stretches of the chunk that are not whole blocks of zeros."""
    begin = 0
    for start in range(0, len(chunk), _BLOCK):
        if chunk[start : start + _BLOCK] == _ZEROS:
            if begin < start:
                yield begin, start
            begin = start + _BLOCK
    if begin < len(chunk):
        yield begin, len(chunk)
