"""A folder on disk, which other programs change as they like: none of their work is lost or followed out.

Every path is walked name by name through directory descriptors, never through a link. Content is complete
in a temporary file and on the disk before it gets its name, by a rename that destroys nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from choiros.engines.tree.disk.change import Change
from choiros.engines.tree.disk.descriptors import LIST, look_along, way
from choiros.engines.tree.disk.refusals import changing, not_utf8, unavailable
from choiros.engines.tree.disk.scanning import Scan, sweep
from choiros.engines.tree.disk.taking import Taking
from choiros.kernel.blob import BlobStore
from choiros.kernel.path import check_path
from choiros.kernel.tree import Done, Entry, Stat, Step
from choiros.kernel.worker import Worker

T = TypeVar("T")

_ATTEMPTS = 4


class DiskTree:
    """One workspace's folder; the blocking work goes through the worker.

    A link in the way to the folder is followed here once; one that takes the folder's place later is refused.
    """

    def __init__(self, root: Path, worker: Worker) -> None:
        if sys.getfilesystemencoding().lower() != "utf-8":
            raise not_utf8(sys.getfilesystemencoding())
        self._root = Path(os.path.realpath(root))
        self._worker = worker
        self._is_disk_doubted = False

    async def scan(self, skip: Callable[[str, bool], bool]) -> tuple[dict[str, Stat], dict[str, str]]:
        """Return the look of everything that is not skipped, and what of it cannot be kept."""
        return await self._with_root(lambda root: Scan(root, skip).run())

    async def look(self, paths: Iterable[str]) -> dict[str, Stat | None]:
        """Return how each of these paths looks."""
        wanted = sorted(check_path(path) for path in paths)
        return await self._with_root(partial(_look, paths=wanted))

    async def take(self, path: str, blobs: BlobStore) -> tuple[Entry, Stat]:
        """Read what stands at the path; raises as the port says."""
        check_path(path)
        for _ in range(_ATTEMPTS):
            taken = await self._take(path, blobs)
            if taken is not None:
                return taken
        raise changing(path)

    async def apply(self, steps: Sequence[Step], blobs: BlobStore) -> Mapping[str, Done]:
        """Carry out the steps; every content is complete and on the disk before the first change.

        Raises Unavailable or Corrupt. Then some steps may be done, and to apply them all again is safe.
        """
        change = Change(self._root, steps, is_disk_doubted=self._is_disk_doubted)
        try:
            for step in await self._worker.run(change.begin):
                await self._stage(change, step, blobs=blobs)
            return await self._worker.run(change.finish)
        except OSError as error:
            self._is_disk_doubted = True
            raise unavailable(error) from error
        finally:
            await self._run(change.end)

    async def sweep(self) -> int:
        """Remove temporary files whose process is gone."""
        return await self._with_root(sweep)

    async def _take(self, path: str, blobs: BlobStore) -> tuple[Entry, Stat] | None:
        """Read once; return None when it was changed meanwhile."""
        taking = Taking(path)
        try:
            if not await self._with_root(taking.begin):
                return None
            content = ""
            if taking.is_file:
                content = await blobs.put(taking.first if taking.is_small else self._chunks(taking))
            return await self._with_root(partial(taking.finish, content=content))
        finally:
            if taking.is_file:
                await self._run(taking.close)

    async def _chunks(self, taking: Taking) -> AsyncIterator[bytes]:
        while chunk := await self._run(taking.next):
            yield chunk

    async def _stage(self, change: Change, step: Step, *, blobs: BlobStore) -> None:
        """Write the content of a step into its temporary file; small content takes one call of the worker."""
        assert step.entry is not None
        held = b""
        async for chunk in blobs.read(step.entry.content):
            if held and not await self._worker.run(partial(change.stage, step, held)):
                return
            held = chunk
        await self._worker.run(partial(change.stage, step, held, is_last=True))

    async def _with_root(self, call: Callable[[int], T]) -> T:
        """Run a call in the worker with a descriptor of the folder."""

        def with_root() -> T:
            root = os.open(self._root, LIST)
            try:
                return call(root)
            finally:
                os.close(root)

        return await self._run(with_root)

    async def _run(self, call: Callable[[], T]) -> T:
        try:
            return await self._worker.run(call)
        except OSError as error:
            raise unavailable(error) from error


def _look(root: int, *, paths: list[str]) -> dict[str, Stat | None]:
    with way(root) as ways:
        return {path: look_along(ways, path) for path in paths}
