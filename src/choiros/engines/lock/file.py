"""A lock on a file, which the operating system lets go when the process ends."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from choiros.kernel.clock import Clock
from choiros.kernel.errors import Unavailable

_PAUSE_S = 0.02


class FileLock:
    """Holds an exclusive lock on a file that also names the holder."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._descriptor: int | None = None

    async def acquire(self, timeout_s: float) -> None:
        """Wait until the lock is free."""
        deadline = self._clock.monotonic_ns() + int(timeout_s * 1e9)
        descriptor = self._open()
        try:
            while not _try(descriptor):
                self._check_time(descriptor, deadline)
                await self._clock.sleep(_PAUSE_S)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        # The name only helps whoever waits; on a full disk the lock holds without it.
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise Unavailable(
                "lock.unavailable",
                f"The lock file {self._path.name} cannot be opened: {error.strerror}. Nothing was changed.",
                fix="Check the disk and the permissions of the data directory, then try again.",
                file=self._path.name,
            ) from error

    def _check_time(self, descriptor: int, deadline: int) -> None:
        """Raise Unavailable (`lock.held`), naming the holder, when there is no time left to wait."""
        if self._clock.monotonic_ns() < deadline:
            return
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        raise Unavailable(
            "lock.held",
            f"Another ChoirOS (process {holder or 'unknown'}) is changing this data at the moment.",
            fix="Wait for it to finish, or stop it, then try again. Nothing was changed.",
            process=holder,
        )


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
