"""The port to version control: named points of a workspace in the form that other tools read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from choiros.kernel.blob import BlobStore
from choiros.kernel.tree import Entry


class Commit(Struct, frozen=True):
    """One commit as it is listed."""

    id: str
    parents: tuple[str, ...]
    message: str
    author: str
    timestamp: int
    seq: int | None
    """The event number it was made at, None for a commit that somebody made by hand."""


class Repository(Protocol):
    """The commits of one workspace.

    The repository lies where neither an agent nor a sandbox can write, and is made from stored content, never
    from a work tree. No hook, filter, attribute or configuration of anybody else is ever executed.
    """

    async def commit(
        self,
        files: Mapping[str, Entry],
        blobs: BlobStore,
        *,
        message: str,
        author: str,
        timestamp: int,
        seq: int,
    ) -> Commit:
        """Record exactly these files as the successor of the current head and return the commit.

        The former head stays reachable, and the former index is kept under `refs/choir/index/SEQ` first when it
        differs from the former head. Directories are left out, as git does. The message gets a `Choir-Seq: N`
        trailer. Raises Unavailable (`repository.unavailable`); then the head is unchanged.
        """
        ...

    async def head(self) -> Commit | None:
        """Return the newest commit, None before the first."""
        ...

    async def log(self, limit: int = 50) -> list[Commit]:
        """Return commits from the head backwards."""
        ...

    async def files(self, commit: str, blobs: BlobStore) -> dict[str, Entry]:
        """Return the files of a commit (an id, a unique prefix, a branch or a tag), contents put into the store.

        Raises Rejected (`repository.unknown_commit`).
        """
        ...

    async def backup(self, name: str) -> list[str]:
        """Keep the current head and index under `refs/choir/backup/NAME/...` and return the refs made."""
        ...

    async def push(self, url: str, branch: str) -> str:
        """Send the head to a branch of another repository, never by force, and return its commit id there.

        Raises Rejected (`repository.push_refused`, `repository.bad_url`) or Unavailable.
        """
        ...
