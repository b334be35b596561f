"""Goes through the whole folder: to see what is there, and to remove what a crash left."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from choiros.engines.tree.disk.descriptors import LIST, Spot, Way, is_utf8, look_at, stat_of, way
from choiros.engines.tree.disk.placing import discard
from choiros.engines.tree.disk.temporary import is_left_over, is_temporary
from choiros.kernel.path import PATH_BYTES_MAX
from choiros.kernel.tree import Stat

_READABLE_BY_ALL = 0o444
_READABLE_BY_OWNER = 0o400


class Scan:
    """The look of everything below a folder, and why some of it cannot be kept."""

    def __init__(self, root: int, skip: Callable[[str, bool], bool]) -> None:
        self._root = root
        self._skip = skip
        self._user = os.geteuid()
        self.found: dict[str, Stat] = {}
        self.odd: dict[str, str] = {}

    def run(self) -> tuple[dict[str, Stat], dict[str, str]]:
        """Go through all directories and return both mappings."""
        pending = [""]
        with way(self._root) as ways:
            while pending:
                path = pending.pop()
                try:
                    with _listed(ways, path) as descriptor:
                        pending += self._entries(descriptor, path)
                except (FileNotFoundError, NotADirectoryError):
                    # Removed or replaced since it was seen.
                    self.found.pop(path, None)
                except PermissionError:
                    self.odd[path or "."] = "We are not allowed to list this directory."
        return self.found, self.odd

    def _entries(self, descriptor: int, path: str) -> list[str]:
        """Look at what one directory holds, and return the directories in it that are to be entered."""
        below: list[str] = []
        before = f"{path}/" if path else ""
        with os.scandir(descriptor) as entries:
            for entry in entries:
                inner = before + entry.name
                if is_temporary(entry.name):
                    # A power cut may have taken the note that there is something to sweep.
                    with suppress(OSError):
                        _remove(Spot(descriptor, entry.name))
                    continue
                if not self._is_path(inner):
                    continue
                is_directory = entry.is_dir(follow_symlinks=False)
                if self._skip(inner, is_directory):
                    continue
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                look = self.found[inner] = stat_of(found)
                if look.kind == "dir":
                    below.append(inner)
                elif not self._is_readable(found, look):
                    # What has just been replaced by something else is explained by the next scan.
                    with suppress(OSError):
                        self._explain(Spot(descriptor, entry.name), inner, kind=look.kind)
        return below

    def _is_path(self, path: str) -> bool:
        """Whether this can be a path in the log; say why, if not."""
        if path.isascii() and len(path) <= PATH_BYTES_MAX:
            return True
        try:
            if len(path.encode()) <= PATH_BYTES_MAX:
                return True
            reason = f"Its path is longer than {PATH_BYTES_MAX} bytes."
        except UnicodeEncodeError:
            reason = "Its name is not valid UTF-8."
        self.odd[_shown(path)] = reason
        return False

    def _is_readable(self, found: os.stat_result, look: Stat) -> bool:
        """Whether it is a file that the usual rights let us read; anything else is worth a second look."""
        if look.kind != "file":
            return False
        if look.mode & _READABLE_BY_ALL == _READABLE_BY_ALL:
            return True
        return found.st_uid == self._user and look.mode & _READABLE_BY_OWNER != 0

    def _explain(self, spot: Spot, path: str, *, kind: str) -> None:
        if kind == "other":
            self.odd[path] = "It is neither a file, nor a link, nor a directory."
        elif kind == "file" and not os.access(spot.name, os.R_OK, dir_fd=spot.directory, effective_ids=True):
            self.odd[path] = "We are not allowed to read this file."
        elif kind == "link" and target_of(spot) is None:
            self.odd[path] = "Its target is not valid UTF-8."


def sweep(root: int) -> int:
    """Remove temporary files that no living process owns, and return how many there were."""
    count = 0
    pending = [""]
    with way(root) as ways:
        while pending:
            path = pending.pop()
            try:
                with _listed(ways, path) as descriptor, os.scandir(descriptor) as entries:
                    for entry in entries:
                        if is_temporary(entry.name):
                            count += _remove(Spot(descriptor, entry.name))
                        elif entry.is_dir(follow_symlinks=False):
                            pending.append(f"{path}/{entry.name}" if path else entry.name)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                continue
    return count


def target_of(spot: Spot) -> str | None:
    """Return where a link points to, or None when that is not valid UTF-8."""
    target = os.readlink(spot.name, dir_fd=spot.directory)
    return target if is_utf8(target) else None


def _remove(spot: Spot) -> int:
    if not is_left_over(spot.name):
        return 0
    discard(spot)
    return int(look_at(spot) is None)


@contextmanager
def _listed(ways: Way, path: str) -> Generator[int]:
    """Hold a directory for the block, open so that it can be listed."""
    descriptor = os.open(".", LIST, dir_fd=ways.to(path.split("/") if path else []))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
