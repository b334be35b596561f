"""A data directory on disk, and the direct client opened on it once for each act, as the command line does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from choiros.cli.client import Asked, Changed, FileList
from choiros.cli.direct import DirectClient, connect
from choiros.settings import resolve

T = TypeVar("T")


async def pieces(content: bytes) -> AsyncIterator[bytes]:
    """Yield the content in two pieces, so that nothing relies on one."""
    middle = len(content) // 2
    yield content[:middle]
    yield content[middle:]


@dataclass
class Home:
    """One data directory; `workspace` is what the command line was told."""

    path: Path
    flags: dict[str, str]
    workspace: str | None = None

    @property
    def folder(self) -> Path:
        """Return the folder of the first workspace."""
        return self.path / "users" / "me" / "workspace"

    def do(self, act: Callable[[DirectClient], Awaitable[T]], *, write: bool = True) -> T:
        """Open the client, act, and close it."""

        async def session() -> T:
            resolved = resolve({"home": str(self.path), **self.flags}, {})
            client = await connect(resolved, workspace=self.workspace, write=write)
            try:
                return await act(client)
            finally:
                await client.close()

        return asyncio.run(session())

    def write(self, path: str, content: bytes, *, run: str | None = None, base: int | None = None) -> Changed:
        """Write a file."""
        return changed(
            self.do(lambda client: client.write(path, pieces(content), mode=None, run=run, base=base))
        )

    def read(self, path: str, at: int | None = None) -> bytes:
        """Return a file as the client gives it."""

        async def whole(client: DirectClient) -> bytes:
            return b"".join([chunk async for chunk in client.cat(path, at)])

        return self.do(whole)

    def files(self, at: int | None = None) -> FileList:
        """Return everything that stands in the workspace."""
        return self.do(lambda client: client.files("", at))

    def paths(self, at: int | None = None) -> list[str]:
        """Return the paths of everything that stands in the workspace."""
        return [line.path for line in self.files(at).files]

    def undo(self, *, seq: int | None = None, since: int | None = None, run: str | None = None) -> Changed:
        """Take something back."""
        return changed(self.do(lambda client: client.undo(run=run, seq=seq, since=since, leave=())))


def changed(outcome: Changed | Asked) -> Changed:
    """Return the outcome of a wish that nobody had to be asked about."""
    assert isinstance(outcome, Changed)
    return outcome
