"""What became of backups, and where this history was brought in from."""

from __future__ import annotations

from msgspec import Struct

from choiros.kernel.registry import EventType


class BackupMade(Struct, frozen=True):
    """A backup was written, read back and found whole; `removed` names older ones that give way to it.

    `seq` and `hash` are the newest event in it, `sha256` is that of the whole file.
    """

    file: str
    sha256: str
    size_bytes: int
    seq: int
    hash: str
    automatic: bool = False
    removed: tuple[str, ...] = ()


class BackupFailed(Struct, frozen=True):
    """A backup could not be made; the older ones were left alone."""

    reason: str
    automatic: bool = False


class DrillDone(Struct, frozen=True):
    """A backup was restored in a place of its own, to see whether it can be; `reason` tells why it cannot."""

    file: str
    seq: int
    ok: bool
    reason: str = ""


class HistoryImported(Struct, frozen=True):
    """Everything before this event was brought in from a file, verified; `seq` and `hash` are its newest event.

    `aside` is where the data was put that stood there before, None when there was none.
    """

    file: str
    seq: int
    hash: str
    contents: int
    aside: str | None = None


EVENTS = (
    EventType("backup.make", BackupMade, effect="pure"),
    EventType("backup.fail", BackupFailed, effect="pure"),
    EventType("backup.drill", DrillDone, effect="pure"),
    EventType("backup.import", HistoryImported, effect="pure"),
)
