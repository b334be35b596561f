"""A witness that is a directory elsewhere, such as a stick, a share, or a folder that is synchronised.

HASH/checkpoint    the newest note of a log; HASH is the SHA-256 of the log's name
HASH/history       every note that was ever added, one after the other
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from choiros.kernel.errors import Conflict, Unavailable
from choiros.kernel.worker import Worker

NOTE_BYTES_MAX = 64 * 1024


class FileWitness:
    """Keeps the notes of logs in a directory; it never goes back to an older one."""

    def __init__(self, name: str, directory: Path, *, worker: Worker) -> None:
        self.name = name
        self._directory = directory
        self._worker = worker

    async def newest(self, origin: str) -> str:
        """Return the newest note that is kept."""
        return await self._worker.run(lambda: self._newest(self._of(origin)))

    async def add(self, request: str) -> str:
        """Keep the note of a request, durably."""
        note = request.partition("\n\n")[2]
        await self._worker.run(lambda: self._add(note))
        return ""

    def _of(self, origin: str) -> Path:
        return self._directory / hashlib.sha256(origin.encode()).hexdigest()

    def _newest(self, place: Path) -> str:
        if not self._directory.is_dir():
            raise self._unavailable("its directory is not there")
        try:
            with (place / "checkpoint").open("rb") as file:
                return file.read(NOTE_BYTES_MAX).decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise self._unavailable(error.strerror or str(error)) from error

    def _add(self, note: str) -> None:
        place = self._of(note.partition("\n")[0])
        kept, size = _size(self._newest(place)), _size(note)
        if kept > size:
            raise Conflict(
                "witness.refused",
                f"The witness '{self.name}' knows the log at {kept} events already, and is shown {size}.",
                fix="An older copy of the log may have been put in its place: 'choir verify' compares the two.",
                size=kept,
            )
        try:
            place.mkdir(exist_ok=True)
            _append(place / "history", note.encode() + b"\n")
            _append(beside := place / "checkpoint.new", note.encode(), fresh=True)
            beside.rename(place / "checkpoint")
            for directory in (place, self._directory):
                _sync(directory)
        except OSError as error:
            raise self._unavailable(error.strerror or str(error)) from error

    def _unavailable(self, reason: str) -> Unavailable:
        return Unavailable(
            "witness.unavailable",
            f"The witness '{self.name}' cannot be reached: {reason}.",
            fix=f"Make {self._directory} there and writable; it hears of the next signature.",
            witness=self.name,
        )


def _size(note: str) -> int:
    """Return the size in the second line of a note, 0 for none."""
    digits = [*note.split("\n"), "", ""][1]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _append(path: Path, content: bytes, *, fresh: bool = False) -> None:
    how = os.O_TRUNC if fresh else os.O_APPEND
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | how, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
