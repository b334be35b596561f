"""The blocking half of the disk store: what is staged, what stands under its name, and what a flush does.

The order is what makes it safe: bytes on disk, then the name, then the directory of the name. After a failed
fsync the kernel calls pages clean that never reached the disk, and a second fsync says yes. So what a failed
flush had in hand is thrown away, and nothing more is confirmed until it has been put again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import weakref
from pathlib import Path

from choiros.engines.blob.disk import syncing, temporary
from choiros.engines.blob.disk.failures import explained, give_up, missing
from choiros.kernel.errors import Unavailable

_DIGEST = re.compile(r"[0-9a-f]{64}")
_FAN_OUT = re.compile(r"[0-9a-f]{2}")
_SHOWN_MAX = 10


class Store:
    """One directory of contents; the worker calls it, one call after the other."""

    def __init__(self, root: Path, size_bytes_max: int) -> None:
        self.size_bytes_max = size_bytes_max
        self._root = root
        self._temporary = root / "tmp"
        self._root_fd = -1
        self._is_root_synced = False
        self._staged: dict[str, tuple[Path, bool]] = {}
        # Content that a put found under its name, while its directory may not be on the disk yet.
        self._relied: set[str] = set()
        # Content that was put and then thrown away by a failed flush.
        self._lost: set[str] = set()
        # How each fan-out directory looked when it was last brought onto the disk.
        self._synced: dict[str, int] = {}

    def new_temporary(self) -> tuple[Path, int]:
        """Return a new empty temporary file and its descriptor, open for writing."""
        self._prepare()
        while True:
            path = self._temporary / temporary.new_name()
            with contextlib.suppress(FileExistsError):
                return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)

    def has(self, digest: str, size: int) -> bool:
        """Return whether this content is here; then the next flush will confirm it."""
        if digest in self._staged:
            return True
        if not self._is_named(digest, size):
            return False
        # Another process, or one that was killed in its flush, may have given the name a moment ago.
        if self._synced.get(digest[:2]) != (self._root / digest[:2]).stat().st_mtime_ns:
            self._relied.add(digest)
        self._lost.discard(digest)
        return True

    def stage(self, digest: str, path: Path, *, is_synced: bool) -> None:
        """Take over a temporary file that is complete."""
        self._staged[digest] = (path, is_synced)
        self._lost.discard(digest)

    def flush(self) -> None:
        """Sync the contents, give them their names, sync the directories of the names."""
        staged, self._staged = self._staged, {}
        relied, self._relied = self._relied, set()
        named: list[Path] = []
        if staged or relied:
            try:
                self._prepare()
                unsynced = [path for path, is_synced in staged.values() if not is_synced]
                syncing.sync_all(unsynced, self._root_fd)
                for digest, (path, _) in staged.items():
                    if self._give_name(digest, path):
                        named.append(self._path(digest))
                self._sync_directories({digest[:2] for digest in [*staged, *relied]})
            except OSError as error:
                self._throw_away([*(path for path, _ in staged.values()), *named])
                self._lost |= {*staged, *relied}
                give_up(error, "Some content could not be brought onto the disk and was thrown away")
        if self._lost:
            raise Unavailable(
                "blob.unavailable",
                f"{len(self._lost)} contents were lost when the disk refused them, and were not put again.",
                fix="Check the disk, then repeat what was being written, or restart ChoirOS.",
                digests=sorted(self._lost)[:_SHOWN_MAX],
            )

    def size(self, digest: str) -> int | None:
        """Return the size of staged or named content."""
        if not _DIGEST.fullmatch(digest):
            return None
        with explained(f"The content {digest} could not be looked up"):
            path = self._staged[digest][0] if digest in self._staged else self._path(digest)
            try:
                found = path.lstat()
            except (FileNotFoundError, NotADirectoryError):
                return None
            return found.st_size if stat.S_ISREG(found.st_mode) else None

    def find(self, digest: str) -> Path:
        """Return the file of this content, which may be missing."""
        return self._staged[digest][0] if digest in self._staged else self._path(digest)

    def delete(self, digest: str) -> None:
        """Remove staged and named content."""
        self._lost.discard(digest)
        self._relied.discard(digest)
        if not _DIGEST.fullmatch(digest):
            return
        with explained(f"The content {digest} could not be removed"):
            if digest in self._staged:
                self._staged.pop(digest)[0].unlink(missing_ok=True)
            self._path(digest).unlink(missing_ok=True)

    def fan_outs(self) -> list[str]:
        """Return the names of the directories that hold content, after removing what a crash left beside them."""
        with explained("The stored content could not be listed"):
            self._remove_left_overs()
            return [name for name in _names(self._root) if _FAN_OUT.fullmatch(name)]

    def digests(self, fan_out: str) -> list[str]:
        """Return what one of these directories holds."""
        with explained("The stored content could not be listed"):
            names = _names(self._root / fan_out)
        return [name for name in names if _DIGEST.fullmatch(name) and name[:2] == fan_out]

    def _path(self, digest: str) -> Path:
        # What is no digest could be a way to other files.
        if not _DIGEST.fullmatch(digest):
            raise missing(digest)
        return self._root / digest[:2] / digest

    def _is_named(self, digest: str, size: int) -> bool:
        """Whether the content stands under its name, as it was stored; anything else is damage to be replaced.

        Its bytes are read: whoever puts content holds it, and nothing else may mend what a disk has spoilt.
        """
        path = self._path(digest)
        try:
            found = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return stat.S_ISREG(found.st_mode) and found.st_size == size and _is_intact(path, digest)

    def _prepare(self) -> None:
        """At the first use: make the directories durably, and remove what a crash left."""
        if self._root_fd >= 0:
            return
        absent = [path for path in (self._root, *self._root.parents) if not path.exists()]
        for path in reversed(absent):
            path.mkdir(0o700, exist_ok=True)
            syncing.sync(path.parent)
        self._temporary.mkdir(0o700, exist_ok=True)
        self._remove_left_overs()
        # Held for life: syncfs reports the write errors since its descriptor was opened.
        self._root_fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        weakref.finalize(self, os.close, self._root_fd)

    def _remove_left_overs(self) -> None:
        for name in _names(self._temporary):
            if temporary.is_left_over(name):
                with contextlib.suppress(OSError):
                    (self._temporary / name).unlink()

    def _give_name(self, digest: str, path: Path) -> bool:
        """Move a staged file to its name; return False when another process has done so in the meantime."""
        target = self._path(digest)
        if self._is_named(digest, path.lstat().st_size):
            path.unlink()
            return False
        try:
            path.rename(target)
        except FileNotFoundError:
            target.parent.mkdir(0o700, exist_ok=True)
            self._is_root_synced = False
            path.rename(target)
        return True

    def _sync_directories(self, fan_outs: set[str]) -> None:
        looks = {fan_out: (self._root / fan_out).stat().st_mtime_ns for fan_out in fan_outs}
        paths = [self._root / fan_out for fan_out in sorted(fan_outs)]
        # Once per process in any case: whoever made the fan-out directories may have been killed before this.
        if not self._is_root_synced:
            paths.append(self._root)
        syncing.sync_all(paths, self._root_fd)
        self._is_root_synced = True
        self._synced |= looks

    def _throw_away(self, paths: list[Path]) -> None:
        for path in paths:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _is_intact(path: Path, digest: str) -> bool:
    try:
        with path.open("rb", buffering=0) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError as error:
        if error.errno not in {errno.EIO, errno.ENOENT}:
            raise
        return False


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
