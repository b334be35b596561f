"""choir export and import: everything of a person in one file, and from it on an empty computer."""

from __future__ import annotations

from choiros.cli.arguments import Parser, completes
from choiros.cli.call import Call
from choiros.cli.carried import Imported
from choiros.cli.direct.sentences import size
from choiros.cli.exits import DONE, FAILED
from choiros.cli.show import Paint, Screen, amount_of
from choiros.cli.verb import Verb


def _declare_export(parser: Parser) -> None:
    completes(
        parser.add_argument("file", metavar="FILE", help="the new file, outside the workspaces"), "file"
    )


async def _export(call: Call) -> int:
    with call.screen.progress() as progress:
        async with call.client(write=True) as client:
            found = await client.export(call.arguments.text("file"), progress)
    if call.screen.json:
        call.screen.data(found)
        return DONE
    events, contents = amount_of(found.seq, "event"), amount_of(found.contents, "content")
    call.screen.line(f"Wrote {events} and {contents} to {found.file} ({size(found.size_bytes)}).")
    call.screen.line(Paint(f"SHA-256 {found.sha256}", "dim"))
    return DONE


def _declare_import(parser: Parser) -> None:
    completes(
        parser.add_argument("file", metavar="FILE", help="a file that 'choir export' has written"), "file"
    )


async def _import(call: Call) -> int:
    from choiros.cli.direct.arriving import import_file

    with call.screen.progress() as progress:
        found = await import_file(call.resolved, call.arguments.text("file"), progress=progress)
    return show_imported(call.screen, found)


def show_imported(screen: Screen, found: Imported) -> int:
    """Print what was brought in, and what the person should know about it."""
    if screen.json:
        screen.data(found)
        return FAILED if found.warnings else DONE
    events, contents = amount_of(found.seq, "event"), amount_of(found.contents, "content")
    screen.line(f"Brought in {events} and {contents} of '{found.user}', each checked.")
    screen.line(f"{amount_of(found.files, 'path')} in the folders restored.")
    if found.aside is not None:
        screen.line(f"What was there before is kept in {found.aside}; remove it when you do not need it.")
    for name, folder in found.put_away.items():
        screen.note(
            Paint("put away: ", "yellow"),
            f"the workspace '{name}', whose folder is {folder}: 'choir workspaces open {name}' writes there",
        )
    if found.uncompared:
        views = ", ".join(found.uncompared)
        screen.note(f"note: another version wrote the file; not compared with it: {views}.")
    for warning in found.warnings:
        screen.note(Paint("warning: ", "yellow"), warning)
    return FAILED if found.warnings else DONE


VERBS = {
    "export": Verb(
        "Write everything of a person into one file: all events and all contents, no keys, no settings.",
        ("choir export me.tar", "choir export /media/disk/anna.tar --user anna --json"),
        _export,
        _declare_export,
    ),
    "import": Verb(
        "Bring in what 'choir export' has written, where the person has no data yet; it is checked before.",
        ("choir import me.tar", "choir import anna.tar --user anna --home /srv/choir"),
        _import,
        _declare_import,
    ),
}
