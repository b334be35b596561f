"""A note that objects are being written, and what is done about them when a crash came in between.

Objects get their names before they are on the disk, many are then brought there at once. A power cut in
between leaves names without content, and libgit2 takes what has a name for written.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pygit2

_CLOCK_S = 2
"""So much earlier than our note may an object that was written after it seem to be."""

_NAME = re.compile(r"[0-9a-f]{38}")


class Writing:
    """The note in a git directory of ours."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._note = git_dir / "choir" / "writing"

    def begin(self, repo: pygit2.Repository) -> bool:
        """Note it durably; return whether a note was left and something spoiled had to be removed."""
        spoiled = self._spoiled(repo) if self._note.exists() else []
        for path in spoiled:
            path.unlink()
        self._note.touch()
        for path in (self._note, self._note.parent):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return bool(spoiled)

    def end(self) -> None:
        """Take the note away: everything is on the disk."""
        self._note.unlink(missing_ok=True)

    def _spoiled(self, repo: pygit2.Repository) -> list[Path]:
        """Return the objects without their content, and references without any."""
        since = self._note.stat().st_mtime - _CLOCK_S
        spoiled: list[Path] = []
        for path in (self._git_dir / "objects").glob("??/*"):
            found = path.stat()
            if not _NAME.fullmatch(path.name):
                continue
            if not found.st_size or (found.st_mtime >= since and not _is_whole(repo, path)):
                spoiled.append(path)
        names = (path for path in (self._git_dir / "refs").rglob("*") if path.is_file())
        return spoiled + [path for path in names if not path.stat().st_size and self._is_first(path)]

    def _is_first(self, reference: Path) -> bool:
        """Return whether a reference has had one value at most: only then no other one is lost with it."""
        log = self._git_dir / "logs" / reference.relative_to(self._git_dir)
        return not log.exists() or log.read_bytes().count(b"\n") <= 1


def _is_whole(repo: pygit2.Repository, path: Path) -> bool:
    """Return whether an object is what its name says."""
    name = path.parent.name + path.name
    try:
        repo.odb.read(name)  # which compares the hash
    except (pygit2.GitError, KeyError, ValueError):
        return False
    return True
