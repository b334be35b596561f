"""The verbs that only look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from choiros.cli.client import (
    EventDetail,
    EventLine,
    FileLine,
    FileList,
    LogQuery,
    Status,
    Why,
)
from choiros.features.files.decide import not_a_file, not_found
from choiros.kernel.path import is_below

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from choiros.cli.client import Difference
    from choiros.kernel.event import Point
    from choiros.kernel.tree import Entry


from choiros.cli.direct.opened import Opened


class Reads(Opened):
    """Answers what is there and what happened."""

    async def status(self) -> Status:
        """Return the computer at a glance."""
        computer = self._computer
        head = await computer.journal.head()
        return Status(
            user=computer.settings.user,
            home=str(self._resolved.home),
            workspace=self._workspace.name,
            folder=str(computer.place(self._workspace)),
            events=head.seq,
            head=head.hash.hex(),
            pending_approvals=len(computer.approvals.pending()),
            state=self._state(head),
        )

    def _state(self, head: Point) -> Literal["ready", "behind", "read-only"]:
        if self._computer.fault is not None:
            return "read-only"
        return "ready" if self._computer.projectors.position() == head else "behind"

    async def log(self, query: LogQuery) -> list[EventLine]:
        """Return matching events, the oldest first."""
        return await self._answers.log(query)

    def follow(self, query: LogQuery) -> AsyncIterator[EventLine]:
        """Return matching events behind `query.after`, then new ones, for ever."""
        self._computer.release()
        return self._answers.follow(query)

    async def show(self, seq: int) -> EventDetail:
        """Return one event in detail."""
        return await self._answers.show(seq)

    async def why(self, path: str) -> Why:
        """Return who wrote each line of a file."""
        await self._capture([path])
        return await self._answers.why(path)

    async def files(self, directory: str, at: int | None) -> FileList:
        """Return what stands below a directory now, or right after an event."""
        if at is not None:
            await self._check_seq(at)
            entries = self._computer.files.below_at(self._id, directory, seq=at)
            seqs = self._computer.files.seqs_at(self._id, directory, seq=at)
            found = [_file(path, one, seq=seqs[path]) for path, one in entries.items()]
            return FileList(self._workspace.name, at, found, {})
        captured = await self._capture()
        seqs = self._computer.files.seqs(self._id, directory)
        entries = self._computer.files.below(self._id, directory)
        head = await self._computer.journal.head()
        found = [_file(path, entry, seq=seqs[path]) for path, entry in entries.items()]
        return FileList(self._workspace.name, head.seq, found, captured)

    async def cat(self, path: str, at: int | None) -> AsyncIterator[bytes]:
        """Return the content of a file now, or right after an event."""
        if at is None:
            await self._capture([path])
            entry = self._computer.files.entry(self._id, path)
        else:
            await self._check_seq(at)
            version = self._computer.files.at(self._id, path, seq=at)
            entry = version.entry if version else None
        if entry is None:
            raise not_found(path)
        if entry.kind == "link":
            yield entry.target.encode()
        elif entry.kind == "dir":
            raise not_a_file(path, entry)
        else:
            async for chunk in self._computer.parts.blobs.read(entry.content):
                yield chunk

    async def diff(self, before: int | None, after: int | None, *, path: str | None) -> list[Difference]:
        """Return what differs between two events."""
        computer = self._computer
        for seq in (before, after):
            if seq is not None:
                await self._check_seq(seq)
        if after is None:
            await self._capture()
        last = computer.checkpoints.last(self._id)
        start = before if before is not None else last.seq if last else 0
        end = after if after is not None else (await computer.journal.head()).seq
        low, high = min(start, end), max(start, end)
        paths = [one for one in computer.files.paths_changed(self._id, low, until=high) if _within(one, path)]
        return await self._answers.differences(self._at(paths, start), self._at(paths, end))

    def _at(self, paths: Sequence[str], seq: int) -> dict[str, Entry | None]:
        versions = {path: self._computer.files.at(self._id, path, seq=seq) for path in paths}
        return {path: version.entry if version else None for path, version in versions.items()}


def _file(path: str, entry: Entry, *, seq: int) -> FileLine:
    return FileLine(path, entry.kind, entry.mode, entry.size, entry.content, entry.target, seq)


def _within(path: str, wanted: str | None) -> bool:
    return wanted is None or path == wanted or is_below(path, wanted)
