"""What a verb of the command line is, and the parser and help page that are made of it."""

from __future__ import annotations

from argparse import SUPPRESS, RawDescriptionHelpFormatter
from collections.abc import Callable, Coroutine, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from choiros.cli.arguments import SWITCHES, VALUED, Parser

if TYPE_CHECKING:
    from choiros.cli.call import Call

EVERYWHERE = """\
everywhere:
  --json  --user ID  --workspace NAME  --home DIR  --set KEY=VALUE
  --no-color  --debug"""
EXITS = """\
exit codes:
  0 done   1 refused or failed   2 wrong usage   3 waits for an approval
  130 Ctrl-C"""
PAGE_WIDTH = 78

Run = Callable[["Call"], "int | Coroutine[None, None, int]"]


class Verb(NamedTuple):
    """One verb: its sentence in the help, two examples, what it does, and its arguments."""

    sentence: str
    examples: tuple[str, str]
    run: Run
    declare: Callable[[Parser], None] | None = None
    acts: Mapping[str, Verb] = {}
    """For a verb that has verbs of its own, such as `workspaces new`."""
    default_act: str = ""


def build(verb: Verb, program: str, *, visible: bool = False) -> Parser:
    """Return the parser of a verb and its acts; `visible` shows the options that every verb has."""
    parser = Parser(
        prog=program,
        description=fill(verb.sentence, PAGE_WIDTH),
        epilog=_epilog(verb),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    declare_everywhere(parser, visible=visible)
    if verb.acts:
        acts = parser.add_subparsers(title="what it can do", metavar="ACT", parser_class=Parser)
        for name, act in verb.acts.items():
            described = build(act, f"{program} {name}", visible=visible)
            fresh = acts.add_parser(
                name, help=act.sentence, parents=[described], add_help=False, prog=described.prog
            )
            fresh.description = act.sentence
    if verb.declare is not None:
        verb.declare(parser)
    return parser


def _epilog(verb: Verb) -> str:
    examples = "\n".join(f"  {example}" for example in verb.examples)
    return f"examples:\n{examples}\n\n{EXITS}\n\n{EVERYWHERE}"


def declare_everywhere(parser: Parser, *, visible: bool) -> None:
    """Declare the options that every verb has."""
    for name, sentence in SWITCHES.items():
        parser.add_argument(name, action="store_true", help=sentence if visible else SUPPRESS)
    for name, (metavar, sentence) in VALUED.items():
        action = "append" if name == "--set" else "store"
        parser.add_argument(name, metavar=metavar, action=action, help=sentence if visible else SUPPRESS)
