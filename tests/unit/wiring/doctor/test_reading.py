"""The whole log is read once: views come along, and every break is named."""

import asyncio
from pathlib import Path

from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.kernel.errors import Unavailable
from choiros.kernel.event import Record
from choiros.kernel.projector import ProjectorRunner
from choiros.wiring import projectors
from choiros.wiring.doctor.reading import read_log
from choiros.wiring.doctor.told import Told
from tests.computers import Desk
from tests.places import Hand


async def read(directory: Path, *broken: int, runner: type[ProjectorRunner] = ProjectorRunner) -> Told:
    """Return what a log tells in which these events are broken."""
    desk = Desk(directory)
    computer = await desk.open()
    hand = Hand(computer)
    for number in range(4):
        await hand.write(f"{number}.txt", b"x")
    records = stored(desk)
    for seq in broken:
        records[seq - 1] = records[seq - 1]._replace(payload=b"{}")
    tables = SqliteTables()
    made = runner(computer.journal, tables, projectors=projectors(computer.journal.registry))
    told = await read_log(computer.journal, made, progress=lambda *_: None)
    if not broken and told.views_problem is None:
        assert made.digests() == computer.projectors.digests()
    tables.close()
    await computer.close()
    return told


def stored(desk: Desk) -> list[Record]:
    log = desk.log
    assert isinstance(log, MemoryLog)
    return next(value for value in vars(log).values() if isinstance(value, dict))["me"]


def test_a_whole_log_gives_the_views_that_are_there(tmp_path: Path) -> None:
    told = asyncio.run(read(tmp_path))
    assert (told.is_whole, told.read) == (True, told.head.seq)


def test_every_break_is_named_and_not_only_the_first(tmp_path: Path) -> None:
    told = asyncio.run(read(tmp_path, 4, 6, 7))
    assert [fault.fields["seq"] for fault in told.breaks] == [4, 6, 7]
    assert not told.is_whole


def test_a_break_at_the_end_is_the_last_one(tmp_path: Path) -> None:
    told = asyncio.run(read(tmp_path))
    other = asyncio.run(read(tmp_path / "other", told.head.seq))
    assert [fault.fields["seq"] for fault in other.breaks] == [told.head.seq]


class Full(ProjectorRunner):
    """Views for which there is no room."""

    def apply(self, events: object) -> None:
        raise Unavailable("state.unavailable", "The disk is full.", fix="Free some space.")


def test_without_room_for_views_the_log_is_verified_all_the_same(tmp_path: Path) -> None:
    told = asyncio.run(read(tmp_path, runner=Full))
    assert (told.is_whole, told.read) == (True, told.head.seq)
    assert told.views_problem is not None
