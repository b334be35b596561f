"""choir approvals: the questions that wait for a person, and the person's answers."""

from __future__ import annotations

from typing import Literal

from choiros.cli.arguments import Parser
from choiros.cli.call import Call, show_question
from choiros.cli.client import ApprovalLine, Client
from choiros.cli.exits import DONE
from choiros.cli.show import Paint
from choiros.cli.verb import Verb
from choiros.kernel.errors import Rejected

PREFIX_MIN = 6


def _declare_id(parser: Parser) -> None:
    parser.add_argument(
        "request", metavar="ID", help="its id, the beginning of its id, or the number of its event"
    )


def _declare_answer(parser: Parser) -> None:
    _declare_id(parser)
    parser.add_argument("--note", metavar="TEXT", default="", help="why, for the record")


async def _list(call: Call) -> int:
    async with call.client(write=False) as client:
        found = await client.approvals()
    for line in found:
        if call.screen.json:
            call.screen.data(line)
        else:
            call.screen.line(
                Paint(f"{line.seq:>6}", "dim"), "  ", Paint(line.request, "bold"), f"  {line.command}"
            )
            call.screen.line("        ", line.reasons)
    if found:
        call.screen.note("Answer with 'choir approvals allow ID' or 'choir approvals deny ID'.")
    else:
        call.screen.note("Nothing waits for you.")
    return DONE


async def _show(call: Call) -> int:
    async with call.client(write=False) as client:
        line = await _chosen(client, call.arguments.text("request"))
    if call.screen.json:
        call.screen.data(line)
        return DONE
    pairs = [
        ("request", line.request),
        ("event", str(line.seq)),
        ("wants", line.command),
        ("digest", line.digest),
    ]
    call.screen.fields(pairs)
    show_question(call.screen, reasons=line.reasons, facts=line.facts)
    return DONE


async def _chosen(client: Client, text: str) -> ApprovalLine:
    """Return the open request with this id, with an id that begins so, or with this number."""
    lines = await client.approvals()
    found = [line for line in lines if text in {line.request, str(line.seq)}]
    if not found and len(text) >= PREFIX_MIN:
        found = [line for line in lines if line.request[: len(text)] == text]
    if len(found) == 1:
        return found[0]
    reason = "means more than one open request" if found else "is no open request"
    raise Rejected(
        "approvals.unknown",
        f"'{text}' {reason}.",
        fix="'choir approvals' lists them; 'choir log --type approval.*' also those that are answered.",
        request=text,
    )


async def _decide(call: Call, answer: Literal["allow", "deny"]) -> int:
    async with call.client(write=True) as client:
        line = await _chosen(client, call.arguments.text("request"))
        done = await client.decide(line.request, line.digest, answer=answer, note=call.arguments.text("note"))
    return await call.settle(done)


async def _allow(call: Call) -> int:
    return await _decide(call, "allow")


async def _deny(call: Call) -> int:
    return await _decide(call, "deny")


ACTS = {
    "list": Verb(
        "List the requests that wait for you.", ("choir approvals", "choir approvals list --json"), _list
    ),
    "show": Verb(
        "Show exactly what a request would do.",
        ("choir approvals show 131", "choir approvals show 131 --json"),
        _show,
        _declare_id,
    ),
    "allow": Verb(
        "Allow a request; what it asked for is done at once.",
        ("choir approvals allow 131", "choir approvals allow 131 --note 'checked with Ada'"),
        _allow,
        _declare_answer,
    ),
    "deny": Verb(
        "Deny a request; nothing is done.",
        ("choir approvals deny 131", "choir approvals deny 131 --note 'wrong branch'"),
        _deny,
        _declare_answer,
    ),
}

VERBS = {
    "approvals": Verb(
        "List and answer the requests that wait for a person.",
        ("choir approvals", "choir approvals allow 131"),
        _list,
        acts=ACTS,
        default_act="list",
    )
}
