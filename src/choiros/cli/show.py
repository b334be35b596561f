"""How things are printed: plain lines for people, JSON for programs, nothing that a terminal would obey."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
import unicodedata
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO

import msgspec
from msgspec import Struct

from choiros.cli.progress import ProgressLine
from choiros.features.files.diff import printable

if TYPE_CHECKING:
    from choiros.kernel.errors import ChoirError

Colour = Literal["bold", "dim", "red", "green", "yellow", "cyan"]

_CODES: dict[Colour, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_CONTROLS = re.compile("[^\x20-\x7e]")
_DIFF_COLOURS: dict[str, Colour] = {"+": "green", "-": "red", "@": "cyan"}
ELLIPSIS = "..."
WIDTH_MIN = 60


class Paint(NamedTuple):
    """Text in a colour, where colours are shown."""

    text: str
    colour: Colour


Part = str | Paint


def one_line(text: str) -> str:
    """Return foreign text as one line in which nothing is hidden."""
    return printable(text).replace("\t", "\\t").replace("\n", "\\n")


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1


def cut(text: str, width: int) -> str:
    """Return a text that takes at most this many columns; what is cut off is shown as dots."""
    if columns(text) <= width:
        return text
    room, place = width - len(ELLIPSIS), 0
    if room <= 0:
        return ELLIPSIS[: max(width, 0)]
    while room >= (step := _columns(text[place])):
        room, place = room - step, place + 1
    return text[:place] + ELLIPSIS


def moment(timestamp: int) -> str:
    """Return a time as people read it: local, to the minute."""
    return _formatted(timestamp, "%Y-%m-%d %H:%M")


def day(timestamp: int) -> str:
    """Return the local day of a time."""
    return _formatted(timestamp, "%Y-%m-%d")


def instant(timestamp: int) -> str:
    """Return a time with its seconds and its distance from universal time."""
    return _formatted(timestamp, "%Y-%m-%d %H:%M:%S %z")


def _formatted(timestamp: int, form: str) -> str:
    try:
        return time.strftime(form, time.localtime(timestamp / 1000))
    except (OverflowError, ValueError, OSError):
        return "unknown time"


def amount_of(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def as_json(value: object) -> str:
    """Return a value as one line of JSON in which invisible characters are escaped."""
    text = msgspec.json.encode(value).decode()
    return _CONTROLS.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    letter = match[0]
    if letter.isprintable() and printable(letter) == letter:
        return letter
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


@contextlib.contextmanager
def _written() -> Generator[None]:
    """Tell a full disk behind the output from one behind the data; raises Unavailable (`output.failed`)."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        from choiros.cli.errors import unwritable

        raise unwritable(error) from error


class Screen:
    """Where a call prints, and how."""

    def __init__(
        self, out: TextIO, err: TextIO, *, keys: TextIO | None, json: bool = False, colour: bool = False
    ) -> None:
        self._out = out
        self._err = err
        self.keys = keys
        """What the person types, or what is piped in; None in a process without it."""
        self.json = json
        self.colour = colour
        self.is_terminal = out.isatty()
        self.asks = self.is_terminal and not json and keys is not None and keys.isatty()
        """Whether there is somebody who can answer."""

    def line(self, *parts: Part) -> None:
        """Print one line for people."""
        self._put("".join(map(self._shown, parts)) + "\n")

    def row(self, *parts: Part, tail: Sequence[Part] = ()) -> None:
        """Print one line of a table: on a terminal it is cut to the width, in front of its tail.

        On a narrow terminal it is wrapped instead: what is cut off there would be the very thing it tells.
        """
        width = shutil.get_terminal_size().columns
        if not self.is_terminal or width < WIDTH_MIN:
            self.line(*parts, *tail)
            return
        room = width - sum(columns(_plain(one)) for one in tail)
        fitting: list[Part] = []
        for part in parts:
            short = cut(one_line(_plain(part)), room)
            room -= columns(short)
            fitting.append(short if isinstance(part, str) else Paint(short, part.colour))
        self.line(*fitting, *tail)

    def fields(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print named values below each other."""
        known = list(pairs)
        width = max((len(name) for name, _ in known), default=0)
        for name, value in known:
            self.line(Paint(f"{name:<{width}}", "dim"), "  ", value)

    def diff(self, text: str) -> None:
        """Print a unified diff: safe and coloured on a terminal, exact into a pipe."""
        if not self.is_terminal:
            self._put(text)
            return
        for line in text.splitlines():
            colour: Colour | None = "bold" if _is_file_line(line) else _DIFF_COLOURS.get(line[:1])
            shown = printable(line)
            self._put((self._painted(shown, colour) if colour else shown) + "\n")

    def text(self, text: str) -> None:
        """Print foreign text with its lines; on a terminal nothing in it is hidden or obeyed."""
        self._put(printable(text) if self.is_terminal else text)

    def raw(self, chunk: bytes) -> None:
        """Print bytes as they are."""
        with _written():
            self._out.flush()
            self._out.buffer.write(chunk)
            self._out.buffer.flush()

    def data(self, value: Struct | dict[str, object]) -> None:
        """Print one line of JSON."""
        self._put(as_json(value) + "\n")

    def note(self, *parts: Part) -> None:
        """Tell a person something that is not the answer itself; programs that want JSON are not bothered."""
        if not self.json:
            self._err.write("".join(map(self._shown, parts)) + "\n")

    def trouble(self, error: ChoirError, exit_code: int, *, extra: dict[str, object] | None = None) -> None:
        """Print an error: three short lines, or one object that holds the exit code as well."""
        if self.json:
            self.data({**(extra or {}), "error": error.as_dict(), "exit": exit_code})
            return
        # What was printed before comes first, if it can be printed at all.
        with contextlib.suppress(OSError):
            self._out.flush()
        lines = (Paint(error.message, "red"), f"fix: {error.fix}", Paint(f"code: {error.code}", "dim"))
        self._err.write("".join(self._shown(line) + "\n" for line in lines))

    def ask(self, question: str) -> str | None:
        """Return what the person answers, in lower case; None when nobody is there, or nobody any more."""
        if not self.asks or self.keys is None:
            return None
        self._put(f"{one_line(question)} ")
        self.flush()
        answer = self.keys.readline()
        if not answer:
            self._put("\n")
            return None
        return answer.strip().lower()

    @contextlib.contextmanager
    def progress(self) -> Generator[ProgressLine]:
        """Tell for a while how far a long piece of work has come, where somebody looks on."""
        line = ProgressLine(self._err, shown=not self.json)
        try:
            yield line
        finally:
            line.end()

    def flush(self) -> None:
        """Let everything that was printed be seen."""
        with _written():
            self._out.flush()

    def _put(self, text: str) -> None:
        with _written():
            self._out.write(text)

    def _shown(self, part: Part) -> str:
        text = one_line(_plain(part))
        return text if isinstance(part, str) else self._painted(text, part.colour)

    def _painted(self, text: str, colour: Colour) -> str:
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.colour and text else text


def _plain(part: Part) -> str:
    return part if isinstance(part, str) else part.text


def _is_file_line(line: str) -> bool:
    return line.startswith(("--- ", "+++ ", "diff --git "))
