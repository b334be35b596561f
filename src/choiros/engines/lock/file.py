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
        self._first: os.stat_result | None = None

    async def acquire(self, timeout_s: float) -> None:
        """Wait until the lock is free."""
        deadline = self._clock.monotonic_ns() + int(timeout_s * 1e9)
        descriptor = await self._locked(deadline)
        while not self._is_in_place(descriptor):
            # Whoever held it has put all of this data aside, the lock with it, and other data in its place.
            os.close(descriptor)
            descriptor = await self._locked(deadline)
        self._check_same(descriptor)
        self._descriptor = descriptor
        # The name only helps whoever waits; on a full disk the lock holds without it.
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)

    async def _locked(self, deadline: int) -> int:
        descriptor = self._open()
        try:
            while not _try(descriptor):
                self._check_time(descriptor, deadline)
                await self._clock.sleep(_PAUSE_S)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(self._path.lstat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def _check_same(self, descriptor: int) -> None:
        """Raise Unavailable (`lock.replaced`) when the data is another one than when it was held before."""
        found = os.fstat(descriptor)
        if self._first is not None and not os.path.samestat(self._first, found):
            os.close(descriptor)
            raise Unavailable(
                "lock.replaced",
                "This data was put aside, and other data is in its place now.",
                fix="Start the command again, so that it works with the new data. Nothing was changed.",
            )
        self._first = found

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
