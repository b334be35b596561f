"""One line on a terminal that tells how far a long piece of work has come; nothing anywhere else."""

from __future__ import annotations

import time
from typing import TextIO

PAUSE_S = 0.1
FIRST_S = 0.5
"""What takes less long needs no line."""


class ProgressLine:
    """Shows what is done of how much, in place, and takes itself away at the end."""

    def __init__(self, stream: TextIO, *, shown: bool) -> None:
        self._stream = stream
        self._shown = shown and stream.isatty()
        self._next = time.monotonic() + FIRST_S
        self._width = 0

    def __call__(self, what: str, done: int, of: int) -> None:  # noqa: PLR0917 - called by position
        """Tell how far it has come."""
        if not self._shown or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PAUSE_S
        share = f" {100 * done // of:>3} %" if of > 0 else ""
        amount = f" ({done:,} of {of:,})" if of > 1 else ""
        self._write(f"{what}{share}{amount}")

    def end(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()
            self._width = 0

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text:<{self._width}}")
        self._stream.flush()
        self._width = len(text)
