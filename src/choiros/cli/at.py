"""choir at: everything as it was right after an event; nothing can be changed there."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence

from choiros.cli.arguments import Parser, Words, WrongUsage, event_number, nearest
from choiros.cli.call import Call
from choiros.cli.exits import DONE
from choiros.cli.verb import Verb

_VIEWS = {"files": ["--at"], "cat": ["--at"], "log": ["--until"], "diff": []}


def rewritten(words: Sequence[str]) -> list[str]:
    """Return the command line that 'choir at' followed by these words stands for; raises WrongUsage."""
    seq = Words(words)
    if seq.name is None:
        raise _wrong("usage.missing", "'choir at' needs the number of an event.")
    try:
        event_number(seq.name)
    except ArgumentTypeError as error:
        raise _wrong("usage.bad_value", f"'choir at': {error}") from error
    rest = seq.rest[1:] if seq.rest[:1] == ["--"] else seq.rest
    view = Words(rest)
    name, front = view.name or "files", [*seq.front, *view.front]
    if name not in _VIEWS:
        near = nearest(name, _VIEWS)
        hint = f"Did you mean '{near}'? " if near else ""
        raise _wrong(
            "usage.unknown_verb", f"'choir at' cannot do '{name}': the past can only be looked at.", hint=hint
        )
    return [*front, name, *_VIEWS[name], seq.name, *view.rest]


def _wrong(code: str, message: str, *, hint: str = "") -> WrongUsage:
    return WrongUsage(
        code, message, fix=f"{hint}Call it so: choir at SEQ [files [DIR] | cat PATH | diff [B] | log]."
    )


def _declare(parser: Parser) -> None:
    parser.add_argument("seq", metavar="SEQ", type=event_number, help="the number of an event")
    parser.add_argument(
        "view", metavar="files|cat|diff|log", nargs="?", choices=tuple(_VIEWS), help="what to look at (files)"
    )
    parser.add_argument("words", metavar="...", nargs="*", help="its arguments")


def _run(call: Call) -> int:
    """Do nothing: `rewritten` has made another verb of it before anything runs."""
    del call
    return DONE


VERBS = {
    "at": Verb(
        "Look at everything as it was right after an event; nothing can be changed there.",
        ("choir at 120", "choir at 120 cat notes/today.md"),
        _run,
        _declare,
    )
}
