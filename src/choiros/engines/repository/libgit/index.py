"""Git's index: held while a commit is made, kept when something is staged, then set to the new head."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from choiros.engines.repository.libgit.faults import busy

_OURS = b"choir\n"
_COMMIT_S_MAX = 60
"""So long after our lock a reference may have been locked by the same commit."""


class GitIndex:
    """The file `index` of a git directory."""

    def __init__(self, git_dir: Path) -> None:
        self._path = git_dir / "index"
        self._lock = git_dir / "index.lock"
        self._beside = git_dir / "choir" / "index"
        self._git_dir = git_dir
        self._index: pygit2.Index | None = None
        self._written: tuple[int, ...] = ()

    @contextmanager
    def held(self) -> Generator[None]:
        """Keep every git program from changing the index; raises Unavailable when one is at it already.

        A lock of our own that a crash has left behind is recognised (nobody holds it) and taken away.
        """
        self._clear_left_behind()
        lock = self._made()
        try:
            yield
        finally:
            self._lock.unlink(missing_ok=True)
            os.close(lock)

    def _made(self) -> int:
        """Return the lock, which has its name only once it can be recognised as ours: a crash comes at any moment."""
        beside = self._beside.with_name("lock")
        beside.unlink(missing_ok=True)
        lock = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.write(lock, _OURS)
            os.fsync(lock)
            self._lock.hardlink_to(beside)
        except BaseException as error:
            os.close(lock)
            if isinstance(error, FileExistsError):
                raise busy(self._git_dir, "index.lock is held") from error
            raise
        finally:
            beside.unlink(missing_ok=True)
        return lock

    def forget(self) -> None:
        """Take the index for somebody else's, until it is written again."""
        self._index = None

    def is_ours(self) -> bool:
        """Return whether nobody has written the index since we did."""
        return self._index is not None and self._written == _look(self._path)

    def tree(self, repo: pygit2.Repository) -> bytes | None:
        """Return the id of a tree that holds what is staged, None when there is no index.

        The sides of an unfinished merge are in it too, and an index that libgit2 cannot read, byte for byte.
        """
        if not self._path.exists():
            return None
        index = self._copy()
        if index is None:
            return _tree_of_bytes(repo, self._path)
        try:
            _settle_conflicts(index)
            return index.write_tree(repo).raw
        except (pygit2.GitError, OSError, ValueError):
            return _tree_of_bytes(repo, self._path)

    def prepare(self, tree: pygit2.Tree, changed: Mapping[str, tuple[int, bytes] | None]) -> None:
        """Write an index of this tree beside the present one; what git knows of unchanged files is kept.

        Git compares the times of files with the time of the index, to notice a file that was written right
        after it was looked at. The time of the present index is therefore kept with what was known then.
        """
        self._beside.with_name("index.lock").unlink(missing_ok=True)
        present = self._path.stat() if self._path.exists() else None
        index = self._index if self.is_ours() else None
        self._index = None
        if index:
            _apply(index, changed)
        else:
            index = self._copy() or pygit2.Index(self._beside)
            index.read_tree(tree)
        index.write()
        if present:
            os.utime(self._beside, ns=(present.st_atime_ns, present.st_mtime_ns))
        self._index = index

    def replace(self) -> None:
        """Put what was prepared in place."""
        self._beside.replace(self._path)
        self._written = _look(self._path)

    def _copy(self) -> pygit2.Index | None:
        """Return the present index as one that is written beside it, None when it cannot be read."""
        self._beside.unlink(missing_ok=True)
        index = pygit2.Index(self._beside)  # before the file is there: pygit2 stumbles when this fails
        try:
            if self._path.exists():
                shutil.copyfile(self._path, self._beside)
            index.read()
        except (pygit2.GitError, OSError):
            self._beside.unlink(missing_ok=True)
            return None
        return index

    def _clear_left_behind(self) -> None:
        try:
            lock = os.open(self._lock, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if os.read(lock, len(_OURS) + 1) == _OURS and _can_be_locked(lock):
                self._clear_references(os.fstat(lock).st_mtime)
                self._lock.unlink()
        finally:
            os.close(lock)

    def _clear_references(self, locked_s: float) -> None:
        """Take away the locks of references that were left together with our own lock."""
        for path in self._git_dir.glob("refs/**/*.lock"):
            if 0 <= path.lstat().st_mtime - locked_s <= _COMMIT_S_MAX:
                path.unlink(missing_ok=True)


def _look(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _apply(index: pygit2.Index, changed: Mapping[str, tuple[int, bytes] | None]) -> None:
    for path, slot in changed.items():
        if slot is None:
            index.remove(path)
    for path, slot in changed.items():
        if slot is not None:
            index.add(pygit2.IndexEntry(path, pygit2.Oid(raw=slot[1]), FileMode(slot[0])))


def _can_be_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(file).st_nlink > 0


def _settle_conflicts(index: pygit2.Index) -> None:
    """Turn each unfinished merge into files of their own, as a tree cannot hold two under one name."""
    conflicts = index.conflicts
    for sides in list(conflicts or ()):
        if conflicts is not None:
            del conflicts[next(side.path for side in sides if side)]
        for suffix, side in zip(("~base", "", "~theirs"), sides, strict=True):
            if side:
                index.add(pygit2.IndexEntry(f"{side.path}{suffix}", side.id, side.mode))


def _tree_of_bytes(repo: pygit2.Repository, path: Path) -> bytes:
    builder = repo.TreeBuilder()
    builder.insert("index", repo.create_blob(path.read_bytes()), FileMode.BLOB)
    return builder.write().raw
