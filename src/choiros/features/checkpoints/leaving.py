"""What a push would send, and what in it must not leave the machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from choiros.features.checkpoints.secrets import SecretFinding, find_secrets
from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Rejected
from choiros.kernel.path import is_protected
from choiros.kernel.repository import Commit, Repository
from choiros.kernel.tree import Entry

COMMITS_MAX = 100_000
PUSH_FILE_BYTES_MAX = 100 * 1024 * 1024
SCAN_BYTES_MAX = 8 * 1024 * 1024
"""So much of a content is looked through at once, with this much of what came before it."""
OVERLAP_BYTES = 64 * 1024


async def history(repository: Repository) -> list[Commit]:
    """Return every commit behind the head; raises Rejected (`checkpoint.too_many`) rather than leave one out."""
    commits = await repository.log(COMMITS_MAX + 1)
    if len(commits) > COMMITS_MAX:
        raise Rejected(
            "checkpoint.too_many",
            f"The history has more than {COMMITS_MAX} commits, too many to look through before a push.",
            fix="Push it with git itself, once you know that no secret is in it.",
        )
    return commits


def leaving(commits: Sequence[Commit], arrived: Iterable[str]) -> list[Commit]:
    """Return the commits that a push would send: all but what has arrived already, and what lies behind that.

    A merge has several lines behind it, so what is older than an arrived commit has not always arrived too.
    """
    parents = {commit.id: commit.parents for commit in commits}
    there = set(arrived)
    waiting = list(there)
    while waiting:
        above = [one for one in parents.get(waiting.pop(), ()) if one not in there]
        there.update(above)
        waiting += above
    return [commit for commit in commits if commit.id not in there]


class Inspector:
    """Looks through commits for what must not leave; what several of them hold is looked at once."""

    def __init__(self, repository: Repository, blobs: BlobStore) -> None:
        self._repository = repository
        self._blobs = blobs
        self._seen: set[tuple[str, str]] = set()

    async def findings(self, commits: Sequence[Commit]) -> list[str]:
        """Return a sentence for each reason against a push, in the order of the commits."""
        found: list[str] = []
        for commit in commits:
            files = await self._repository.files(commit.id, self._blobs)
            fresh = {path: entry for path, entry in files.items() if self._is_new(path, entry)}
            reasons = [*_in_words("its message", commit.message), *await self._look(fresh)]
            found += [f"{commit.id[:10]} {reason}" for reason in reasons]
        return found

    def _is_new(self, path: str, entry: Entry) -> bool:
        key = (path, entry.content or entry.target)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    async def _look(self, files: Mapping[str, Entry]) -> list[str]:
        found: list[str] = []
        for path, entry in files.items():
            found += _in_words("the name of a file", path)
            if is_protected(path):
                found.append(f"{path}: the name is protected")
            elif entry.size > PUSH_FILE_BYTES_MAX:
                found.append(f"{path}: {entry.size} bytes are more than {PUSH_FILE_BYTES_MAX}")
            elif entry.kind == "link":
                found += _in_words(f"{path}: what the link says", entry.target)
            elif entry.kind == "file":
                found += [
                    f"{path}:{one.line}: looks like a secret ({one.kind})"
                    for one in await self._secrets(path, entry.content)
                ]
        return found

    async def _secrets(self, path: str, content: str) -> list[SecretFinding]:
        """Look through a content piece by piece, each with the end of the one before, in constant memory."""
        found: list[SecretFinding] = []
        piece, line = b"", 1
        async for chunk in self._blobs.read(content):
            piece += chunk
            if len(piece) >= SCAN_BYTES_MAX:
                found += _from_line(line, find_secrets(path, piece))
                line += piece.count(b"\n", 0, len(piece) - OVERLAP_BYTES)
                piece = piece[-OVERLAP_BYTES:]
        return list(dict.fromkeys([*found, *_from_line(line, find_secrets(path, piece))]))


def _from_line(first: int, found: Sequence[SecretFinding]) -> list[SecretFinding]:
    return [SecretFinding(one.kind, one.line + first - 1) for one in found]


def _in_words(where: str, text: str) -> list[str]:
    """Return what is wrong with a text that is short enough for its lines not to matter; it is not repeated."""
    kinds = dict.fromkeys(one.kind for one in find_secrets("", text.encode()))
    return [f"{where} looks like a secret ({kind})" for kind in kinds]
