"""Reads an exported file from its beginning to its end and believes nothing that it cannot check."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.event import GENESIS, Point, Record, open_records
from choiros.wiring.portable import manifest as form
from choiros.wiring.portable.manifest import MANIFEST, LogPart, Manifest, damaged
from choiros.wiring.portable.records import PART_BYTES_MAX, unpack

if TYPE_CHECKING:
    from choiros.kernel.archive import Archive, Part
    from choiros.wiring.portable.packing import Progress

_DIGEST_LENGTH = 64


class Sink(Protocol):
    """Takes what a file holds, while it is not yet known whether the file is whole."""

    async def events(self, records: list[Record]) -> None:
        """Take the next events, which follow those before."""
        ...

    async def content(self, chunks: AsyncIterator[bytes]) -> str:
        """Take a content and return its SHA-256."""
        ...


class Nowhere:
    """Takes everything and keeps nothing: for a look whether a file is whole."""

    async def events(self, records: list[Record]) -> None:
        """Forget them."""

    async def content(self, chunks: AsyncIterator[bytes]) -> str:
        """Hash it."""
        hasher = hashlib.sha256()
        async for chunk in chunks:
            hasher.update(chunk)
        return hasher.hexdigest()


async def read_manifest(archive: Archive) -> Manifest:
    """Return what a file says about itself, which nothing has confirmed yet."""
    async for part in archive.read():
        return await _manifest(part)
    raise damaged(MANIFEST, "it is missing")


async def check(archive: Archive, *, progress: Progress) -> Manifest:
    """Return what a file holds after reading all of it; raises as `Unpacking.into` does."""
    return await Unpacking(archive, user=None, progress=progress).into(Nowhere())


class Unpacking:
    """One file on its way in; with `user`, only the data of this person is taken."""

    def __init__(self, archive: Archive, *, user: str | None, progress: Progress) -> None:
        self._archive = archive
        self._user = user
        self._progress = progress

    async def into(self, sink: Sink) -> Manifest:
        """Give everything to the sink and return the manifest once all of it is confirmed.

        Raises Corrupt (`archive.*`, `import.damaged`, `log.broken`) naming the place, Rejected (`import.newer`,
        `import.other_user`, `archive.not_found`), and what the sink raises.
        """
        parts = self._archive.read()
        manifest = await _manifest(await _next(parts, MANIFEST))
        if self._user is not None and manifest.user != self._user:
            raise other_user(manifest.user, self._user)
        await self._take_log(parts, manifest, sink=sink)
        await self._take_contents(parts, manifest.contents, sink=sink)
        async for part in parts:
            raise damaged(part.name, "the manifest does not tell of it")
        return manifest

    async def _take_log(self, parts: AsyncIterator[Part], manifest: Manifest, *, sink: Sink) -> None:
        after = Point(0, GENESIS)
        for number, told in enumerate(manifest.log, 1):
            name = form.log_name(number)
            records = _records(told, await _content(await _next(parts, name), told), name=name)
            after = _checked(records, after, user=manifest.user)
            await sink.events(records)
            self._progress("checking events", after.seq, manifest.seq)
        if after != manifest.head:
            raise damaged(MANIFEST, f"the log ends at event {after.seq} with another hash than it says")

    async def _take_contents(self, parts: AsyncIterator[Part], told: form.Contents, *, sink: Sink) -> None:
        last, size_bytes = "", 0
        for number in range(1, told.count + 1):
            part = await _next(parts, None)
            digest = _digest_of(part, last)
            size_bytes += part.size
            if size_bytes > told.size_bytes:
                raise damaged(part.name, "the contents are larger than the manifest says")
            if await sink.content(part.chunks) != digest:
                raise damaged(part.name, "its content has another hash")
            last = digest
            self._progress("checking contents", number, told.count)
        if size_bytes != told.size_bytes:
            raise damaged(MANIFEST, "the contents are smaller than it says")


async def _next(parts: AsyncIterator[Part], name: str | None) -> Part:
    """Return the next part, which must have this name when one is given."""
    part = await anext(parts, None)
    if part is None:
        raise damaged(name or "contents", "it is missing")
    if name is not None and part.name != name:
        raise damaged(part.name, f"{name} should stand here")
    return part


async def _manifest(part: Part) -> Manifest:
    if part.name != MANIFEST:
        raise damaged(part.name, f"{MANIFEST} should stand here")
    if part.size > form.MANIFEST_BYTES_MAX:
        raise damaged(MANIFEST, f"it is larger than {form.MANIFEST_BYTES_MAX:,} bytes")
    return form.decode(b"".join([chunk async for chunk in part.chunks]))


async def _content(part: Part, told: LogPart) -> bytes:
    if part.size != told.size or part.size > PART_BYTES_MAX:
        raise damaged(part.name, f"it has {part.size:,} bytes, which is not what it should have")
    content = b"".join([chunk async for chunk in part.chunks])
    if hashlib.sha256(content).hexdigest() != told.sha256:
        raise damaged(part.name, "its content has another hash")
    return content


def _records(told: LogPart, content: bytes, *, name: str) -> list[Record]:
    try:
        records = unpack(content)
    except ValueError as error:
        raise damaged(name, str(error)) from error
    if (records[0].seq, records[-1].seq) != (told.first, told.last):
        raise damaged(name, f"it holds other events than {told.first} to {told.last}")
    return records


def _checked(records: list[Record], after: Point, *, user: str) -> Point:
    """Return the place of the last of these events, after checking that they follow and are this person's."""
    for head in open_records(records, after):
        if head.user_id != user:
            raise damaged(f"event {head.seq}", f"it belongs to '{head.user_id}', not to '{user}'")
    return Point(records[-1].seq, records[-1].hash)


def _digest_of(part: Part, last: str) -> str:
    digest = part.name.rpartition("/")[2]
    if len(digest) != _DIGEST_LENGTH or part.name != form.content_name(digest):
        raise damaged(part.name, "a content should stand here")
    if digest <= last:
        raise damaged(part.name, "it stands there twice, or not in its order")
    return digest


def other_user(found: str, user: str) -> Rejected:
    """Return the error for the data of somebody else."""
    return Rejected(
        "import.other_user",
        f"The file holds the data of '{found}', and you are '{user}'. Nothing was changed.",
        fix=f"To bring it in as that person, add --user {found}.",
        user=found,
    )


def differs(names: list[str]) -> Corrupt:
    """Return the error for a file from which another state follows than the one it was made of."""
    return Corrupt(
        "import.differs",
        f"What follows from the events is not what the file says it was made of: {', '.join(names)}.",
        fix="Nothing was changed. Use another copy of the file, or the ChoirOS that wrote it.",
        views=names,
    )
