"""choir log and choir show: what happened, as a list that can be followed, and one event in detail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from choiros.cli.arguments import Parser, amount, event_number, one_of
from choiros.cli.call import Call, show_event
from choiros.cli.client import Client, EventDetail, EventLine, LogQuery
from choiros.cli.exits import DONE
from choiros.cli.show import Colour, Paint, Part, Screen, instant, moment
from choiros.cli.verb import Verb
from choiros.kernel.errors import Unavailable

LINES = 20
PAGE = 500
RETRY_S = 1.0
WHO: dict[str, Colour] = {"agent": "cyan", "user": "green", "system": "dim"}


def show_line(screen: Screen, line: EventLine) -> None:
    """Print an event as a line of the log: number, time, who, what, in which run, whether undone."""
    tail: list[Part] = []
    if line.run_id is not None:
        tail.append(Paint(f"  [{line.run_id}]", "dim"))
    if line.undone_by is not None:
        tail.append(Paint(f"  (undone by {line.undone_by})", "yellow"))
    seq, time = f"{line.seq:>6}", moment(line.timestamp)
    who = Paint(f"{line.source:<6}", WHO.get(line.source, "bold"))
    screen.row(Paint(f"{seq}  {time}", "dim"), "  ", who, "  ", line.sentence, tail=tail)


def _declare_log(parser: Parser) -> None:
    parser.add_argument("--after", metavar="SEQ", type=event_number, help="only events behind this one")
    parser.add_argument("--until", metavar="SEQ", type=event_number, help="only events up to this one")
    parser.add_argument(
        "--type", metavar="TYPE", help="only this type, such as file.write, or file.* for all that begin so"
    )
    sources = ("user", "agent", "system")
    parser.add_argument(
        "--source",
        metavar="WHO",
        type=one_of(*sources),
        choices=sources,
        help="only what this one did: user, agent or system",
    )
    parser.add_argument("--run", metavar="RUN", help="only what happened in this run")
    parser.add_argument("--session", metavar="SESSION", help="only what happened in this conversation")
    parser.add_argument("--path", metavar="PATH", help="only what happened to this file")
    parser.add_argument(
        "-n", dest="count", metavar="N", type=amount, help=f"how many ({LINES}; with --after: all)"
    )
    parser.add_argument(
        "--follow", "-f", action="store_true", help="go on with new events until Ctrl-C (exit code 130)"
    )
    parser.add_argument(
        "--cloudevents",
        action="store_true",
        help="print CloudEvents 1.0, one JSON object a line, the gate's answers included",
    )


async def _log(call: Call) -> int:
    printed = 0
    async with call.client(write=False) as client:
        query = await _query(call, client)
        head = (await client.status()).events
        if call.arguments.flag("follow") and query.until is None:
            query = replace(query, until=head)
        async for line in _wanted(client, query, paged=call.arguments.number("after") is not None):
            _print(call, line)
            printed += 1
    if call.arguments.flag("follow"):
        await _follow(
            call, replace(query, after=max(head, query.after), until=call.arguments.number("until"))
        )
    elif not printed:
        call.screen.note("No event matches." if head else "Nothing has happened yet.")
    return DONE


async def _query(call: Call, client: Client) -> LogQuery:
    given = call.arguments
    path, after = given.maybe("path"), given.number("after")
    return LogQuery(
        after=after or 0,
        until=given.number("until"),
        event_type=given.maybe("type"),
        source=given.maybe("source"),
        run=given.maybe("run"),
        session=given.maybe("session"),
        path=None if path is None else (await call.place(client)).path(path),
        limit=given.number("count") or (0 if after is not None else LINES),
        newest=after is None,
        routine=given.flag("cloudevents"),
    )


async def _wanted(client: Client, query: LogQuery, *, paged: bool) -> AsyncIterator[EventLine]:
    """Yield what is there: the newest events, or behind an event all of them (limit 0), a page at a time."""
    if not paged:
        for line in await client.log(query):
            yield line
        return
    left, after = query.limit, query.after
    while True:
        size = min(left, PAGE) if query.limit else PAGE
        lines: Sequence[EventLine] = await client.log(replace(query, after=after, limit=size))
        for line in lines:
            yield line
            after = line.seq
        left -= len(lines)
        if len(lines) < size or (query.limit and left <= 0):
            return


async def _follow(call: Call, query: LogQuery) -> None:
    """Print new events for ever; when the computer cannot be reached, wait and go on where it stopped."""
    call.screen.flush()
    told = False
    while True:
        try:
            async with call.client(write=False) as client:
                async for line in client.follow(query):
                    _print(call, line)
                    call.screen.flush()
                    query, told = replace(query, after=line.seq), False
                    if query.until is not None and line.seq >= query.until:
                        return
        except Unavailable as trouble:
            if not told:
                call.screen.note(f"note: {trouble.message} Waiting.")
            told = True
        await asyncio.sleep(RETRY_S)


def _print(call: Call, line: EventLine) -> None:
    if call.arguments.flag("cloudevents"):
        from choiros.cli.cloudevents import as_cloudevent

        call.screen.data(as_cloudevent(line.event))
    elif call.screen.json:
        call.screen.data(line)
    else:
        show_line(call.screen, line)


def _declare_show(parser: Parser) -> None:
    parser.add_argument("seq", metavar="SEQ", type=event_number, help="the number of the event")


async def _show(call: Call) -> int:
    seq = call.arguments.number("seq") or 0
    async with call.client(write=False) as client:
        found = await client.show(seq)
    if call.screen.json:
        call.screen.data(found)
    else:
        show_detail(call.screen, found)
    return DONE


def show_detail(screen: Screen, detail: EventDetail) -> None:
    """Print one event with what led to it, what it led to, and what it changed."""
    line = detail.line
    undone = f", undone by event {line.undone_by}" if line.undone_by is not None else ""
    screen.line(Paint(f"Event {line.seq}: ", "bold"), line.sentence)
    pairs = [
        ("type", line.event_type),
        ("when", instant(line.timestamp)),
        ("who", line.source),
        ("run", line.run_id or ""),
        ("session", line.session_id or ""),
        ("effect", detail.effect + undone),
        ("id", line.id),
    ]
    screen.fields([(name, value) for name, value in pairs if value])
    for title, lines in (("Because of", detail.causes), ("Led to", detail.consequences)):
        if lines:
            screen.line(Paint(title, "bold"))
        for one in lines:
            show_event(screen, one)
    if detail.diff:
        screen.line(Paint("Changed", "bold"))
        screen.diff(detail.diff)


VERBS = {
    "log": Verb(
        "List what happened, the newest 20 events unless told otherwise; times are local.",
        ("choir log --type 'file.*' --path notes/today.md", "choir log --after 120 --follow --json"),
        _log,
        _declare_log,
    ),
    "show": Verb(
        "Show one event: what led to it, what it led to, what it changed.",
        ("choir show 120", "choir show 120 --json"),
        _show,
        _declare_show,
    ),
}
