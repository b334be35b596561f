"""The index of the log: every filter alone, together, and against a plain reading of the log."""

import asyncio
from pathlib import Path

import pytest

from choiros.features.audit.view import CONSEQUENCES_WITHIN, EventFilter, is_routine
from choiros.features.checkpoints.events import CheckpointMade
from choiros.features.files.commands import Change, ChangeFiles
from choiros.features.workspaces.commands import CreateWorkspace
from choiros.kernel.command import Context
from choiros.kernel.event import Draft, Event
from choiros.kernel.tree import Entry
from choiros.wiring import Computer
from tests.computers import Desk

AGENT = Context("me", source="agent", session="s", run="r")


async def prepare(desk: Desk) -> Computer:
    """A computer on which the person, an agent and the program have all done something."""
    computer = await desk.open()
    me = computer.context()
    await computer.kernel.handle(CreateWorkspace("other"), me)
    for number, context in enumerate((me, AGENT, me, Context("me", source="agent", session="s", run="r2"))):
        desk.clock.move(1000)
        change = Change(f"d{number}", Entry("dir", 0o755))
        await computer.kernel.handle(ChangeFiles("main" if number < 3 else "other", (change,)), context)
    await computer.kernel.handle(CreateWorkspace("asked"), AGENT)
    return computer


async def events_of(computer: Computer) -> list[Event]:
    return await computer.journal.fetch(range(1, (await computer.journal.head()).seq + 1))


def fits(event: Event, wanted: EventFilter) -> bool:
    """Say, independently of the index, whether an event is wanted."""
    head, kind = event.head, wanted.event_type
    if kind is not None:
        named = head.event_type.startswith(kind[:-1]) if kind.endswith(".*") else head.event_type == kind
        if not named:
            return False
    return (
        wanted.after < event.seq <= (wanted.until or event.seq)
        and wanted.source in {None, head.source}
        and wanted.run in {None, head.run_id}
        and wanted.session in {None, head.session_id}
        and wanted.workspace in {None, getattr(event.payload, "workspace", None)}
        and (wanted.routine or not is_routine(event))
    )


FILTERS = [
    EventFilter(),
    EventFilter(after=5),
    EventFilter(until=5),
    EventFilter(after=3, until=8),
    EventFilter(event_type="file.write"),
    EventFilter(event_type="file.*"),
    EventFilter(event_type="workspace.*"),
    EventFilter(event_type="approval.*"),
    EventFilter(event_type="policy.verdict", routine=False),
    EventFilter(source="agent"),
    EventFilter(source="system"),
    EventFilter(run="r"),
    EventFilter(session="s"),
    EventFilter(workspace="main"),
    EventFilter(workspace="other"),
    EventFilter(routine=False),
    EventFilter(source="agent", run="r2", event_type="file.*", routine=False),
]


@pytest.mark.parametrize("wanted", FILTERS, ids=repr)
def test_each_filter_finds_what_a_reading_of_the_whole_log_finds(tmp_path: Path, wanted: EventFilter) -> None:
    async def story() -> None:
        computer = await prepare(Desk(tmp_path))
        expected = [event.seq for event in await events_of(computer) if fits(event, wanted)]
        assert expected
        assert computer.audit.find(wanted, limit=100) == expected
        assert computer.audit.find(wanted, limit=2) == expected[:2]
        assert computer.audit.find(wanted, limit=2, newest=True) == expected[-2:]
        await computer.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    "wanted",
    [
        EventFilter(event_type="file"),
        EventFilter(event_type="fil.*"),
        EventFilter(event_type="file.w*"),
        EventFilter(event_type="file.%"),
        EventFilter(run="nobody"),
        EventFilter(session="' OR 1=1 --"),
        EventFilter(workspace="nothing"),
        EventFilter(after=10_000),
        EventFilter(until=0),
    ],
    ids=repr,
)
def test_what_nothing_fits_finds_nothing(tmp_path: Path, wanted: EventFilter) -> None:
    async def story() -> None:
        computer = await prepare(Desk(tmp_path))
        assert computer.audit.find(wanted, limit=100) == []
        await computer.close()

    asyncio.run(story())


def test_nothing_outside_the_given_numbers_is_found(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await prepare(Desk(tmp_path))
        everything = EventFilter()
        assert computer.audit.find(everything, limit=100, among=[9, 2, 5, 10_000]) == [2, 5, 9]
        assert computer.audit.find(everything, limit=2, newest=True, among=[9, 2, 5]) == [5, 9]
        assert computer.audit.find(EventFilter(after=2), limit=100, among=[2, 5]) == [5]
        assert computer.audit.find(everything, limit=100, among=[]) == []
        await computer.close()

    asyncio.run(story())


def test_only_a_verdict_that_allowed_something_is_routine(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await prepare(Desk(tmp_path))
        routine = {
            (event.head.event_type, getattr(event.payload, "answer", ""))
            for event in await events_of(computer)
            if is_routine(event)
        }
        assert routine == {("policy.verdict", "allow")}
        kept = computer.audit.find(EventFilter(event_type="policy.verdict", routine=False), limit=100)
        answers = [getattr(event.payload, "answer", "") for event in await computer.journal.fetch(kept)]
        assert answers == ["ask"]
        await computer.close()

    asyncio.run(story())


def test_an_event_is_found_by_its_id_and_by_its_cause(tmp_path: Path) -> None:
    """C-86."""

    async def story() -> None:
        computer = await prepare(Desk(tmp_path))
        events = await events_of(computer)
        assert [computer.audit.seq_of(event.head.id) for event in events] == [event.seq for event in events]
        assert computer.audit.seq_of("nothing") is None
        for event in events:
            expected = [one.seq for one in events if one.head.cause == event.head.id]
            assert computer.audit.caused_by(event.head.id, event.seq) == expected
        assert computer.audit.count() == len(events)
        await computer.close()

    asyncio.run(story())


def test_consequences_are_looked_for_close_behind_their_cause(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await prepare(Desk(tmp_path))
        events = await events_of(computer)
        cause = events[0].head.id
        row = (events[0].seq + CONSEQUENCES_WITHIN, "near", 0, "user", "x", None, None, cause, None, 0)
        far = (row[0] + 1, "far", *row[2:])
        computer.tables.run("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [row, far])
        assert computer.audit.caused_by(cause, events[0].seq)[-1] == row[0]
        await computer.close()

    asyncio.run(story())


def test_changes_of_files_are_counted_with_the_time_of_the_first(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await prepare(Desk(tmp_path))
        times = {
            event.seq: event.head.timestamp
            for event in await events_of(computer)
            if event.head.event_type == "file.write" and getattr(event.payload, "workspace", "") == "main"
        }
        first, second, third = times
        assert computer.audit.changes("main", 0, limit=100) == (3, times[first])
        assert computer.audit.changes("main", 0, limit=2) == (2, times[first])
        assert computer.audit.changes("main", first, limit=100) == (2, times[second])
        assert computer.audit.changes("main", third, limit=100) == (0, 0)
        assert computer.audit.changes("nothing", 0, limit=100) == (0, 0)
        payload = computer.journal.registry.encode(CheckpointMade("main", "m"))
        ids = computer.parts.ids
        await computer.journal.append(
            [Draft(ids.event_id(0), 0, "me", "user", "checkpoint", payload, ids.salt())]
        )
        await computer.projectors.catch_up()
        assert computer.audit.changes("main", 0, limit=100) == (3, times[first])
        await computer.close()

    asyncio.run(story())
