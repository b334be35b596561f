"""What one may wish for files; contents are named by their digest and are in the blob store already."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from choiros.kernel.tree import Entry


class Change(Struct, frozen=True, omit_defaults=True):
    """A wish for one path: what shall stand there, None for nothing.

    `base` is what the wisher saw there when deciding; when something else stands there by now, the two are merged.
    Left out, the wish holds whatever stands there.
    """

    path: str
    entry: Entry | None
    base: Entry | UnsetType | None = UNSET


class ChangeFiles(Struct, frozen=True):
    """Set any number of paths of a workspace at once, or none of them."""

    workspace: str
    changes: tuple[Change, ...]


class CaptureFiles(Struct, frozen=True):
    """Record what somebody changed in the folder itself; it has happened already and is never refused."""

    workspace: str
    changes: tuple[Change, ...]


class EditFile(Struct, frozen=True):
    """Replace one piece of text of a file by another; `everywhere` replaces each occurrence."""

    workspace: str
    path: str
    old: str
    new: str
    everywhere: bool = False


class MoveFile(Struct, frozen=True):
    """Give a file, link or directory another path at which nothing stands yet."""

    workspace: str
    path: str
    to: str


class RemoveFile(Struct, frozen=True):
    """Remove a file or link, and a directory with everything below it when `recursive`."""

    workspace: str
    path: str
    recursive: bool = False
