"""Commits in memory: the complete double of a repository, with places to push to and an index to stage in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from choiros.kernel.address import check_address
from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Rejected
from choiros.kernel.path import check_path, is_protected, parents
from choiros.kernel.repository import Commit
from choiros.kernel.tree import Entry

_PREFIX_MIN = 4


class _Kept(Struct, frozen=True):
    commit: Commit
    files: dict[str, Entry]


class MemoryRepository:
    """Keeps commits as long as the object lives.

    `index` is what a person has staged: tests write there. `places` holds what was pushed, by address and
    branch; repositories that are given the same one push to the same places.
    """

    def __init__(self, places: dict[tuple[str, str], list[str]] | None = None) -> None:
        self.places = {} if places is None else places
        self.index: dict[str, Entry] = {}
        self.refs: dict[str, str] = {}
        self._kept: dict[str, _Kept] = {}
        self._contents: dict[str, bytes] = {}
        self._head: str | None = None

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
        """Record exactly these files as the successor of the head."""
        kept = _as_git_keeps_them(files)
        for entry in kept.values():
            if entry.kind == "file" and entry.content not in self._contents:
                self._contents[entry.content] = b"".join([chunk async for chunk in blobs.read(entry.content)])
        former = self._kept[self._head].files if self._head else {}
        if self.index != former:
            staged = self._record(
                self.index, message="What was staged", author="ChoirOS", timestamp=timestamp
            )
            self.refs[f"refs/choir/index/{seq}"] = staged.id
        commit = self._record(kept, message=message.strip(), author=author, timestamp=timestamp, seq=seq)
        self._head = commit.id
        self.index = dict(kept)
        return commit

    async def head(self) -> Commit | None:
        """Return the newest commit, None before the first."""
        return self._kept[self._head].commit if self._head else None

    async def log(self, limit: int = 50) -> list[Commit]:
        """Return commits from the head backwards."""
        return [self._kept[commit].commit for commit in self._line()[:limit]]

    async def files(self, commit: str, blobs: BlobStore) -> dict[str, Entry]:
        """Return the files of a commit, contents put into the store."""
        files = self._kept[self._find(commit)].files
        for entry in files.values():
            if entry.kind == "file":
                await blobs.put(self._contents[entry.content])
        return dict(files)

    async def backup(self, name: str) -> list[str]:
        """Keep the current head and index under references of this name."""
        if self._head is None:
            return []
        head, index = (f"refs/choir/backup/{name}/{part}" for part in ("head", "index"))
        if head in self.refs:
            raise Rejected(
                "repository.name_taken", f"There is a backup '{name}'.", fix="Choose another name."
            )
        timestamp = self._kept[self._head].commit.timestamp
        staged = self._record(self.index, message="What was staged", author="ChoirOS", timestamp=timestamp)
        self.refs |= {head: self._head, index: staged.id}
        return [head, index]

    async def push(self, url: str, branch: str) -> str:
        """Send the head to a branch at one of the places."""
        check_address(url)
        line = self._line()
        there = self.places.get((url, branch), [])
        if not line or not set(there) <= set(line):
            reason = "the branch there holds commits that are not here" if line else "there is no commit yet"
            raise Rejected(
                "repository.push_refused", f"Nothing was pushed: {reason}.", fix="Look at both first."
            )
        self.places[url, branch] = line
        return line[0]

    def _record(
        self, files: Mapping[str, Entry], *, message: str, author: str, timestamp: int, seq: int | None = None
    ) -> Commit:
        parents_of = (self._head,) if self._head else ()
        seconds = max(timestamp, 0) // 1000
        spelt = [message, author, seconds, seq, parents_of, sorted(msgspec.to_builtins(files).items())]
        name = hashlib.sha1(json.dumps(spelt).encode(), usedforsecurity=False).hexdigest()
        commit = Commit(name, parents_of, message=message, author=author, timestamp=seconds * 1000, seq=seq)
        self._kept[name] = _Kept(commit, dict(files))
        return commit

    def _line(self) -> list[str]:
        line: list[str] = []
        following = self._head
        while following is not None:
            line.append(following)
            above = self._kept[following].commit.parents
            following = above[0] if above else None
        return line

    def _find(self, name: str) -> str:
        known = self.refs.get(name)
        found = [known] if known else [full for full in self._kept if full.startswith(name)]
        if len(found) != 1 or len(name) < _PREFIX_MIN:
            raise Rejected(
                "repository.unknown_commit",
                f"No commit is called '{name}'.",
                fix="Name a commit by its id or a unique beginning of it.",
            )
        return found[0]


def _as_git_keeps_them(files: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the files without directories and with the permissions that git knows; refuse unsafe names."""
    kept: dict[str, Entry] = {}
    for path, entry in files.items():
        if entry.kind == "dir":
            continue
        below_a_file = any(above in files and files[above].kind != "dir" for above in parents(path))
        if is_protected(check_path(path)) or below_a_file:
            raise Rejected(
                "repository.path_refused",
                f"The file '{path}' cannot be part of a commit.",
                fix="Rename the file, or leave it out with .choirignore.",
                path=path,
            )
        mode = 0o777 if entry.kind == "link" else 0o755 if entry.mode & 0o100 else 0o644
        kept[path] = msgspec.structs.replace(entry, mode=mode)
    return kept
