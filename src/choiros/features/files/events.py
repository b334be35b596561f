"""What can happen to a file; each event holds what was there before, so that it can be taken back by itself."""

from __future__ import annotations

from msgspec import Struct

from choiros.kernel.registry import EventType
from choiros.kernel.tree import Entry


class FileWritten(Struct, frozen=True, gc=False):
    """Something stands at a path now: a file's new content or mode, a link, or a directory.

    `conflict_of` names the path it was meant for when somebody else's newer version is kept there.
    """

    workspace: str
    path: str
    entry: Entry
    before: Entry | None = None
    conflict_of: str | None = None


class FileDeleted(Struct, frozen=True, gc=False):
    """Nothing stands at a path any more."""

    workspace: str
    path: str
    before: Entry


class FileMoved(Struct, frozen=True, gc=False):
    """What stood at a path stands at another one, unchanged."""

    workspace: str
    path: str
    to: str
    entry: Entry


FileFact = FileWritten | FileDeleted | FileMoved

EVENTS = (
    EventType("file.write", FileWritten, effect="reversible"),
    EventType("file.delete", FileDeleted, effect="reversible"),
    EventType("file.move", FileMoved, effect="reversible"),
)
