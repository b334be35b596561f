"""One line of a .gitignore as a question about a path, answered in linear time.

The meaning is git's: the tests ask `git check-ignore`. The time matters because an agent may write both the
pattern and the name, and a star that tries every possibility, as in most translations to regular expressions,
lets a pattern of twelve letters stop the merger. Here each star but the last takes the first fit and never
looks back, which for such patterns is always enough.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

PATTERN_SIZE_MAX = 1000

_STARS = re.compile(r"\*+")
_ANY_DEPTH = re.compile(r"\*{2,}")
_MEMBER = re.compile(
    r"\[:(?P<kind>[^\]\[:]*):\]"
    r"|(?:\\(?P<escaped>.)|(?P<char>.))(?:-(?:\\(?P<escaped_end>.)|(?P<end>[^\]])))?",
    re.DOTALL,
)
_KINDS = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class PatternError(ValueError):
    """The line cannot be read; the message says why, as the end of a sentence about it."""


class Pattern(NamedTuple):
    """A line that says something: about which paths, and what.

    `regex` must match all of the last name of a path, or, if `whole`, all of the path. `name`, `start` and
    `end` are what is plain text about the last name: most patterns are passed over by them, not by `regex`.
    """

    regex: str
    whole: bool
    negated: bool
    directory_only: bool
    name: str | None = None
    start: str = ""
    end: str = ""


class _Char(NamedTuple):
    """One place of a name: the expression for it, and the character when only one fits."""

    regex: str
    plain: str | None = None


class _Glob(NamedTuple):
    """One name of a pattern: what stands between its stars."""

    pieces: list[list[_Char]]

    def regex(self) -> str:
        first, *rest = ("".join(char.regex for char in piece) for piece in self.pieces)
        if not rest:
            return first
        *middle, last = rest
        return first + "".join(f"(?>[^/]*?{piece})" for piece in middle) + "[^/]*" + last

    def plain(self, piece: int) -> str | None:
        chars = [char.plain for char in self.pieces[piece]]
        return None if None in chars else "".join(char or "" for char in chars)


def parse(line: str) -> Pattern | None:
    """Return what a line says, None for an empty one or a comment; raises PatternError if unreadable."""
    text = _without_trailing_blanks(line)
    if not text or text.startswith("#"):
        return None
    if len(text) > PATTERN_SIZE_MAX:
        raise PatternError(f"is longer than {PATTERN_SIZE_MAX} characters")
    if re.search("[\x00\ud800-\udfff]", text):
        raise PatternError("holds a character that no path can hold")
    negated = text.startswith("!")
    text = text[1:] if negated else text
    directory_only = text.endswith("/")
    text = text[:-1] if directory_only else text
    whole = "/" in text
    names = text.removeprefix("/").split("/")
    if "" in names:
        raise PatternError("names nothing" if names == [""] else "has two slashes in a row")
    globs = [None if whole and _ANY_DEPTH.fullmatch(name) else _read(name) for name in names]
    return _described(globs, Pattern("", whole, negated, directory_only))


def _described(globs: list[_Glob | None], pattern: Pattern) -> Pattern:
    """Return the pattern with its expression, and with what is plain about the last name."""
    last = globs[-1]
    if last is None:
        return pattern._replace(regex=_path_regex(globs))
    regex = _path_regex(globs) if pattern.whole else last.regex()
    if len(last.pieces) == 1:
        return pattern._replace(regex=regex, name=last.plain(0))
    return pattern._replace(regex=regex, start=last.plain(0) or "", end=last.plain(-1) or "")


def _path_regex(globs: list[_Glob | None]) -> str:
    """Return the expression for a whole path; None stands for directories to any depth."""
    groups = ["/".join(glob.regex() for glob in group if glob) for _, group in groupby(globs, bool)]
    leading = "(?:[^/]++/)*"
    regex = ""
    for number, group in enumerate(groups):
        is_last = number == len(groups) - 1
        if not group:
            regex += ".+" if is_last else ""
        elif number == 0:
            regex += group if is_last else group + "/"
        else:
            regex += leading + group if is_last else f"(?>(?:[^/]++/)*?{group}/)"
    return regex


def _read(name: str) -> _Glob:
    """Take a name of a pattern apart at its stars; raise PatternError when it cannot be read."""
    pieces: list[list[_Char]] = [[]]
    at = 0
    while at < len(name):
        if stars := _STARS.match(name, at):
            pieces.append([])
            at = stars.end()
        else:
            char, at = _read_char(name, at)
            pieces[-1].append(char)
    return _Glob(pieces)


def _read_char(name: str, at: int) -> tuple[_Char, int]:
    """Return what stands at this place of a name, and the place after it."""
    match name[at]:
        case "?":
            return _Char("[^/]"), at + 1
        case "[":
            return _read_set(name, at + 1)
        case "\\":
            if at + 1 == len(name):
                raise PatternError("ends with a backslash that escapes nothing")
            return _literal(name[at + 1]), at + 2
        case char:
            return _literal(char), at + 1


def _read_set(name: str, at: int) -> tuple[_Char, int]:
    """Return the set of characters whose '[' stands before this place, and the place after its ']'."""
    negated = name[at : at + 1] in {"!", "^"}
    at += negated
    members: list[str] = []
    while not members or name[at : at + 1] != "]":
        member = _MEMBER.match(name, at)
        if member is None:
            raise PatternError("opens a '[' that it never closes")
        members.append(_read_member(member))
        at = member.end()
    return _Char(f"(?!/)[{'^' if negated else ''}{''.join(members)}]"), at + 1


def _read_member(member: re.Match[str]) -> str:
    kind = member["kind"]
    if kind is not None:
        if kind not in _KINDS:
            raise PatternError(f"names a kind of character that does not exist, '{kind}'")
        return _KINDS[kind]
    first = member["escaped"] or member["char"]
    last = member["escaped_end"] or member["end"] or first
    if last < first:
        raise PatternError(f"has a range that runs backwards, '{first}-{last}'")
    return f"{_literal(first).regex}-{_literal(last).regex}"


def _literal(char: str) -> _Char:
    return _Char("\\" + char if char.isascii() and not char.isalnum() else char, char)


def _without_trailing_blanks(line: str) -> str:
    """Return the line without the blanks at its end, but with the first of them when it is escaped."""
    text = line.rstrip(" ")
    escapes = len(text) - len(text.rstrip("\\"))
    return text + " " if escapes % 2 and text != line else text
