"""choir up: start ChoirOS; until there is a server, a first tour in the terminal."""

from __future__ import annotations

from choiros.cli.call import Call
from choiros.cli.exits import DONE
from choiros.cli.verb import Verb

NEXT = (
    "ChoirOS is ready: there is nothing to start, the command line works on its own.",
    "What to do next:",
    "  choir up                       in a terminal: a first tour, three minutes",
    "  choir write hello.md           write a file; its content comes from standard input",
    "  choir log                      see what happened",
    "  choir undo                     take it back",
    "  choir workspaces add FOLDER    keep a folder that you already have",
    "  choir help                     everything else",
)


def _up(call: Call) -> int:
    if call.screen.json:
        call.screen.data({"ready": True, "next": "choir help"})
        return DONE
    if call.screen.asks:
        from choiros.cli.tour import tour

        return tour(call.screen)
    for line in NEXT:
        call.screen.line(line)
    return DONE


VERBS = {
    "up": Verb(
        "Start ChoirOS; for now this is a first tour in the terminal, which touches none of your data.",
        ("choir up", "choir up --no-color"),
        _up,
    )
}
