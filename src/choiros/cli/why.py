"""choir why: who wrote each line of a file, when, in which run, and because of what."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from choiros.cli.arguments import NUMBER_DIGITS_MAX, Parser, completes
from choiros.cli.call import Call
from choiros.cli.client import Blamed, Client, EventDetail, EventLine, Why
from choiros.cli.exits import DONE
from choiros.cli.log import WHO, show_detail, show_line
from choiros.cli.show import Paint, Screen, day
from choiros.cli.verb import Verb
from choiros.kernel.errors import Rejected

LETTERS = {"agent": "a", "user": "u", "system": "s"}
TAB = 4


def _declare(parser: Parser) -> None:
    where = parser.add_argument("place", metavar="PATH[:LINE]", help="the file, or one line of it")
    completes(where, "file")


class LineStory(Struct, frozen=True):
    """One line of a file with the event that introduced it."""

    path: str
    line: Blamed
    event: EventDetail | None


async def _why(call: Call) -> int:
    async with call.fresh_client() as client:
        path, number = split(call.arguments.text("place"))
        found = await client.why((await call.place(client)).path(path))
        if number is None:
            _print_all(call.screen, found)
        else:
            _print_one(call.screen, await _story(client, found, number=number))
    return DONE


def split(text: str) -> tuple[str, int | None]:
    """Return the path and, where it ends in ':' and digits, the number of the line."""
    path, colon, number = text.rpartition(":")
    is_number = number.isascii() and number.isdecimal() and len(number) <= NUMBER_DIGITS_MAX
    if colon and path and is_number:
        return path, int(number)
    return text, None


async def _story(client: Client, found: Why, *, number: int) -> LineStory:
    if not 0 < number <= len(found.lines):
        fix = (
            f"Name a line from 1 to {len(found.lines)}."
            if found.lines
            else "'choir why PATH' shows its changes."
        )
        raise Rejected("why.no_line", f"{found.path} has no line {number}.", fix=fix, path=found.path)
    line = found.lines[number - 1]
    return LineStory(found.path, line, await client.show(line.seq) if line.seq else None)


def _print_one(screen: Screen, story: LineStory) -> None:
    if screen.json:
        screen.data(story)
        return
    screen.line(Paint(f"{story.path}:{story.line.number}  ", "dim"), story.line.text.expandtabs(TAB))
    if story.event is None:
        screen.line("History does not tell who wrote this line.")
        return
    show_detail(screen, replace(story.event, diff=""))


def _print_all(screen: Screen, found: Why) -> None:
    if screen.json:
        screen.data(found)
        return
    width = len(str(max((line.seq for line in found.lines), default=0)))
    digits = len(str(len(found.lines)))
    for line in found.lines:
        gutter = _gutter(found.events.get(line.seq), line.seq, width=width)
        screen.row(gutter, Paint(f" {line.number:>{digits}} | ", "dim"), line.text.expandtabs(TAB))
    if found.lines:
        screen.line()
        screen.line(Paint("a agent, u person, s system, ? unknown. The events these lines come from:", "dim"))
    named = {line.seq for line in found.lines}
    events = (
        [one for seq, one in sorted(found.events.items()) if seq in named] if found.lines else found.history
    )
    for event in events:
        show_line(screen, event)
        cause = found.causes.get(event.seq)
        if cause is not None:
            screen.row(Paint(f"        because of {cause.seq}: ", "dim"), cause.sentence)


def _gutter(event: EventLine | None, seq: int, *, width: int) -> Paint:
    if event is None:
        return Paint(f"? {'':>{width}} {'':<10}", "dim")
    letter = LETTERS.get(event.source, "?")
    return Paint(f"{letter} {seq:>{width}} {day(event.timestamp)}", WHO.get(event.source, "dim"))


VERBS = {
    "why": Verb(
        "Tell who wrote each line of a file, when, in which run, and because of what.",
        ("choir why notes/today.md", "choir why notes/today.md:3"),
        _why,
        _declare,
    )
}
