"""Which path in the workspace a person means by what stands on the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from choiros.kernel.errors import Rejected

Names = tuple[str, ...]


class Place:
    """Where the person stands: the folder of the workspace, and the current directory (None: it is gone)."""

    def __init__(self, folder: str, current: str | None) -> None:
        self.folder = folder
        self._roots = _spellings(folder)
        self._inside = None if current is None else _below(current, self._roots)

    @property
    def is_inside(self) -> bool:
        """Return whether the person stands in the folder."""
        return self._inside is not None

    def path(self, text: str) -> str:
        """Return the path of a file, relative to the workspace; raises Rejected (`path.*`)."""
        if text.endswith("/") and text.strip("/"):
            raise Rejected(
                "path.directory",
                f"'{text}' names a directory, because it ends in '/'.",
                fix="Name a file in it.",
                path=text,
            )
        path = self.directory(text)
        if not path:
            raise Rejected(
                "path.root",
                f"'{text}' is the workspace itself." if text else "The path is empty.",
                fix="Name something in it, such as notes/today.md.",
                path=text,
            )
        return path

    def directory(self, text: str) -> str:
        """Return the path of a directory; '' is the workspace itself."""
        names = self._absolute(text) if PurePosixPath(text).is_absolute() else self._relative(text)
        return "/".join(names)

    def target(self, text: str, source: str) -> str:
        """Return where something is to go: into the directory when the text ends in '/'."""
        if not text.endswith("/"):
            return self.directory(text) or source.rpartition("/")[2]
        return "/".join(name for name in (self.directory(text), source.rpartition("/")[2]) if name)

    def _relative(self, text: str) -> Names:
        names = list(self._inside or ())
        for name in text.split("/"):
            if name == ".." and not names:
                raise _outside(text, self.folder)
            if name == "..":
                names.pop()
            elif name not in {"", "."}:
                names.append(name)
        return tuple(names)

    def _absolute(self, text: str) -> Names:
        lexical = os.path.normpath(text)
        above, name = os.path.split(lexical)
        # The last name stays as it is: it may be a link, and the link itself is meant.
        for spelling in (lexical, str(Path(os.path.realpath(above)) / name)):
            found = _below(spelling, self._roots)
            if found is not None:
                return found
        raise _outside(text, self.folder)


def current_directory() -> str | None:
    """Return the current directory, None when it does not exist any more."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _spellings(folder: str) -> list[Names]:
    return [PurePosixPath(folder).parts, PurePosixPath(os.path.realpath(folder)).parts]


def _below(path: str, roots: Sequence[Names]) -> Names | None:
    parts = PurePosixPath(path).parts
    for root in roots:
        if parts[: len(root)] == root:
            return parts[len(root) :]
    return None


def _outside(text: str, folder: str) -> Rejected:
    return Rejected(
        "path.outside",
        f"'{text}' is outside the workspace, whose folder is {folder}.",
        fix="Name a path in the workspace; 'choir write PATH --from FILE' brings a file in from elsewhere.",
        path=text,
    )
