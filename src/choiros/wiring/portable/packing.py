"""Packs a person's log and contents into one file; nothing is written before the chain of all events was checked."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from choiros.kernel.archive import Part, Written
from choiros.kernel.errors import Corrupt
from choiros.kernel.event import GENESIS, Point, Record, open_records
from choiros.wiring.contents import awaited_contents
from choiros.wiring.portable import manifest as form
from choiros.wiring.portable.manifest import Contents, LogPart, Manifest, ViewState
from choiros.wiring.portable.records import PACKED_BYTES, pack, size_of

if TYPE_CHECKING:
    from choiros.kernel.archive import Archive
    from choiros.wiring.computer import Computer

READ = 500

Progress = Callable[[str, int, int], None]
"""Is told what is being done, and how much of how much is done."""


class Exported(Struct, frozen=True):
    """A file that is complete."""

    manifest: Manifest
    written: Written


async def export(computer: Computer, archive: Archive, *, progress: Progress) -> Exported:
    """Write everything of a person that cannot be made again: events as they are stored, and contents.

    The lock must be held and every view be up to date. Raises what Archive.write raises, and Corrupt naming the
    place when an event or a content is damaged; then no file is left.
    """
    packing = Packing(computer, progress)
    manifest = await packing.survey()
    return Exported(manifest, await archive.write(packing.parts(manifest)))


class Packing:
    """One export: a survey of what there is, then the parts."""

    def __init__(self, computer: Computer, progress: Progress) -> None:
        self._computer = computer
        self._log = computer.parts.log
        self._blobs = computer.parts.blobs
        self._user = computer.settings.user
        self._progress = progress
        self._digests: list[str] = []

    async def survey(self) -> Manifest:
        """Check the chain of all events and return what will be packed."""
        computer = self._computer
        head = await computer.journal.head()
        assert computer.projectors.position() == head, "the views are not as new as the log"
        log = await self._survey_log(head)
        contents = await self._survey_contents()
        self._progress("hashing the state", 0, 1)
        digests = computer.projectors.digests()
        views = {one.name: ViewState(one.version, digests[one.name]) for one in computer.projectors.views}
        return form.make(self._user, head, log=log, contents=contents, views=views)

    async def _survey_log(self, head: Point) -> tuple[LogPart, ...]:
        """Return the parts of the log; they are packed here to be hashed, and once more when they are written."""
        parts: list[LogPart] = []
        async for records in self._groups(head.seq):
            content = pack(records)
            digest = hashlib.sha256(content).hexdigest()
            parts.append(LogPart(records[0].seq, records[-1].seq, len(content), digest))
            self._progress("checking events", records[-1].seq, head.seq)
        assert (parts[-1].last if parts else 0) == head.seq, "the log ends before its head"
        return tuple(parts)

    async def _groups(self, until: int) -> AsyncIterator[list[Record]]:
        """Return all records in groups that become one part each, checked against the chain."""
        after, group, size = Point(0, GENESIS), list[Record](), 0
        async for records in self._log.read(self._user, limit=until, batch=READ):
            open_records(records, after)
            after = Point(records[-1].seq, records[-1].hash)
            group += records
            size += sum(map(size_of, records))
            if size >= PACKED_BYTES:
                yield group
                group, size = [], 0
        if group:
            yield group

    async def _survey_contents(self) -> Contents:
        named = set(self._computer.files.contents())
        sizes = {digest: await self._blobs.size(digest) for digest in sorted(named)}
        for digest in awaited_contents(self._computer) - named:
            size = await self._blobs.size(digest)
            if size is not None:
                sizes[digest] = size
        absent = [digest for digest, size in sizes.items() if size is None]
        if absent:
            raise _absent(absent)
        self._digests = sorted(sizes)
        return Contents(len(sizes), sum(size or 0 for size in sizes.values()))

    async def parts(self, manifest: Manifest) -> AsyncIterator[Part]:
        """Return what a manifest describes, in its order."""
        raw = form.encode(manifest)
        yield Part(form.MANIFEST, len(raw), _whole(raw))
        for number, part in enumerate(manifest.log, 1):
            content = pack(await self._records(part))
            yield Part(form.log_name(number), len(content), _whole(content))
            self._progress("packing events", part.last, manifest.seq)
        for number, digest in enumerate(self._digests, 1):
            size = await self._blobs.size(digest)
            yield Part(form.content_name(digest), size or 0, self._blobs.read(digest))
            self._progress("packing contents", number, len(self._digests))

    async def _records(self, part: LogPart) -> list[Record]:
        count = part.last - part.first + 1
        lists = self._log.read(self._user, part.first - 1, limit=count, batch=count)
        return [record async for records in lists for record in records]


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _absent(digests: Sequence[str]) -> Corrupt:
    return Corrupt(
        "blob.missing",
        f"{len(digests)} contents that events name are not in the store, such as {digests[0]}.",
        fix="Nothing was written. Bring them back from a backup.",
        digest=digests[0],
    )
