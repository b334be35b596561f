"""How a commit of ours is worded, and how it is told from one that somebody made by hand."""

from __future__ import annotations

import re

TRAILER = "Choir-Seq: "
COMMITTER = "ChoirOS <choiros@localhost>"
"""Git replaces the committer when a person amends or rebases, so a copied trailer is not taken for ours."""

_trailer_line = re.compile(r"[A-Za-z0-9-]+: .")
_author = re.compile(r"\s*(?P<name>[^<>]*?)\s*<(?P<mail>[^<>\s]*)>\s*")


def message_with_seq(message: str, seq: int) -> str:
    """Return the message as it is stored: without blank edges, with the event number as its last line."""
    text = _storable(message).strip()
    *before, last = text.split("\n\n")
    ends_in_trailers = bool(before) and all(_trailer_line.match(line) for line in last.splitlines())
    gap = "" if not text else "\n" if ends_in_trailers else "\n\n"
    return f"{text}{gap}{TRAILER}{seq}\n"


def message_and_seq(stored: str, committer: str) -> tuple[str, int | None]:
    """Return the message as it was given, and the event number if the commit is one of ours."""
    text = stored.strip()
    rest, _, last = text.rpartition("\n")
    number = last.removeprefix(TRAILER)
    if committer != COMMITTER or number == last or not (number.isascii() and number.isdecimal()):
        return text, None
    return rest.strip(), int(number)


def signed(author: str) -> str:
    """Return the author as `name <mail>`, free of everything that would end the line or the name."""
    found = _author.fullmatch(_storable(author).replace("\n", " "))
    if found:
        return f"{found['name'] or 'unknown'} <{found['mail']}>"
    name = re.sub(r"[<>\s]+", " ", _storable(author)).strip()
    return f"{name or 'unknown'} <>"


def shown(name: str, mail: str) -> str:
    """Return an author as it is listed."""
    return f"{name} <{mail}>" if mail else name


def _storable(text: str) -> str:
    plain = text.replace("\r\n", "\n").replace("\x00", "")
    return plain.encode("utf-8", "replace").decode()
