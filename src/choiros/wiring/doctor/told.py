"""What one reading of the whole log tells about everything else that is kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.kernel.event import GENESIS, Point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from choiros.kernel.errors import ChoirError, Corrupt
    from choiros.kernel.event import Event
    from choiros.kernel.tree import Entry

_DIGEST = re.compile(rb"\b[0-9a-f]{64}\b")


class Named:
    """A content that an event names: how long it is, and where it stood."""

    __slots__ = ("path", "seq", "size")

    def __init__(self, size: int, path: str, *, seq: int) -> None:
        self.size = size
        self.path = path
        self.seq = seq


class Told:
    """What the log says about the rest."""

    def __init__(self) -> None:
        self.head = Point(0, GENESIS)
        self.read = 0
        self.is_read = False
        """Whether the log was read from its beginning to its end, or to a break."""
        self.breaks: list[Corrupt] = []
        self.contents: dict[str, Named] = {}
        self.mentioned: set[str] = set()
        """Whatever may be the name of a content, also in a type that is not known here."""
        self.unknown: dict[str, int] = {}
        """The types that this program does not know, each with the first event of it."""
        self.views_problem: ChoirError | None = None
        """Why the views could not be made beside."""

    @property
    def is_whole(self) -> bool:
        """Return whether every event could be read."""
        return self.is_read and not self.breaks

    def take(self, event: Event) -> None:
        """Note what an event says."""
        self.mentioned.update(map(bytes.decode, _DIGEST.findall(event.record.payload or b"")))
        for path, entry in _entries(event.payload):
            if entry is not None and entry.kind == "file":
                self.contents[entry.content] = Named(entry.size, path, seq=event.seq)
        if isinstance(event.payload, dict):
            self.unknown.setdefault(event.head.event_type, event.seq)


def _entries(payload: object) -> Iterator[tuple[str, Entry | None]]:
    match payload:
        case FileWritten(_, path, entry, before):
            yield path, before
            yield path, entry
        case FileDeleted(_, path, before):
            yield path, before
        case FileMoved(_, _, to, entry):
            yield to, entry
        case _:
            pass
