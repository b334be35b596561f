"""Conversations as tables: what was said, which tools were called, and how each run ended."""

import asyncio
from pathlib import Path
from typing import get_args

from msgspec import Struct

from choiros.features.sessions.events import (
    MessageAdded,
    RunChanged,
    RunState,
    SessionStarted,
    ToolAnswered,
    ToolCalled,
)
from choiros.kernel.event import Draft, Event
from choiros.kernel.tables import Row
from choiros.wiring import Computer, rebuild
from tests.computers import Desk

TABLES = ("sessions", "conversations", "messages", "tool_calls", "runs")


async def record(
    computer: Computer, *payloads: Struct, session: str | None = "s", run: str | None = None
) -> list[Event]:
    """Record facts of a conversation."""
    known, ids = computer.journal.registry, computer.parts.ids
    drafts = [
        Draft(
            ids.event_id(0),
            0,
            "me",
            "agent",
            known.type_of(one).name,
            known.encode(one),
            ids.salt(),
            session,
            run,
        )
        for one in payloads
    ]
    events = await computer.journal.append(drafts)
    await computer.projectors.catch_up()
    return events


def rows(computer: Computer, table: str) -> list[Row]:
    return list(computer.tables.query(f"SELECT * FROM {table} ORDER BY 1"))


def test_a_conversation_is_kept_with_its_title_and_workspace(tmp_path: Path) -> None:
    """C-25."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        (event,) = await record(computer, SessionStarted("Taxes", "main"))
        assert rows(computer, "sessions") == [("s", "Taxes", "main", event.seq)]
        (nameless,) = await record(computer, SessionStarted("Later", "main"), session=None)
        assert rows(computer, "sessions")[0] == (nameless.head.id, "Later", "main", nameless.seq)
        await computer.close()

    asyncio.run(story())


def test_messages_are_kept_in_order_by_conversation_and_run(tmp_path: Path) -> None:
    """C-25."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        hello, other, answer = (
            *(await record(computer, MessageAdded("user", "hello"))),
            *(await record(computer, MessageAdded("user", "elsewhere"), session="t")),
            *(await record(computer, MessageAdded("assistant", "hi"), run="r")),
        )
        assert rows(computer, "messages") == [
            (hello.seq, "s", None, "user", "hello"),
            (other.seq, "t", None, "user", "elsewhere"),
            (answer.seq, "s", "r", "assistant", "hi"),
        ]
        assert rows(computer, "conversations") == [
            ("s", hello.seq, answer.seq, 2),
            ("t", other.seq, other.seq, 1),
        ]
        await computer.close()

    asyncio.run(story())


def test_a_tool_call_is_open_until_its_answer_and_the_first_answer_holds(tmp_path: Path) -> None:
    """C-25, C-86."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        (call,) = await record(computer, ToolCalled("write", '{"path":"a"}'), run="r")
        begun = (call.head.id, call.seq, "s", "r", "write", '{"path":"a"}')
        assert rows(computer, "tool_calls") == [(*begun, None, None, None)]
        (answer,) = await record(computer, ToolAnswered(call.head.id, "failed", "No space."), run="r")
        done = (*begun, "failed", "No space.", answer.seq)
        assert rows(computer, "tool_calls") == [done]
        await record(computer, ToolAnswered(call.head.id, "done", ""), ToolAnswered("nothing", "done", ""))
        assert rows(computer, "tool_calls") == [done]
        await computer.close()

    asyncio.run(story())


def test_a_run_shows_its_last_state_with_the_reason(tmp_path: Path) -> None:
    """C-25."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        states = get_args(RunState)
        events = await record(computer, *(RunChanged(state, f"why {state}") for state in states), run="r")
        first, last = events[0].seq, events[-1].seq
        assert rows(computer, "runs") == [("r", "s", states[-1], f"why {states[-1]}", first, last)]
        await record(computer, RunChanged("done"), run="r")
        assert rows(computer, "runs") == [("r", "s", "done", "", first, last + 1)]
        await computer.close()

    asyncio.run(story())


def test_a_change_of_no_run_is_no_run(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await record(computer, RunChanged("done"), run=None)
        assert rows(computer, "runs") == []
        await computer.close()

    asyncio.run(story())


def test_the_tables_made_again_from_the_log_are_the_same(tmp_path: Path) -> None:
    """C-16, C-25."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await record(computer, SessionStarted("Taxes", "main"), MessageAdded("user", "hello"))
        (call,) = await record(computer, ToolCalled("write", "{}"), run="r")
        await record(computer, ToolAnswered(call.head.id, "done", ""), RunChanged("done"), run="r")
        before = {table: rows(computer, table) for table in TABLES}
        assert all(before.values())
        await computer.close()
        assert (await rebuild(desk.parts(), desk.settings, full=True)).differed == ()
        computer = await desk.open()
        assert {table: rows(computer, table) for table in TABLES} == before
        await computer.close()

    asyncio.run(story())
