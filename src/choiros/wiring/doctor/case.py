"""What all areas share while one computer is looked at: where it is, what was read of it, how much is wanted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Rejected

if TYPE_CHECKING:
    from choiros.features.files.view import ShownTable
    from choiros.features.workspaces.view import Workspace
    from choiros.kernel.tree import Entry
    from choiros.settings import Resolved
    from choiros.wiring.computer import Computer
    from choiros.wiring.doctor.finding import Area, Finding
    from choiros.wiring.doctor.told import Told
    from choiros.wiring.parts import Parts

Progress = Callable[[str, int, int], None]
"""Is told now and then which area is looked at, how much of it is done, and of how much."""


class Looked(NamedTuple):
    """What came of looking at an area."""

    findings: list[Finding]
    summary: str


class Standing(NamedTuple):
    """A workspace, and where its folder is."""

    workspace: Workspace
    place: str


class LeftOut(Exception):  # noqa: N818 (no error: another area has found why)
    """An area cannot be looked at because of what another one has found; the text says in a few words what."""


class Case:
    """One computer that is looked at. The areas fill it in their order: the log first, what hangs on it later."""

    def __init__(self, resolved: Resolved, *, deep: bool, progress: Progress, scratch: Path) -> None:
        self.resolved = resolved
        self.deep = deep
        self.progress = progress
        self.scratch = scratch
        """A folder that is thrown away when the look is over."""
        self.user = resolved.settings.user
        self.folder = resolved.home / "users" / self.user
        self.data = self.folder / ".choir"
        self.nothing_yet = False
        """Whether nothing was ever kept for this person."""
        self.parts: Parts | None = None
        self.is_steady = False
        """Whether nobody else can change anything while it is looked at."""
        self.told: Told | None = None
        """What the log says; None when it could not be opened."""
        self.computer: Computer | None = None
        """The computer as the log gives it, never started; with the kept views where the log gives none."""
        self.shown: ShownTable | None = None
        """What the kept views remember of the folders."""
        self.areas: list[Area] = []
        self.findings: list[Finding] = []

    @property
    def is_log_whole(self) -> bool:
        """Return whether every event could be read."""
        return self.told is not None and self.told.is_whole

    def needed(self) -> Parts:
        """Return the engines; raises LeftOut when the data directory cannot be used."""
        if self.nothing_yet:
            raise LeftOut("nothing is kept here yet")
        if self.parts is None:
            raise LeftOut("the data directory cannot be used")
        return self.parts

    def steady(self) -> Parts:
        """Return the engines; raises LeftOut while somebody else changes the data."""
        parts = self.needed()
        if not self.is_steady:
            raise LeftOut("somebody else is changing the data")
        return parts

    def read(self) -> Told:
        """Return what the log says; raises LeftOut when it says nothing."""
        if self.told is None:
            raise LeftOut("the log cannot be read")
        return self.told

    def lived(self) -> Computer:
        """Return the computer as the log gives it; raises LeftOut where neither the log nor the views tell."""
        if self.computer is None:
            raise LeftOut("neither the log nor the views can be read")
        return self.computer

    def open_workspaces(self) -> list[Standing]:
        """Return every workspace that is open, and where its folder is; raises LeftOut as `lived` does."""
        computer = self.lived()
        return [
            Standing(one, computer.place(one)) for one in computer.workspaces.all() if one.state == "open"
        ]


class Measuring:
    """A store that tells the SHA-256 of what it is given and keeps nothing; it reads from a real one."""

    def __init__(self, inner: BlobStore) -> None:
        self._inner = inner

    async def put(self, chunks: AsyncIterator[bytes] | bytes) -> str:
        """Return the SHA-256."""
        # Imported here: hashing is what only a doctor does in this room.
        import hashlib  # noqa: PLC0415

        hasher = hashlib.sha256()
        if isinstance(chunks, bytes):
            hasher.update(chunks)
        else:
            async for chunk in chunks:
                hasher.update(chunk)
        return hasher.hexdigest()

    async def flush(self) -> None:
        """Do nothing: nothing was kept."""

    async def size(self, digest: str) -> int | None:
        """Return the size that the real store knows."""
        return await self._inner.size(digest)

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        """Return the content of the real store."""
        async for chunk in self._inner.read(digest):
            yield chunk

    async def delete(self, digest: str) -> None:
        """Refuse: who only looks removes nothing."""
        raise Rejected("doctor.only_looks", "Nothing is removed here.", fix="Run 'choir gc'.", digest=digest)

    def digests(self) -> AsyncIterator[str]:
        """Return what the real store holds."""
        return self._inner.digests()


def placed(entry: Entry | None) -> str:
    """Return in a few words what stands somewhere."""
    if entry is None:
        return "nothing"
    words = {
        "dir": "a directory",
        "link": f"a link to {entry.target}",
        "file": f"a file of {entry.size:,} bytes",
    }
    return words[entry.kind]


def is_there(folder: str) -> bool:
    """Return whether a folder is there."""
    return Path(folder).is_dir()


def place_of(folder: str, path: str) -> str:
    """Return the whole path of something in a folder."""
    return str(Path(folder) / path)
