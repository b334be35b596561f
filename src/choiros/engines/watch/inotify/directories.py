"""Which directories of a folder are watched, under which path, while they come, move and go."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from choiros.engines.watch.inotify.system import (
    Event,
    Mask,
    add_watch,
    open_queue,
    read_events,
    remove_watch,
)
from choiros.kernel.errors import Unavailable
from choiros.kernel.path import TEMPORARY, is_below

Skip = Callable[[str, bool], bool]

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_EXHAUSTED = {errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class Directories:
    """The watched directories of one folder; its calls block and come from one thread at a time."""

    def __init__(self, root: Path, skip: Skip | None) -> None:
        self._root = root
        self._skip = skip
        self._paths: dict[int, str] = {}
        self.queue: int | None = None
        self.trouble: Unavailable | None = None
        self.is_gone = False

    def start(self) -> None:
        """Watch the folder and everything below it."""
        if not self._root.is_dir():
            raise no_folder(self._root)
        try:
            self.queue = open_queue()
        except OSError as error:
            self.trouble = _exhausted(error)
        self._add("")
        if self.queue is not None and not self._paths and not self.trouble:
            self.trouble = _exhausted(OSError(errno.ENOSYS, "this folder cannot be watched"))

    def drain(self) -> set[str]:
        """Return the paths that the events in the queue are about, "" for "anything"."""
        hints: set[str] = set()
        for event in read_events(self.queue) if self.queue is not None else ():
            if Mask.OVERFLOW in event.mask:
                self._start_again()
                return {""}
            hints |= self._hints(event)
        return {""} if self.is_gone else hints

    def close(self) -> None:
        """Stop watching."""
        if self.queue is not None:
            os.close(self.queue)
        self.queue = None
        self._paths.clear()

    def _start_again(self) -> None:
        """Watch everything anew: directories may have come and gone among the events that were lost."""
        self.close()
        try:
            self.start()
        except Unavailable:
            self.is_gone = True

    def _hints(self, event: Event) -> set[str]:
        folder = self._paths.get(event.watch)
        if folder is None:
            return set()
        if Mask.IGNORED in event.mask:
            del self._paths[event.watch]
        if not event.name:
            return self._hints_of_itself(event, folder)
        try:
            name = event.name.decode()
        except UnicodeDecodeError:
            return {folder}
        path = f"{folder}/{name}" if folder else name
        is_directory = Mask.ISDIR in event.mask
        if self._leaves_out(path, is_directory=is_directory):
            return set()
        return {path} | (self._directory_changed(path, event.mask) if is_directory else set())

    def _hints_of_itself(self, event: Event, folder: str) -> set[str]:
        """Everything but the end of the folder as a whole is told by the directory above as well."""
        ended = Mask.DELETE_SELF | Mask.MOVE_SELF | Mask.UNMOUNT | Mask.IGNORED
        self.is_gone = self.is_gone or (not folder and bool(event.mask & ended))
        return {""} if self.is_gone or Mask.UNMOUNT in event.mask else set()

    def _directory_changed(self, path: str, mask: Mask) -> set[str]:
        """Watch what stands there now, and return what it holds: it may have been filled before."""
        if Mask.MOVED_FROM in mask:
            self._remove(path)
        if mask & (Mask.MOVED_FROM | Mask.MOVED_TO | Mask.CREATE):
            return self._add(path)
        if Mask.ATTRIB in mask and path not in self._paths.values():
            return self._add(path)  # it may be readable now
        return set()

    def _add(self, top: str) -> set[str]:
        """Watch a directory and everything below it, and return the paths of all that is in it."""
        found: set[str] = set()
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            for name, is_directory in self._watch(folder):
                path = f"{folder}/{name}" if folder else name
                if not self._leaves_out(path, is_directory=is_directory):
                    found.add(path)
                    waiting += [path] * is_directory
        return found

    def _watch(self, folder: str) -> list[tuple[str, bool]]:
        """Watch one directory, and only then return what is in it; nothing when it is none (any more)."""
        try:
            with self._opened(folder) as directory:
                if self.queue is not None:
                    self._paths[add_watch(self.queue, directory)] = folder
                return list(_entries(directory))
        except OSError as error:
            if error.errno in _EXHAUSTED:
                self.trouble = _exhausted(error)
            self.is_gone = self.is_gone or not self._root.is_dir()
            return []

    def _remove(self, top: str) -> None:
        """Stop watching a directory that was moved, and everything below it."""
        for watch, path in list(self._paths.items()):
            if path == top or is_below(path, top):
                del self._paths[watch]
                if self.queue is not None:
                    remove_watch(self.queue, watch)

    def _leaves_out(self, path: str, *, is_directory: bool) -> bool:
        name = path.rpartition("/")[2]
        return name.startswith(TEMPORARY) or (self._skip is not None and self._skip(path, is_directory))

    @contextlib.contextmanager
    def _opened(self, folder: str) -> Generator[int]:
        """Yield a directory that was reached from the folder without following a link."""
        directory = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in folder.split("/") if folder else ():
                above, directory = directory, os.open(name, _DIRECTORY, dir_fd=directory)
                os.close(above)
            yield directory
        finally:
            os.close(directory)


def _entries(directory: int) -> Iterator[tuple[str, bool]]:
    """Yield name and kind of what is in a directory; a name that is not UTF-8 is no path of ours."""
    with os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(UnicodeDecodeError):
                yield os.fsencode(entry.name).decode(), entry.is_dir(follow_symlinks=False)


def no_folder(root: Path) -> Unavailable:
    """Return the error for a folder that is not there (any more)."""
    return Unavailable(
        "watch.no_folder",
        f"The folder {root} is not there, so nothing can be watched.",
        fix="Put the folder back, then watch it again.",
    )


def _exhausted(error: OSError) -> Unavailable:
    instances = error.errno in {errno.EMFILE, errno.ENFILE}
    limit = "fs.inotify.max_user_instances" if instances else "fs.inotify.max_user_watches"
    return Unavailable(
        "watch.exhausted",
        f"The system allows no more watches ({error.strerror}), so changes are noticed late.",
        fix=f"Raise the limit: sudo sysctl {limit}=524288, and start again.",
        limit=limit,
    )
