"""choir undo and choir redo: take something back, and bring it back; always with a preview."""

from __future__ import annotations

from argparse import ArgumentTypeError

from choiros.cli.arguments import Arguments, Parser, WrongUsage, event_number
from choiros.cli.call import Call
from choiros.cli.client import Client, UndoPreview
from choiros.cli.confirm import Plan, carry_out, declare_confirmation
from choiros.cli.log import show_line
from choiros.cli.show import Colour, Paint, Screen, amount_of
from choiros.cli.verb import Verb
from choiros.kernel.errors import ChoirError, Conflict

_WORDS = {"added": "restore", "removed": "remove", "changed": "change", "mode": "set mode", "moved": "move"}
_COLOURS: dict[str, Colour] = {"removed": "red", "added": "green"}
EVENTS_SHOWN = 10
FILES_SHOWN = 40
OBSTACLES_NAMED = 3


def show_preview(screen: Screen, preview: UndoPreview) -> None:
    """Print what would be taken back, which files change, what stays for ever, and what is in the way."""
    what = amount_of(len(preview.events), "event")
    redo = f"This brings back what event {preview.name} took, by taking back {what}:"
    screen.line(Paint(redo if preview.target == "redo" else f"This takes back {what}:", "bold"))
    for line in preview.events[-EVENTS_SHOWN:]:
        show_line(screen, line)
    if len(preview.events) > EVENTS_SHOWN:
        screen.line(f"        and {len(preview.events) - EVENTS_SHOWN} before these")
    show_files(screen, preview)
    if preview.irreversible:
        screen.line(Paint("This cannot be taken back and stays as it is:", "yellow"))
    for line in preview.irreversible:
        show_line(screen, line)
    for note in preview.notes:
        screen.line(Paint("note: ", "yellow"), note)
    for obstacle in preview.obstacles:
        screen.line(Paint("in the way: ", "red"), obstacle)


def show_files(screen: Screen, preview: UndoPreview) -> None:
    """Print which files would be restored, removed or changed."""
    if preview.changes:
        screen.line(Paint("These files would change:", "bold"))
    for one in preview.changes[:FILES_SHOWN]:
        words = f"  {_WORDS[one.change]:<9} "
        target = f" to {one.moved_to}" if one.moved_to else ""
        screen.row(Paint(words, _COLOURS.get(one.change, "cyan")), one.path + target)
    if len(preview.changes) > FILES_SHOWN:
        left = amount_of(len(preview.changes) - FILES_SHOWN, "more file")
        screen.line(f"  and {left}; --preview --json shows all of them")


def _obstacle(preview: UndoPreview) -> ChoirError | None:
    if not preview.obstacles:
        return None
    named = "; ".join(preview.obstacles[:OBSTACLES_NAMED])
    left = len(preview.obstacles) - OBSTACLES_NAMED
    more = f"; and {left} more" if left > 0 else ""
    return Conflict(
        "undo.conflict",
        f"It cannot be taken back without losing newer changes: {named}{more}.",
        fix="Undo the newer changes first, or leave these files as they are: --except PATH.",
        places=list(preview.obstacles),
    )


def _declare_undo(parser: Parser) -> None:
    parser.add_argument(
        "target",
        metavar="RUN|SEQ",
        nargs="?",
        help="which run or event (the newest change); what came later is kept",
    )
    parser.add_argument("--run", metavar="RUN", help="a run whose name looks like a number")
    parser.add_argument("--to", metavar="SEQ", type=event_number, help="everything after this event")
    _declare_exceptions(parser)
    declare_confirmation(parser)


def _declare_exceptions(parser: Parser) -> None:
    parser.add_argument(
        "--except",
        dest="leave",
        metavar="PATH",
        nargs="+",
        action="extend",
        help="leave these files as they are",
    )


def _wanted(given: Arguments) -> tuple[str | None, int | None, int | None]:
    """Return the run, the event, or the event after which all is meant."""
    target, run, since = given.maybe("target"), given.maybe("run"), given.number("to")
    if sum(one is not None for one in (target, run, since)) > 1:
        raise WrongUsage(
            "usage.too_much",
            "'choir undo' takes back one thing: a run, an event, or everything after an event.",
            fix="Name only one of RUN, SEQ, --run RUN and --to SEQ.",
        )
    if target is not None and target.isascii() and target.isdecimal():
        return None, _event(target), None
    return target if run is None else run, None, since


def _event(target: str) -> int:
    try:
        return event_number(target)
    except ArgumentTypeError as error:
        fix = "If it is the name of a run: choir undo --run RUN."
        raise WrongUsage("usage.bad_value", f"'choir undo': {error}", fix=fix) from error


async def _undo(call: Call) -> int:
    run, seq, since = _wanted(call.arguments)
    leave = await _left(call)

    async def preview(client: Client) -> UndoPreview:
        await call.place(client)
        return await client.preview_undo(run=run, seq=seq, since=since, leave=leave)

    plan = Plan[UndoPreview](
        preview=preview,
        show=show_preview,
        obstacle=_obstacle,
        act=lambda client: client.undo(run=run, seq=seq, since=since, leave=leave),
        question="Take this back?",
    )
    return await carry_out(call, plan)


async def _redo(call: Call) -> int:
    leave = await _left(call)

    async def preview(client: Client) -> UndoPreview:
        await call.place(client)
        return await client.preview_redo(leave)

    plan = Plan[UndoPreview](
        preview=preview,
        show=show_preview,
        obstacle=_obstacle,
        act=lambda client: client.redo(leave),
        question="Bring this back?",
    )
    return await carry_out(call, plan)


async def _left(call: Call) -> list[str]:
    """Return the paths that are to stay as they are."""
    names = call.arguments.texts("leave")
    if not names:
        return []
    async with call.client(write=False) as client:
        place = await call.place(client)
    return [place.path(name.rstrip("/") or name) for name in names]


def _declare_redo(parser: Parser) -> None:
    _declare_exceptions(parser)
    declare_confirmation(parser)


VERBS = {
    "undo": Verb(
        "Take back the newest change, a run, an event, or everything after one, after a preview.",
        ("choir undo --preview", "choir undo 120 --except notes/today.md --yes"),
        _undo,
        _declare_undo,
    ),
    "redo": Verb(
        "Bring back what the newest undo took.",
        ("choir redo --preview", "choir redo --yes"),
        _redo,
        _declare_redo,
    ),
}
