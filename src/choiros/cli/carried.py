"""What the command line is told about exports, imports and backups: plain data that `--json` prints as it is."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

Progress = Callable[[str, int, int], None]
"""Is told what is being done, and how much of how much is done."""


class Exported(Struct, frozen=True):
    """A file that holds everything of a person, complete and on disk."""

    file: str
    size_bytes: int
    sha256: str
    user: str
    seq: int
    hash: str
    contents: int


class Imported(Struct, frozen=True):
    """What was brought in, and what became of what stood there before."""

    file: str
    user: str
    seq: int
    hash: str
    contents: int
    files: int
    """How many files the folders show again."""
    aside: str | None
    """Where the former data is now."""
    put_away: dict[str, str]
    """Workspaces in folders of the person's own, with the folders; each waits until it is opened."""
    uncompared: list[str]
    """Views that another version of ChoirOS keeps, so that their state hashes say nothing."""
    warnings: list[str]


class Standing(Struct, frozen=True):
    """What a person's data holds now, as far as it can be read."""

    place: str
    seq: int | None
    hash: str | None


class RestoreSummary(Struct, frozen=True):
    """What a restore would bring back, and what it would put aside; all of the file has been checked."""

    file: str
    user: str
    product: str
    seq: int
    hash: str
    contents: int
    size_bytes: int
    now: Standing | None
    """What stands there; None when there is nothing."""


class BackupLine(Struct, frozen=True):
    """One backup in the folder; `sha256` is what the log says it must have, None where the log knows nothing."""

    file: str
    timestamp: int
    seq: int
    size_bytes: int
    sha256: str | None
    tried: int | None
    """When a drill last restored it."""
    error: str
    """Why that drill failed."""


class BackupDone(Struct, frozen=True):
    """A backup that was made, read back and recorded, and the older ones that gave way to it."""

    file: str
    size_bytes: int
    sha256: str
    seq: int
    removed: list[str]


class DrillResult(Struct, frozen=True):
    """What came of restoring the newest backup in a place of its own."""

    file: str
    seq: int
    ok: bool
    reason: str
