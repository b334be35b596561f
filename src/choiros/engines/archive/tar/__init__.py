"""An archive as a tar file, so that any tar can list it; written and read by code of our own, in one strict form."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from choiros.engines.archive.tar.headers import header_of
from choiros.engines.archive.tar.reading import Reading
from choiros.engines.archive.tar.writing import Writing
from choiros.kernel.archive import Part, Written
from choiros.kernel.worker import Worker


class TarArchive:
    """One tar file; the blocking work goes through the worker."""

    def __init__(self, path: Path, worker: Worker) -> None:
        self._path = path
        self._worker = worker

    async def write(self, parts: AsyncIterator[Part]) -> Written:
        """Write all parts beside the name, bring them onto the disk, then give them the name."""
        run = self._worker.run
        writing = await run(lambda: Writing(self._path))
        try:
            async for name, size, chunks in parts:
                head = header_of(name, size)
                await run(lambda head=head, name=name, size=size: writing.begin(head, name, size=size))
                async for chunk in chunks:
                    await run(lambda chunk=chunk: writing.write(chunk))
                await run(writing.end_part)
            return await run(writing.finish)
        finally:
            await run(writing.discard)

    async def read(self) -> AsyncIterator[Part]:
        """Return the parts in their order, every byte between them checked."""
        run = self._worker.run
        reading = await run(lambda: Reading(self._path))
        try:
            while (found := await run(reading.next_part)) is not None:
                name, size = found
                yield Part(name, size, self._chunks(reading))
                async for _ in self._chunks(reading):
                    pass
                await run(reading.end_part)
        finally:
            await run(reading.close)

    async def _chunks(self, reading: Reading) -> AsyncIterator[bytes]:
        while chunk := await self._worker.run(reading.chunk):
            yield chunk
