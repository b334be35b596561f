"""The port to a folder: how the files of one workspace look on the outside, and the only way to change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from choiros.kernel.blob import BlobStore

Kind = Literal["file", "link", "dir"]


class Entry(Struct, frozen=True, omit_defaults=True):
    """What stands at a path: a file with its content's digest, a link with its target, or a directory.

    `mode` holds the nine permission bits; it is 0o777 for a link. `size` is that of the content in bytes.
    """

    kind: Kind
    mode: int
    size: int = 0
    content: str = ""
    target: str = ""


class Stat(Struct, frozen=True):
    """How a path looks without reading it; equal stats mean that nothing was written in between."""

    kind: Kind | Literal["other"]
    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Step(Struct, frozen=True):
    """One wish for a path: what shall stand there (None: nothing), and how it must look before.

    `expect` is the look at the time the wish was decided, None for nothing there.
    """

    path: str
    entry: Entry | None
    expect: Stat | None


class Done(Struct, frozen=True):
    """What became of a step: `stat` is the look afterwards, None for nothing there.

    `diverged` is empty when it was carried out, else it says in one sentence why it was not: somebody else had
    changed the path in the meantime, and what they wrote is untouched.
    """

    path: str
    stat: Stat | None
    diverged: str = ""


class Tree(Protocol):
    """One workspace's folder.

    Paths are relative, `/`-separated, valid by `choiros.kernel.path`. No call ever follows a symbolic link or
    leaves the folder, also when a parent directory is swapped for a link in the middle of a call.
    """

    async def scan(self, skip: Callable[[str, bool], bool]) -> tuple[dict[str, Stat], dict[str, str]]:
        """Return the look of everything below the folder, and why some of it cannot be kept.

        `skip(path, is_directory)` says what to leave out; a directory that is skipped is not entered. The second
        mapping names, by a printable form of the path, what cannot be kept (a name that is not UTF-8, a socket, a
        device, an unreadable file) with the reason in one sentence.
        """
        ...

    async def look(self, paths: Iterable[str]) -> dict[str, Stat | None]:
        """Return how each of these paths looks, None for nothing there (or for no way to it but a link)."""
        ...

    async def take(self, path: str, blobs: BlobStore) -> tuple[Entry, Stat]:
        """Read what stands at the path, put a file's content into the store, and return both its forms.

        Raises Conflict (`tree.changing`) when it changes while it is read, Rejected (`tree.not_found`,
        `tree.not_kept`, `blob.too_large`) when it cannot be taken.
        """
        ...

    async def apply(self, steps: Sequence[Step], blobs: BlobStore) -> Mapping[str, Done]:
        """Carry out the steps, each at once or not at all, and return what became of each.

        The steps may be in any order: removals are done first and from the deepest, directories before what
        they hold. A step whose wish is fulfilled already is done. A directory that still holds something is
        kept and reported as diverged. What was carried out is on disk when the call returns.
        """
        ...

    async def sweep(self) -> int:
        """Remove temporary files that a crash left and return how many there were."""
        ...
