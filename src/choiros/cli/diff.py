"""choir diff: what differs between two moments."""

from __future__ import annotations

from collections.abc import Iterable

from choiros.cli.arguments import Parser, completes, event_number
from choiros.cli.call import Call
from choiros.cli.client import Difference
from choiros.cli.exits import DONE
from choiros.cli.show import Paint, Screen
from choiros.cli.verb import Verb


def show_differences(screen: Screen, differences: Iterable[Difference]) -> None:
    """Print how paths differ: their diffs, or a sentence for what has none."""
    for one in differences:
        if screen.json:
            screen.data(one)
        elif one.text:
            screen.diff(one.text if one.text.endswith("\n") else one.text + "\n")
        else:
            screen.line(Paint(in_words(one), "bold"))


def in_words(difference: Difference) -> str:
    """Return how a path differs."""
    match difference.change:
        case "moved":
            return f"moved    {difference.path} to {difference.moved_to}"
        case "mode":
            return f"mode of  {difference.path}"
        case change:
            return f"{change:<8} {difference.path}"


def _declare(parser: Parser) -> None:
    help_before = "the state right after this event (the newest checkpoint, or the beginning)"
    parser.add_argument("before", metavar="A", nargs="?", type=event_number, help=help_before)
    parser.add_argument(
        "after", metavar="B", nargs="?", type=event_number, help="the state right after this event (now)"
    )
    completes(
        parser.add_argument("--path", metavar="PATH", help="only this file, or what is below this directory"),
        "file",
    )


async def _diff(call: Call) -> int:
    before, after = call.arguments.number("before"), call.arguments.number("after")
    path = call.arguments.maybe("path")
    async with call.fresh_client() if after is None else call.client(write=False) as client:
        place = await call.place(client)
        wanted = None if path is None else place.directory(path) or None
        found = await client.diff(before, after, path=wanted)
    show_differences(call.screen, found)
    if not found:
        call.screen.note("Nothing differs.")
    return DONE


VERBS = {
    "diff": Verb(
        "Show what differs between two events, or between one and now.",
        ("choir diff 120", "choir diff 120 140 --path notes"),
        _diff,
        _declare,
    )
}
