"""What libgit2 and the disk say when something fails, told as the errors of ChoirOS."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pygit2

from choiros.kernel.errors import Corrupt, Rejected, Unavailable

_SHOWN_MAX = 300
_HELD = ("failed to lock", "old reference value does not match", "a reference with that name already exists")


@contextmanager
def told(git_dir: Path) -> Generator[None]:
    """Raise Unavailable or Corrupt for what goes wrong inside with the repository."""
    try:
        yield
    except (pygit2.GitError, KeyError, ValueError, TypeError, OSError) as error:
        text = plain(str(error))
        if any(sign in text for sign in _HELD):
            raise busy(git_dir, text) from error
        if isinstance(error, OSError):
            raise unavailable(git_dir, text) from error
        raise damaged(git_dir, text) from error


def busy(git_dir: Path, reason: str) -> Unavailable:
    """Return the error for a repository that another program is changing."""
    return Unavailable(
        "repository.busy",
        f"Another program is changing the git repository {git_dir} at this moment.",
        fix="Try again. If no git command is running, remove the file whose name ends in '.lock' there.",
        reason=reason,
    )


def unavailable(git_dir: Path, reason: str) -> Unavailable:
    """Return the error for a repository that cannot be read or written now."""
    return Unavailable(
        "repository.unavailable",
        f"The git repository {git_dir} cannot be used: {reason}.",
        fix="Look at the free space and the permissions of that folder, then try again.",
        reason=reason,
    )


def damaged(git_dir: Path, reason: str) -> Corrupt:
    """Return the error for a repository that does not hold what it should."""
    return Corrupt(
        "repository.damaged",
        f"The git repository {git_dir} is damaged: {reason}.",
        fix=f"Run 'git --git-dir={git_dir} fsck'. Or move the folder away: the next commit makes a new one.",
        reason=reason,
    )


def path_refused(path: str, reason: str) -> Rejected:
    """Return the error for a file that git can only hold at the risk of whoever checks it out."""
    shown = plain(path)
    return Rejected(
        "repository.path_refused",
        f"The file '{shown}' cannot be part of a commit: {reason}.",
        fix="Rename the file, or leave it out with .choirignore.",
        path=shown,
    )


def plain(text: str) -> str:
    """Return foreign text in a form that is safe to show: printable, on one line, and not too long."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text).strip().rstrip(".:")
    return shown if len(shown) <= _SHOWN_MAX else shown[:_SHOWN_MAX] + "..."
