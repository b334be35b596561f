"""An archive in memory; for tests."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

from choiros.kernel.archive import Part, Written, is_part_name
from choiros.kernel.errors import Corrupt, Rejected


class MemoryArchive:
    """Keeps the parts in a list, None before they are written."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, bytes]] | None = None

    async def write(self, parts: AsyncIterator[Part]) -> Written:
        """Take all parts, or none."""
        if self.parts is not None:
            raise Rejected(
                "archive.exists",
                "There is an archive already.",
                fix="Choose another name, or remove that one first.",
            )
        taken: list[tuple[str, bytes]] = []
        async for name, size, chunks in parts:
            assert is_part_name(name), f"{name} cannot be the name of a part"
            content = b"".join([chunk async for chunk in chunks])
            if len(content) != size:
                raise Corrupt(
                    "archive.changed",
                    f"{name} has {len(content)} bytes instead of {size}.",
                    fix="Nothing was written. Check the disk, then try again.",
                    part=name,
                )
            taken.append((name, content))
        self.parts = taken
        whole = b"".join(name.encode() + b"\x00" + content for name, content in taken)
        return Written(len(whole), hashlib.sha256(whole).hexdigest())

    async def read(self) -> AsyncIterator[Part]:
        """Return the parts in their order."""
        if self.parts is None:
            raise Rejected("archive.not_found", "There is no archive.", fix="Name one that exists.")
        for name, content in self.parts:
            yield Part(name, len(content), _pieces(content))


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 1 << 20):
        yield content[start : start + (1 << 20)]
