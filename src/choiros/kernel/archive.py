"""The port to an archive: one file that holds others under plain names, to be carried elsewhere."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from msgspec import Struct

NAME_MAX = 100
_name = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")


class Part(NamedTuple):
    """One of the files that an archive holds; its chunks together are `size` bytes."""

    name: str
    size: int
    chunks: AsyncIterator[bytes]


class Written(Struct, frozen=True):
    """An archive that is complete and on disk; `sha256` is that of the whole file."""

    size_bytes: int
    sha256: str


class Archive(Protocol):
    """One file, written once and read from its beginning to its end, in constant memory both ways."""

    async def write(self, parts: AsyncIterator[Part]) -> Written:
        """Write all parts in this order; the file appears under its name when it is complete and on disk.

        Raises Rejected (`archive.exists`) when something has this name already, Unavailable
        (`archive.unavailable`) when it cannot be written, and whatever reading the parts raises; then no trace
        is left.
        """
        ...

    def read(self) -> AsyncIterator[Part]:
        """Return the parts in their order; the chunks of one are to be read before the next is asked for.

        Raises Rejected (`archive.not_found`) when there is no such file, and Corrupt (`archive.cut`,
        `archive.damaged`), naming the byte, as soon as one is met that no `write` of this engine would have
        put there. Only when the iteration has come to its end is the archive known to be whole.
        """
        ...


def is_part_name(name: str) -> bool:
    """Return whether a part may have this name: lower case, relative, nothing that leads elsewhere."""
    return len(name) <= NAME_MAX and _name.fullmatch(name) is not None
