"""The half of the engine that blocks and needs pygit2, behind one import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from choiros.engines.repository.libgit import reading
from choiros.engines.repository.libgit.push import push
from choiros.engines.repository.libgit.sign_in import SignIn
from choiros.engines.repository.libgit.store import Store
from choiros.engines.repository.libgit.trees import Found
from choiros.kernel.repository import Commit
from choiros.kernel.tree import Entry


class Blocking(Store):
    """Everything that the engine hands to its worker."""

    def commit(
        self, files: Mapping[str, Entry], *, message: str, author: str, timestamp: int, seq: int
    ) -> Commit:
        """Record these files, whose contents git holds by now."""
        made = self.record(files, message=message, author=author, timestamp=timestamp, seq=seq)
        return reading.commit(self, made)

    def commits(self, limit: int) -> list[Commit]:
        """Return commits from the head backwards."""
        return reading.commits(self, limit)

    def listing(self, commit: str) -> tuple[dict[str, Found], dict[str, str]]:
        """Return the files of a commit, and what is left out of it with the reason."""
        return reading.listing(self, commit)

    def contents(self, oids: Sequence[bytes]) -> list[bytes]:
        """Return the first few of these contents, at least one."""
        return reading.contents(self, oids)

    def link_target(self, path: str, content: bytes) -> str:
        """Return the target of a link of a commit."""
        return reading.link_target(path, content)

    def backup(self, name: str) -> list[str]:
        """Keep the head and what is staged under references of this name."""
        return reading.backup(self, name)

    def push(self, url: str, *, branch: str, sign_in: SignIn | None) -> str:
        """Send the head to a branch of another repository."""
        return push(self, url, branch=branch, sign_in=sign_in)
