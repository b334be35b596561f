"""Where new content comes from: a file, or standard input, which is read to its end first."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from choiros.cli.show import Screen
from choiros.kernel.errors import Rejected

CHUNK = 1 << 20
MEMORY_BYTES_MAX = 8 << 20


class Source:
    """Content that can be read in pieces."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the content."""
        self._stream.seek(0)
        while chunk := self._stream.read(CHUNK):
            yield chunk


@contextmanager
def opened_source(name: str | None, screen: Screen) -> Generator[Source]:
    """Open a file, or standard input for None and '-'; raises Rejected (`write.*`)."""
    if name not in {None, "-"}:
        with _opened(Path(name or "")) as stream:
            yield from _readable(stream)
        return
    if screen.keys is None:
        raise Rejected("write.no_input", "There is no standard input.", fix="Name a file: --from FILE.")
    if screen.keys.isatty():
        screen.note("Type the content. Ctrl-D on an empty line ends it, Ctrl-C gives up.")
    yield from _spooled(screen.keys.buffer)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise Rejected(
            "write.no_source",
            f"'{path}' cannot be read: {error.strerror}.",
            fix="Name a file that you may read, or pipe the content in.",
            file=str(path),
        ) from error


def _readable(stream: BinaryIO) -> Iterator[Source]:
    """Yield a file that keeps its content while it is read; a pipe is read to its end first."""
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        yield Source(stream)
    else:
        yield from _spooled(stream)


def _spooled(stream: BinaryIO) -> Iterator[Source]:
    with SpooledTemporaryFile(MEMORY_BYTES_MAX) as spool:
        # One system call at a time: on a terminal the first Ctrl-D must end it.
        while chunk := cast("BufferedReader", stream).read1(CHUNK):
            spool.write(chunk)
        yield Source(cast("BinaryIO", spool))
