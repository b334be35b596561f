"""A place beside everybody's data where one person's data is made ready, unseen, before it takes its place at once.

    home/arriving/USER     being made ready; whatever lies there while nobody holds the lock was left by a crash
    home/aside/NAME        what stood in a person's place before; it is kept until the person removes it

What is made ready holds a mark that goes with it. So what a crash left can be told from what was put aside.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from choiros.kernel.errors import Rejected, Unavailable
from choiros.wiring.disk import lay_ground

ARRIVING = "arriving"
ASIDE = "aside"
MARK = Path(".choir") / "arriving"
KEYS = Path(".choir") / "keys"


class Staging:
    """One arrival that has the place for itself."""

    def __init__(self, home: Path, user: str) -> None:
        self._users = home / "users"
        self._aside = home / ASIDE
        self._user = user
        self.base = home / ARRIVING / user
        """Where the data is made ready."""

    def begin(self) -> None:
        """Remove what crashes left, and make an empty place with the mark in it."""
        self._sweep()
        for directory in (self.base, (self.base / MARK).parent):
            directory.mkdir(mode=0o700)
        (self.base / MARK).touch(mode=0o600)

    def _sweep(self) -> None:
        (self._users / self._user / MARK).unlink(missing_ok=True)
        for left in self.base.parent.iterdir():
            _remove(left)
        for kept in self._aside.iterdir() if self._aside.is_dir() else ():
            if (kept / MARK).exists():
                _remove(kept)

    def take_keys(self) -> None:
        """Take over the keys that lie beside the log that is replaced; an export holds none.

        What was signed last is not taken over: it is about the log that is put aside.
        """
        own = self.base / KEYS
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        for key in (self._users / self._user / KEYS).glob("*.key"):
            descriptor = os.open(own / key.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(key.read_bytes())

    def take_place(self) -> None:
        """Put what was made ready into the person's place, which must be free; all at once and durably."""
        from choiros.engines.tree.disk.descriptors import Spot  # noqa: PLC0415
        from choiros.engines.tree.disk.renames import move  # noqa: PLC0415

        _sync_all(self.base)
        with _directory(self.base.parent) as above, _directory(self._users) as users:
            try:
                move(Spot(above, self._user), Spot(users, self._user))
            except FileExistsError as error:
                raise taken(self._users / self._user) from error
            os.fsync(users)
            os.fsync(above)
        self._settled()

    def change_places(self, name: str) -> Path:
        """Let what was made ready and what stands in the person's place change places, all at once and durably.

        Returns where that is now: under this name among what was put aside.
        """
        from choiros.engines.tree.disk.descriptors import Spot  # noqa: PLC0415
        from choiros.engines.tree.disk.renames import ExchangeMissingError, exchange, move  # noqa: PLC0415

        _sync_all(self.base)
        self._aside.mkdir(mode=0o700, exist_ok=True)
        with (
            _directory(self.base.parent) as above,
            _directory(self._aside) as aside,
            _directory(self._users) as users,
        ):
            move(Spot(above, self._user), Spot(aside, name))
            os.fsync(aside)
            try:
                exchange(Spot(aside, name), Spot(users, self._user))
            except (ExchangeMissingError, OSError) as error:
                # The two changed places as a whole or not at all, so this is still what was made ready.
                _remove(self._aside / name)
                if isinstance(error, OSError):
                    raise
                raise _no_exchange() from error
            os.fsync(users)
            os.fsync(aside)
        self._settled()
        return self._aside / name

    def _settled(self) -> None:
        """Take away the mark: this is now the person's data, and no crash's remains."""
        (self._users / self._user / MARK).unlink(missing_ok=True)
        with _directory(self._users / self._user / MARK.parent) as data:
            os.fsync(data)


@contextmanager
def staging(home: Path, user: str) -> Generator[Staging]:
    """Hold the place for one arrival; what was not put in place by the end of the block is removed."""
    made = [path for path in (home, home / "users", home / ".gitignore") if not path.exists()]
    place = Staging(home, user)
    try:
        with explained():
            lay_ground(home)
            descriptor = _held(home / ARRIVING)
        try:
            with explained():
                place.begin()
            yield place
        finally:
            _remove(place.base)
            with suppress(OSError):
                place.base.parent.rmdir()
            os.close(descriptor)
    except BaseException:
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise


def _held(path: Path) -> int:
    """Return a descriptor of the directory that holds its lock."""
    while True:
        path.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it before may have removed it while we opened it.
            if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise Unavailable(
                "import.busy",
                "Another ChoirOS is bringing in data at the moment.",
                fix="Wait for it to finish, then try again. Nothing was changed.",
            ) from error
        os.close(descriptor)


@contextmanager
def _directory(path: Path) -> Generator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    """Remove a directory with all that is in it, and follow no link out of it."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, ignore_errors=True)


def _sync_all(path: Path) -> None:
    """Bring a directory with all that is in it onto the disk."""
    from choiros.engines.blob.disk.syncing import can_syncfs, syncfs  # noqa: PLC0415

    with _directory(path) as descriptor:
        if can_syncfs():
            syncfs(descriptor)
        else:
            os.sync()


def taken(path: Path) -> Rejected:
    """Return the error for a person who has data already."""
    return Rejected(
        "import.exists",
        f"There is data of this person already, in {path}. Nothing was changed.",
        fix="To replace it, and keep it aside, use 'choir restore FILE'; or choose another place with --home.",
        place=str(path),
    )


def _no_exchange() -> Unavailable:
    return Unavailable(
        "import.no_exchange",
        "This file system cannot let two folders change places at once. Nothing was changed.",
        fix="Move the person's folder away yourself, then use 'choir import FILE'.",
    )


@contextmanager
def explained() -> Generator[None]:
    """Turn an OSError of the block into Unavailable."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise Unavailable(
            "import.unavailable",
            f"The data could not be made ready: {error.strerror}. Nothing was changed.",
            fix="Free some space, then try again."
            if is_full
            else "Check the data directory and your rights.",
        ) from error
