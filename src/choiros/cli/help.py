"""choir help: the overview, or all about one verb."""

from __future__ import annotations

from choiros import __version__
from choiros.cli.arguments import Parser
from choiros.cli.call import Call
from choiros.cli.exits import DONE
from choiros.cli.show import Screen
from choiros.cli.verb import Verb, build
from choiros.cli.verbs import OVERVIEW, load, unknown


def _declare(parser: Parser) -> None:
    parser.add_argument("words", metavar="VERB", nargs="*", help="what to tell about")
    parser.add_argument("--version", action="store_true", help="print the version")


def _run(call: Call) -> int:
    if call.arguments.flag("version"):
        _print(call.screen, f"choir {__version__}", data={"version": __version__})
    else:
        print_page(call.screen, help_of(call.arguments.texts("words")))
    return DONE


def print_page(screen: Screen, page: str) -> None:
    """Print a page of the help, as JSON too."""
    _print(screen, page, data={"help": page})


def help_of(words: list[str]) -> str:
    """Return the overview, or the page of a verb; raises WrongUsage."""
    if not words:
        return OVERVIEW
    verb, program = load(words[0]), f"choir {words[0]}"
    for word in words[1:]:
        if word not in verb.acts:
            raise unknown(word, program, known=verb.acts)
        verb, program = verb.acts[word], f"{program} {word}"
    return build(verb, program).format_help().rstrip()


def _print(screen: Screen, text: str, *, data: dict[str, object]) -> None:
    if screen.json:
        screen.data(data)
    else:
        for line in text.splitlines():
            screen.line(line)


VERBS = {
    "help": Verb(
        "Show what there is, or all about one verb.",
        ("choir help", "choir help workspaces new"),
        _run,
        _declare,
    )
}
