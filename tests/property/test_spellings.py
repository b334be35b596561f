"""Whatever an older program called an event, it enters the log, the tables and every message by one name (C-02)."""

import asyncio
import json
from collections.abc import Callable

import pytest

from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.kernel.errors import Rejected
from choiros.kernel.event import GENESIS, Draft, Event, Point
from choiros.kernel.journal import Journal
from choiros.kernel.projector import ProjectorRunner
from choiros.wiring import projectors, registry
from tests.golden.record import log_of, recorded
from tests.golden.test_golden import VERSIONS

Spell = Callable[[str], str]
SPELLINGS: dict[str, Spell] = {
    "FILE_WRITE": lambda name: name.replace(".", "_").upper(),
    "file_write": lambda name: name.replace(".", "_"),
    "FILE/WRITE": lambda name: name.replace(".", "/").upper(),
    "FileWrite": lambda name: name.replace("_", ".").title().replace(".", ""),
    "file-write": lambda name: name.replace(".", "-").replace("_", "-"),
    "File.Write": str.title,
    "file.write": str,
}
NAMES = [kind.name for kind in registry()]


async def told(spell: Spell) -> tuple[list[Event], SqliteTables, dict[str, str]]:
    """Import every event type of a recorded log under a spelling; return events, tables and their digests."""
    known, log = registry(), MemoryLog()
    source = Journal(log_of(recorded(VERSIONS[-1])), known, user="me")
    journal = Journal(log, known, user="me")
    async for events in source.events(Point(0, GENESIS)):
        for event in events:
            head, payload = event.head, event.record.payload
            kind = known.get(head.event_type)
            if kind is None or payload is None or head.v != kind.v:
                continue
            spelt = spell(head.event_type)
            draft = Draft(
                head.id,
                head.timestamp,
                head.user_id,
                head.source,
                known.canonical(spelt),
                known.encode_plain(spelt, json.loads(payload)),
                event.record.salt,
                head.session_id,
                head.run_id,
                head.cause,
            )
            await journal.append([draft])
    tables = SqliteTables()
    runner = ProjectorRunner(journal, tables, projectors=projectors(known))
    runner.prepare()
    await runner.catch_up()
    events = [event async for some in journal.events(Point(0, GENESIS)) for event in some]
    return events, tables, runner.digests()


DOTTED = asyncio.run(told(str))[2]


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
def test_every_type_ends_under_its_dotted_name_however_it_was_spelt(spell: Spell) -> None:
    events, tables, digests = asyncio.run(told(spell))
    assert {event.head.event_type for event in events} == set(NAMES)
    assert {json.loads(event.as_json())["event_type"] for event in events} == set(NAMES)
    assert {json.loads(event.record.head)["event_type"] for event in events} == set(NAMES)
    assert {name for (name,) in tables.query("SELECT DISTINCT event_type FROM events")} == set(NAMES)
    assert digests == DOTTED


@pytest.mark.parametrize("spelling", ["", "FILE WROTE", "file.writes", "*"])
def test_what_reads_like_no_type_is_refused(spelling: str) -> None:
    with pytest.raises(Rejected) as caught:
        registry().canonical(spelling)
    assert caught.value.code == "event.unknown_type"
