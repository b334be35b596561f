"""choir write, edit, mkdir, ln, chmod, mv, rm: a person changes files through ChoirOS."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from choiros.cli.arguments import Parser, completes, event_number, mode_bits
from choiros.cli.call import Call
from choiros.cli.client import Asked, Changed, Client
from choiros.cli.place import Place
from choiros.cli.source import opened_source
from choiros.cli.verb import Verb

Change = Callable[[Client, Place], Awaitable[Changed | Asked]]


async def _change(call: Call, change: Change) -> int:
    async with call.client(write=True) as client:
        answer = await change(client, await call.place(client))
    return await call.settle(answer)


def _path(parser: Parser, sentence: str = "the file") -> None:
    completes(parser.add_argument("path", metavar="PATH", help=sentence), "file")


def _run_option(parser: Parser) -> None:
    parser.add_argument("--run", metavar="RUN", help="count it to this run, which can be undone as a whole")


def _declare_write(parser: Parser) -> None:
    _path(parser)
    source = parser.add_argument(
        "--from", dest="source", metavar="FILE", help="take the content from this file"
    )
    completes(source, "file")
    parser.add_argument("--mode", metavar="755", type=mode_bits, help="its permissions, in octal")
    parser.add_argument(
        "--base",
        metavar="SEQ",
        type=event_number,
        help="the event after which you read it; newer changes are merged",
    )
    _run_option(parser)


async def _write(call: Call) -> int:
    given = call.arguments
    # Read to its end first: nobody else should have to wait for a slow writer.
    with opened_source(given.maybe("source"), call.screen) as source:

        async def change(client: Client, place: Place) -> Changed | Asked:
            path = place.path(given.text("path"))
            mode, base = given.number("mode"), given.number("base")
            return await client.write(path, source.chunks(), mode=mode, run=given.maybe("run"), base=base)

        return await _change(call, change)


def _declare_edit(parser: Parser) -> None:
    _path(parser)
    parser.add_argument("--old", metavar="TEXT", required=True, help="the text that is there, exactly once")
    parser.add_argument("--new", metavar="TEXT", required=True, help="the text that takes its place")
    parser.add_argument("--all", action="store_true", help="replace it wherever it stands")
    _run_option(parser)


async def _edit(call: Call) -> int:
    given = call.arguments

    async def change(client: Client, place: Place) -> Changed | Asked:
        path, old, new = place.path(given.text("path")), given.text("old"), given.text("new")
        return await client.edit(path, old, new=new, everywhere=given.flag("all"), run=given.maybe("run"))

    return await _change(call, change)


def _declare_mkdir(parser: Parser) -> None:
    completes(parser.add_argument("path", metavar="PATH", help="the directory"), "directory")
    _run_option(parser)


async def _mkdir(call: Call) -> int:
    given = call.arguments
    path = given.text("path").rstrip("/") or given.text("path")
    return await _change(
        call, lambda client, place: client.make_directory(place.path(path), given.maybe("run"))
    )


def _declare_ln(parser: Parser) -> None:
    parser.add_argument(
        "target", metavar="TARGET", help="what the link says, exactly as it is to stand there"
    )
    _path(parser, "the link")
    _run_option(parser)


async def _ln(call: Call) -> int:
    given = call.arguments
    return await _change(
        call,
        lambda client, place: client.make_link(
            place.path(given.text("path")), given.text("target"), run=given.maybe("run")
        ),
    )


def _declare_chmod(parser: Parser) -> None:
    parser.add_argument(
        "mode", metavar="MODE", type=mode_bits, help="permissions in octal, such as 644 or 755"
    )
    _path(parser, "the file or directory")
    _run_option(parser)


async def _chmod(call: Call) -> int:
    given = call.arguments
    path = given.text("path").rstrip("/")
    return await _change(
        call,
        lambda client, place: client.set_mode(
            place.path(path), given.number("mode") or 0, run=given.maybe("run")
        ),
    )


def _declare_mv(parser: Parser) -> None:
    completes(parser.add_argument("path", metavar="A", help="the file or directory"), "file")
    target = parser.add_argument(
        "to", metavar="B", help="where it goes: its new path, or the directory it goes into"
    )
    completes(target, "file")
    _run_option(parser)


async def _mv(call: Call) -> int:
    given = call.arguments

    async def change(client: Client, place: Place) -> Changed | Asked:
        path = place.path(given.text("path").rstrip("/") or given.text("path"))
        return await client.move(path, place.target(given.text("to"), path), run=given.maybe("run"))

    return await _change(call, change)


def _declare_rm(parser: Parser) -> None:
    completes(parser.add_argument("paths", metavar="PATH", nargs="+", help="what to remove"), "file")
    parser.add_argument("-r", "--recursive", action="store_true", help="directories with all they hold")
    _run_option(parser)


async def _rm(call: Call) -> int:
    given = call.arguments

    async def change(client: Client, place: Place) -> Changed | Asked:
        paths = [place.path(text.rstrip("/") or text) for text in given.texts("paths")]
        return await client.remove(paths, recursive=given.flag("recursive"), run=given.maybe("run"))

    return await _change(call, change)


VERBS = {
    "write": Verb(
        "Write a whole file, from another file or from standard input.",
        ("choir write notes/today.md --from draft.md", "date | choir write notes/now.txt"),
        _write,
        _declare_write,
    ),
    "edit": Verb(
        "Replace text in a file.",
        (
            "choir edit notes/today.md --old milk --new 'oat milk'",
            "choir edit notes/today.md --old a --new b --all",
        ),
        _edit,
        _declare_edit,
    ),
    "mkdir": Verb(
        "Make a directory, and those above it.",
        ("choir mkdir notes", "choir mkdir notes/2027/may"),
        _mkdir,
        _declare_mkdir,
    ),
    "ln": Verb(
        "Make a symbolic link.",
        ("choir ln today.md notes/latest", "choir ln ../shared notes/shared"),
        _ln,
        _declare_ln,
    ),
    "chmod": Verb(
        "Set the permissions of a file or directory.",
        ("choir chmod 755 bin/backup", "choir chmod 600 notes/private.md"),
        _chmod,
        _declare_chmod,
    ),
    "mv": Verb(
        "Move or rename a file or directory.",
        ("choir mv draft.md notes/today.md", "choir mv draft.md notes/"),
        _mv,
        _declare_mv,
    ),
    "rm": Verb(
        "Remove files; nothing is lost, 'choir undo' brings them back.",
        ("choir rm notes/today.md draft.md", "choir rm -r notes"),
        _rm,
        _declare_rm,
    ),
}
