"""Commits in a git directory of our own, which libgit2 writes straight from stored content.

No work tree is read or written, so there is no checkout, filter, attribute or ignore file in the way, and no
hook and no configuration of anybody else is executed. In the workspace lies at most the file `.git` that
tells the person's own git where the repository is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from choiros.engines.repository.libgit.sign_in import SignIn
from choiros.kernel.blob import BlobStore
from choiros.kernel.repository import Commit
from choiros.kernel.tree import Entry
from choiros.kernel.worker import Worker

if TYPE_CHECKING:
    from choiros.engines.repository.libgit.blocking import Blocking

T = TypeVar("T")

_LARGE_BYTES = 4 << 20
_BATCH_COUNT = 64
_LINK_MODE = 0o120000


class LibgitRepository:
    """The commits of one workspace, in a git directory that lies outside of it.

    `work_folder` is the workspace's folder. When it holds no `.git`, one is put there, once, when the
    repository is made; whatever is there already is neither touched nor read. `exclude` holds the patterns of
    what the person's own git shall neither add nor clean away; once written it is theirs to change. `sign_in`
    says what a push may show to a server; without it only servers that ask nothing can be reached. Times are
    Unix milliseconds, of which git keeps the full seconds.
    """

    def __init__(
        self,
        git_dir: Path,
        worker: Worker,
        *,
        work_folder: Path | None = None,
        exclude: str = "",
        sign_in: SignIn | None = None,
    ) -> None:
        self._git_dir = git_dir.absolute()
        self._worker = worker
        self._work_folder = work_folder
        self._exclude = exclude
        self._sign_in = sign_in
        self._git: Blocking | None = None
        self._one_commit = asyncio.Lock()
        self._given_to: BlobStore | None = None
        self._given: dict[bytes, Entry] = {}
        """What this store has been given by git's id: the next commit mostly holds the same contents."""

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
        """Record exactly these files as the successor of the head.

        Raises, besides what the port says, Rejected (`path.*`, `repository.path_refused`) for a name that git
        cannot hold safely, and Unavailable (`repository.busy`) when another program holds the repository.
        """
        async with self._one_commit:
            files = dict(files)
            missing = await self._run(lambda git: git.missing(files))
            await self._bring(missing, blobs)
            return await self._run(
                lambda git: git.commit(files, message=message, author=author, timestamp=timestamp, seq=seq)
            )

    async def head(self) -> Commit | None:
        """Return the newest commit, None before the first."""
        newest = await self.log(1)
        return newest[0] if newest else None

    async def log(self, limit: int = 50) -> list[Commit]:
        """Return commits from the head backwards."""
        return await self._run(lambda git: git.commits(limit))

    async def files(self, commit: str, blobs: BlobStore) -> dict[str, Entry]:
        """Return the files of a commit; a full reference (`refs/choir/backup/...`) names one too.

        Raises Rejected (`path.*`, `repository.path_refused`) for a tree that leads out of the workspace. What
        is left out (submodules) is told by `left_out`.
        """
        found, _ = await self._run(lambda git: git.listing(commit))
        if self._given_to is not blobs:
            self._given_to, self._given = blobs, {}
        entries: dict[str, Entry] = {}
        paths_by_oid: dict[bytes, list[str]] = {}
        for path, item in found.items():
            given = self._given.get(item.oid) if item.mode != _LINK_MODE else None
            if given:
                entries[path] = replace(given, mode=_permissions(item.mode))
            else:
                paths_by_oid.setdefault(item.oid, []).append(path)
        waiting = list(paths_by_oid)
        while waiting:
            batch = await self._contents(waiting)
            for oid, content in zip(waiting, batch, strict=False):
                for path in paths_by_oid[oid]:
                    entries[path] = await self._entry(path, content, mode=found[path].mode, blobs=blobs)
                    if entries[path].kind == "file":
                        self._given[oid] = entries[path]
            waiting = waiting[len(batch) :]
        return {path: entries[path] for path in found}

    async def left_out(self, commit: str) -> dict[str, str]:
        """Return what `files` leaves out of a commit, each path with the reason in one sentence."""
        return (await self._run(lambda git: git.listing(commit)))[1]

    async def backup(self, name: str) -> list[str]:
        """Keep the current head and index; raises Rejected when the name is none, or taken."""
        return await self._run(lambda git: git.backup(name))

    async def push(self, url: str, branch: str) -> str:
        """Send the head to a branch of a repository at https, ssh or an absolute local path."""
        sign_in = self._sign_in
        return await self._run(lambda git: git.push(url, branch=branch, sign_in=sign_in))

    async def _entry(self, path: str, content: bytes, *, mode: int, blobs: BlobStore) -> Entry:
        if mode == _LINK_MODE:
            return Entry("link", 0o777, target=await self._run(lambda git: git.link_target(path, content)))
        return Entry("file", _permissions(mode), size=len(content), content=await blobs.put(content))

    async def _bring(self, missing: Sequence[str], blobs: BlobStore) -> None:
        """Copy contents into git's store, each in full before it counts, a large one through a file."""
        batch: list[tuple[str, bytes]] = []
        weight = 0
        for digest in missing:
            if (await blobs.size(digest) or 0) > _LARGE_BYTES:
                await self._bring_large(digest, blobs)
                continue
            batch.append((digest, b"".join([chunk async for chunk in blobs.read(digest)])))
            weight += len(batch[-1][1])
            if weight > _LARGE_BYTES or len(batch) == _BATCH_COUNT:
                await self._add(batch)
                batch, weight = [], 0
        await self._add(batch)

    async def _bring_large(self, digest: str, blobs: BlobStore) -> None:
        file = await self._run(lambda git: git.spill())
        try:
            async for chunk in blobs.read(digest):
                await self._append(file, chunk)
            await self._run(lambda git: git.add([(digest, file)]))
        finally:
            file.close()

    async def _append(self, file: IO[bytes], data: bytes) -> None:
        await self._run(lambda git: git.append(file, data))

    async def _add(self, batch: list[tuple[str, bytes]]) -> None:
        if batch:
            await self._run(lambda git: git.add(batch))

    async def _contents(self, oids: Sequence[bytes]) -> list[bytes]:
        return await self._run(lambda git: git.contents(oids))

    async def _run(self, call: Callable[[Blocking], T]) -> T:
        return await self._worker.run(lambda: call(self._opened()))

    def _opened(self) -> Blocking:
        if self._git is None:
            # pygit2 takes 50 ms to import: not before the first call.
            from choiros.engines.repository.libgit.blocking import Blocking  # noqa: PLC0415

            self._git = Blocking(self._git_dir, self._work_folder, exclude=self._exclude)
        return self._git


def _permissions(mode: int) -> int:
    return 0o755 if mode & 0o100 else 0o644
