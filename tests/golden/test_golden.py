"""Today's program reads the logs of every release and makes the same of them as when they were written (C-26, C-32)."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.kernel.errors import Corrupt
from choiros.kernel.event import GENESIS, Event, Point, Record, open_records
from choiros.kernel.journal import Journal
from choiros.kernel.projector import ProjectorRunner
from choiros.wiring import projectors, registry
from tests.golden.record import as_line, desk, expected_file, log_file, log_of, recorded, seen, story
from tests.places import recorded as events_of

VERSIONS = sorted(path.stem for path in Path(__file__).parent.glob("*.jsonl"))
EVERY_VERSION = pytest.mark.parametrize("version", VERSIONS)
START = Point(0, GENESIS)
NEWEST = recorded(VERSIONS[-1])


def expected(version: str) -> dict[str, dict[str, dict[str, object]]]:
    return json.loads(expected_file(version).read_text(encoding="utf-8"))


async def read(records: list[Record]) -> list[Event]:
    journal = Journal(log_of(records), registry(), user="me")
    return [event async for events in journal.events(START) for event in events]


def test_there_is_a_log() -> None:
    assert VERSIONS
    assert VERSIONS[0] == "0.1"


@EVERY_VERSION
def test_the_chain_of_a_recorded_log_holds(version: str) -> None:
    records = recorded(version)
    assert [head.seq for head in open_records(records, START)] == list(range(1, len(records) + 1))


@EVERY_VERSION
def test_every_event_of_a_recorded_log_is_understood(version: str) -> None:
    plain = [
        event.head.event_type
        for event in asyncio.run(read(recorded(version)))
        if isinstance(event.payload, dict)
    ]
    assert plain == ["hologram.open", "message"], "only what was made to look newer is read as plain JSON"


def test_the_newest_log_holds_every_event_type() -> None:
    types = {head.event_type for head in open_records(NEWEST, START)}
    missing = {kind.name for kind in registry()} - types
    assert not missing, f"record them: python -m tests.golden.record log VERSION ({sorted(missing)})"


@EVERY_VERSION
def test_what_is_written_anew_has_the_bytes_that_were_stored(version: str) -> None:
    known = registry()
    for event in asyncio.run(read(recorded(version))):
        kind, stored = known.get(event.head.event_type), event.record.payload
        if kind is None or event.head.v != kind.v or stored is None:
            continue
        assert known.encode_plain(kind.name, json.loads(stored)) == stored
        assert known.encode(msgspec.convert(json.loads(stored), kind.payload)) == stored


@EVERY_VERSION
def test_the_views_of_a_recorded_log_are_those_that_were_seen_then(version: str) -> None:
    runner, tables = asyncio.run(seen(recorded(version)))
    wanted, versions = expected(version), {view.name: view.version for view in projectors(registry())}
    for name, digest in runner.digests().items():
        assert wanted["digests"][name]["version"] == versions[name], (
            f"the view '{name}' was changed on purpose: python -m tests.golden.record expected {version}"
        )
        assert wanted["digests"][name]["digest"] == digest, f"the view '{name}' sees another history"
    rows = tables.query("SELECT workspace, path, kind, content, target FROM files ORDER BY workspace, path")
    assert [" | ".join(map(str, row)) for row in rows] == wanted["files"]


# What everybody can check with their own eyes, whatever the digests say.
TOLD = {
    "SELECT path, target FROM files WHERE kind = 'link'": [("newest", "notes/today.md")],
    "SELECT path FROM files WHERE workspace = 'work'": [("plan.txt",)],
    "SELECT workspace, name, state FROM workspaces ORDER BY created": [
        ("main", "main", "open"),
        ("work", "Büro", "open"),
        ("added", "added", "removed"),
    ],
    "SELECT command, state FROM approvals ORDER BY seq": [
        ("checkpoints.push", "used"),
        ("checkpoints.push", "denied"),
        ("workspaces.new", "pending"),
    ],
    "SELECT message, commit_id IS NULL, error IS NULL FROM checkpoints ORDER BY seq": [
        ("the first point", 0, 1),
        ("a point without a commit", 1, 0),
    ],
    "SELECT url, done IS NOT NULL FROM pushes": [("/srv/backup.git", 1)],
    "SELECT role, text FROM messages ORDER BY seq": [
        ("user", "What is in my notes? \N{GRINNING FACE}\x00"),
        ("assistant", "One and two."),
    ],
    "SELECT tool, outcome, result FROM tool_calls": [("read", "done", "one\ntwo")],
    "SELECT run_id, state, reason FROM runs": [("run-2", "done", "answered")],
    "SELECT session_id, messages FROM conversations": [("s-1", 2)],
    "SELECT title FROM sessions": [("A talk",)],
    "SELECT count(*) FROM undos WHERE target = 'redo'": [(4,)],
}


@pytest.mark.parametrize(("question", "answer"), TOLD.items())
def test_the_views_tell_what_really_happened(question: str, answer: list[tuple[object, ...]]) -> None:
    _, tables = asyncio.run(seen(recorded("0.1")))
    assert tables.query(question) == answer


def test_the_story_still_leads_to_the_same_log(tmp_path: Path) -> None:
    async def again() -> list[str]:
        at = desk(tmp_path)
        computer = await story(at)
        lines = [as_line(event.record) for event in await events_of(computer)]
        await computer.close()
        return lines

    one = asyncio.run(again())
    kinds = [json.loads(json.loads(line)["head"])["event_type"] for line in one]
    assert set(kinds) == {head.event_type for head in open_records(NEWEST, START)}


# --- How it is read does not matter ---


async def applied(cuts: set[int]) -> dict[str, str]:
    """Return the digests after the newest log was applied in batches that end at these places."""
    events = await read(NEWEST)
    journal = Journal(MemoryLog(), registry(), user="me")
    runner = ProjectorRunner(journal, SqliteTables(), projectors=projectors(journal.registry))
    runner.prepare()
    ends = sorted({*cuts, len(events)})
    for start, end in zip([0, *ends], ends, strict=False):
        runner.apply(events[start:end])
    return runner.digests()


ONE_BY_ONE = asyncio.run(applied(set(range(1, len(NEWEST)))))


@settings(max_examples=40)
@given(st.sets(st.integers(1, len(NEWEST) - 1)))
def test_any_cut_of_the_log_into_batches_gives_the_same_tables(cuts: set[int]) -> None:
    assert asyncio.run(applied(cuts)) == ONE_BY_ONE


@pytest.mark.parametrize("cut", range(1, len(NEWEST)))
def test_a_batch_may_end_anywhere(cut: int) -> None:
    assert asyncio.run(applied({cut})) == ONE_BY_ONE


Harm = Callable[[list[Record]], None]


def drop_one(records: list[Record]) -> None:
    del records[len(records) // 2]


def exchange_two(records: list[Record]) -> None:
    records[7], records[8] = records[8], records[7]


def edit_one(records: list[Record]) -> None:
    records[5] = records[5]._replace(payload=(records[5].payload or b"").replace(b"a", b"b"))


@pytest.mark.parametrize("harm", [drop_one, exchange_two, edit_one])
def test_a_recorded_log_that_was_touched_is_refused(harm: Harm) -> None:
    records = list(NEWEST)
    harm(records)
    with pytest.raises(Corrupt):
        asyncio.run(seen(records))


def test_a_recorded_log_is_one_event_in_each_line() -> None:
    for version in VERSIONS:
        lines = log_file(version).read_text(encoding="utf-8").split("\n")
        assert lines.pop() == ""
        assert [as_line(record) for record in recorded(version)] == lines
