"""choir completion: the script with which bash or zsh completes verbs and options."""

from __future__ import annotations

from choiros.cli.arguments import Parser, one_of
from choiros.cli.call import Call
from choiros.cli.exits import DONE
from choiros.cli.verb import Verb, build, declare_everywhere
from choiros.cli.verbs import ROOMS, load

SHELLS = ("bash", "zsh")


def _declare(parser: Parser) -> None:
    parser.add_argument("shell", metavar="bash|zsh", type=one_of(*SHELLS), choices=SHELLS, help="which shell")


def _completion(call: Call) -> int:
    shell = call.arguments.text("shell")
    script = script_for(shell)
    if call.screen.json:
        call.screen.data({"shell": shell, "script": script})
    else:
        call.screen.text(script if script.endswith("\n") else script + "\n")
    return DONE


def script_for(shell: str) -> str:
    """Return the script, made from the same parsers that read the command line."""
    # Imported here because only this verb needs it.
    import shtab

    return shtab.complete(whole_parser(), shell=shell)


def whole_parser() -> Parser:
    """Return one parser with every verb in it."""
    whole = Parser(prog="choir", add_help=True)
    declare_everywhere(whole, visible=True)
    whole.add_argument("--version", action="store_true", help="print the version")
    rooms = whole.add_subparsers(parser_class=Parser)
    for name in ROOMS:
        verb = load(name)
        described = build(verb, f"choir {name}", visible=True)
        rooms.add_parser(name, help=verb.sentence, parents=[described], add_help=False, prog=described.prog)
    return whole


VERBS = {
    "completion": Verb(
        "Print the script that completes verbs and options in bash or zsh.",
        ('eval "$(choir completion bash)"', "choir completion zsh > ~/.zfunc/_choir"),
        _completion,
        _declare,
    )
}
