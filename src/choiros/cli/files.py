"""choir files and choir cat: what is there and what is in it, now or right after any event."""

from __future__ import annotations

import base64
import codecs
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from choiros.cli.arguments import Parser, completes, event_number
from choiros.cli.call import Call
from choiros.cli.client import Client, FileLine, FileList
from choiros.cli.exits import DONE
from choiros.cli.show import Paint, Screen
from choiros.cli.verb import Verb

_KINDS = {"file": "-", "link": "l", "dir": "d"}


def _opened(call: Call) -> AbstractAsyncContextManager[Client]:
    """Open the computer; to look at the present, edits made outside must be recorded first."""
    return call.fresh_client() if call.arguments.number("at") is None else call.client(write=False)


def _declare_files(parser: Parser) -> None:
    where = parser.add_argument(
        "directory", metavar="DIR", nargs="?", default=".", help="below which directory"
    )
    completes(where, "directory")
    parser.add_argument("--at", metavar="SEQ", type=event_number, help="as it was right after this event")
    parser.add_argument(
        "-l", "--long", action="store_true", help="with mode, size and the event that last changed it"
    )


async def _files(call: Call) -> int:
    async with _opened(call) as client:
        directory = (await call.place(client)).directory(call.arguments.text("directory"))
        found = await client.files(directory, call.arguments.number("at"))
    if call.screen.json:
        call.screen.data(found)
        return DONE
    _print_files(call.screen, found, long=call.arguments.flag("long"))
    return DONE


def _print_files(screen: Screen, found: FileList, *, long: bool) -> None:
    width = max((len(str(line.size)) for line in found.files), default=1)
    for line in found.files:
        name = line.path + ("/" if line.kind == "dir" else "")
        if long:
            details = f"{_KINDS[line.kind]} {line.mode & 0o777:03o}  {line.size:>{width}}  {line.seq:>6}  "
            screen.line(Paint(details, "dim"), name, *_target(line))
        else:
            screen.line(name)
    for path, reason in sorted(found.unkept.items()):
        screen.note(Paint("not kept: ", "yellow"), f"{path}: {reason}")
    if not found.files:
        screen.note("There are no files here.")


def _target(line: FileLine) -> list[str]:
    return [" -> ", line.target] if line.kind == "link" else []


def _declare_cat(parser: Parser) -> None:
    completes(parser.add_argument("path", metavar="PATH", help="the file"), "file")
    parser.add_argument("--at", metavar="SEQ", type=event_number, help="as it was right after this event")
    parser.add_argument(
        "--raw", action="store_true", help="do not make control characters visible on a terminal"
    )


async def _cat(call: Call) -> int:
    async with _opened(call) as client:
        path = (await call.place(client)).path(call.arguments.text("path"))
        chunks = client.cat(path, call.arguments.number("at"))
        if call.screen.json:
            call.screen.data(await _as_object(path, chunks))
        elif call.screen.is_terminal and not call.arguments.flag("raw"):
            await _print_safely(call.screen, chunks)
        else:
            async for chunk in chunks:
                call.screen.raw(chunk)
    return DONE


async def _as_object(path: str, chunks: AsyncIterator[bytes]) -> dict[str, object]:
    content = b"".join([chunk async for chunk in chunks])
    try:
        return {"path": path, "size": len(content), "text": content.decode()}
    except UnicodeDecodeError:
        return {"path": path, "size": len(content), "base64": base64.b64encode(content).decode()}


async def _print_safely(screen: Screen, chunks: AsyncIterator[bytes]) -> None:
    """Print content on a terminal: it may try to clear the screen or to type commands."""
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    last = "\n"
    async for chunk in chunks:
        text = decoder.decode(chunk)
        screen.text(text)
        last = text[-1:] or last
    rest = decoder.decode(b"", final=True)
    screen.text(rest)
    if (rest[-1:] or last) != "\n":
        screen.text("\n")


VERBS = {
    "files": Verb(
        "List the files below a directory, now or as they were.",
        ("choir files -l", "choir files notes --at 120"),
        _files,
        _declare_files,
    ),
    "cat": Verb(
        "Print a file, now or as it was; a link prints its target.",
        ("choir cat notes/today.md", "choir cat notes/today.md --at 120 > old.md"),
        _cat,
        _declare_cat,
    ),
}
