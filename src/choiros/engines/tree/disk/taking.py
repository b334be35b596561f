"""One attempt to read what stands at a path, with a look before and after."""

from __future__ import annotations

import errno
import os

from choiros.engines.tree.disk.descriptors import READ, Spot, directory, look_at, split, stat_of
from choiros.engines.tree.disk.refusals import not_found, not_kept
from choiros.engines.tree.disk.scanning import target_of
from choiros.kernel.tree import Entry, Stat

_CHUNK = 1 << 20
# Something else stands there since the look a moment ago.
_REPLACED = frozenset({errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EINVAL})


class Taking:
    """`begin`, `next` until nothing of a large file is left, `finish`, and `close` if that did not happen."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._above, self._name = split(path)
        self._look: Stat | None = None
        self._target = ""
        self._left = 0
        self._fd = -1
        # The whole of a small file, so that it takes one call of the worker less.
        self.first = b""
        self.is_small = True

    @property
    def is_file(self) -> bool:
        """Whether it is a file, open to be read."""
        return self._fd >= 0

    def begin(self, root: int) -> bool:
        """Look, and open a file; return False when it changes under our hands. Raises Rejected."""
        try:
            with directory(root, self._above) as descriptor:
                return self._begin(Spot(descriptor, self._name))
        except (FileNotFoundError, NotADirectoryError):
            raise not_found(self._path) from None
        except PermissionError as error:
            raise not_kept(self._path, "we are not allowed to read it") from error

    def next(self) -> bytes:
        """Return the next chunk of a file, b'' at its end."""
        chunk = os.read(self._fd, min(_CHUNK, self._left)) if self._left else b""
        self._left -= len(chunk)
        return chunk

    def finish(self, root: int, *, content: str) -> tuple[Entry, Stat] | None:
        """Look again, and return both forms of what was read, or None when it has changed meanwhile."""
        look = self._look
        assert look is not None
        assert look.kind != "other"
        try:
            with directory(root, self._above) as descriptor:
                # The same inode with the same times: then our descriptor, too, has seen no change.
                if look_at(Spot(descriptor, self._name)) != look:
                    return None
        except (FileNotFoundError, NotADirectoryError):
            return None
        finally:
            self.close()
        size = look.size if look.kind == "file" else 0
        return Entry(look.kind, look.mode, size, content, self._target), look

    def close(self) -> None:
        """Close the file."""
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _begin(self, spot: Spot) -> bool:
        look = self._look = look_at(spot)
        if look is None:
            raise not_found(self._path)
        if look.kind == "other":
            raise not_kept(self._path, "it is neither a file, nor a link, nor a directory")
        try:
            if look.kind == "link":
                self._read_link(spot)
            if look.kind == "file":
                self._fd = os.open(spot.name, READ, dir_fd=spot.directory)
                self._left = look.size
                self.is_small = look.size <= _CHUNK
                if stat_of(os.fstat(self._fd)) != look:
                    return False
                self.first = self.next() if self.is_small else b""
        except OSError as error:
            if error.errno in _REPLACED:
                return False
            raise
        return True

    def _read_link(self, spot: Spot) -> None:
        target = target_of(spot)
        if target is None:
            raise not_kept(self._path, "its target is not valid UTF-8")
        self._target = target
