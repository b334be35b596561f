"""Content on disk: one file per content, named by its SHA-256 and confirmed when a power cut cannot take it.

root/ab/<sha256>                    content that `flush` has moved here after its bytes were on the disk
root/tmp/<pid>-<start>-<number>     content that was put and waits for `flush`, named after its owner
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from pathlib import Path

from choiros.engines.blob.disk.reading import Reading
from choiros.engines.blob.disk.store import Store
from choiros.engines.blob.disk.upload import Upload
from choiros.kernel.worker import Worker

_PIECE = 1 << 20


class DiskBlobs:
    """Keeps content below one directory; the blocking work goes through the worker."""

    def __init__(self, root: Path, worker: Worker, *, size_bytes_max: int = 4 << 30) -> None:
        self._store = Store(root, size_bytes_max)
        self._worker = worker

    async def put(self, chunks: AsyncIterator[bytes] | bytes) -> str:
        """Stage the content and return its SHA-256; small content that is here costs its hash alone."""
        upload = Upload(self._store)
        is_finished = False
        try:
            if isinstance(chunks, bytes):
                digest = await self._worker.run(functools.partial(upload.take, chunks))
            else:
                async for piece in _pieces(chunks):
                    await self._worker.run(functools.partial(upload.write, piece))
                digest = await self._worker.run(upload.finish)
            is_finished = True
        finally:
            if not is_finished:
                await self._worker.run(upload.discard)
        return digest

    async def flush(self) -> None:
        """Bring everything that was put onto the disk, under its name.

        Raises Unavailable when that fails, and as long as something that was put and lost is not put again.
        """
        await self._worker.run(self._store.flush)

    async def size(self, digest: str) -> int | None:
        """Return the size in bytes, or None when the content is not here."""
        return await self._worker.run(functools.partial(self._store.size, digest))

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        """Return the content in chunks of 1 MiB; the last one is given out only when the hash is right."""
        reading = Reading(self._store, digest)
        try:
            while not reading.is_done:
                chunk = await self._worker.run(reading.next)
                if chunk:
                    yield chunk
        finally:
            if reading.is_open:
                await self._worker.run(reading.close)

    async def delete(self, digest: str) -> None:
        """Remove the content."""
        await self._worker.run(functools.partial(self._store.delete, digest))

    async def digests(self) -> AsyncIterator[str]:
        """Return the digest of every content that stands under its name."""
        for fan_out in await self._worker.run(self._store.fan_outs):
            for digest in await self._worker.run(functools.partial(self._store.digests, fan_out)):
                yield digest


async def _pieces(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Return the same bytes in pieces of 1 MiB, so that neither tiny nor huge chunks cost more."""
    held = bytearray()
    async for chunk in chunks:
        for start in range(0, len(chunk), _PIECE):
            held += chunk[start : start + _PIECE]
            if len(held) >= _PIECE:
                yield bytes(memoryview(held)[:_PIECE])
                del held[:_PIECE]
    if held:
        yield bytes(held)
