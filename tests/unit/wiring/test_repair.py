"""Everything that is derived can be thrown away: one rebuild brings it back, from the log alone (C-21)."""

import asyncio
import hashlib
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from choiros.engines.log.memory import MemoryLog
from choiros.engines.repository.memory import MemoryRepository
from choiros.engines.tables.sqlite import SqliteCabinet
from choiros.features.approvals.commands import DecideApproval
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.features.files.events import FileDeleted, FileWritten
from choiros.features.files.view import FilesProjector
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked
from choiros.kernel.errors import Unavailable
from choiros.kernel.event import Draft, Point, Record
from choiros.kernel.path import TEMPORARY
from choiros.kernel.tree import Entry
from choiros.settings import Settings, SnapshotSettings
from choiros.wiring import Computer, rebuild, registry
from tests.computers import Desk
from tests.golden.record import desk as golden_desk
from tests.golden.record import story as golden_story
from tests.places import DiskPlace, Hand, standing
from tests.unit.kernel.notes import Wrapped


class Counting(Wrapped):
    """A log that counts which events were read."""

    def __init__(self, inner: MemoryLog) -> None:
        super().__init__(inner)
        self.lowest = 10**9
        self.count = 0

    async def read(
        self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000
    ) -> AsyncIterator[list[Record]]:
        async for records in self.inner.read(user, after, limit=limit, batch=batch):
            self.lowest = min(self.lowest, records[0].seq)
            self.count += len(records)
            yield records

    async def fetch(self, user: str, seqs: Sequence[int]) -> list[Record]:
        records = await self.inner.fetch(user, seqs)
        self.count += len(records)
        return records


async def lived_in(directory: Path, *, snapshot: bool = True) -> tuple[Desk, dict[str, str], int]:
    """Return a desk on which something has happened, the digests of its views, and where its snapshot is."""
    settings = Settings(snapshots=SnapshotSettings(events_max=1 if snapshot else 10**6))
    desk = Desk(directory, log=Counting(MemoryLog()), settings=settings)
    computer = await desk.open()
    hand = Hand(computer)
    for number in range(30):
        await hand.write(f"early/{number}", f"{number}".encode())
    kept = await computer.keep_snapshot()
    for number in range(3):
        await hand.write(f"late/{number}", f"{number}".encode())
    await hand.undo()
    digests = computer.projectors.digests()
    await computer.close()
    return desk, digests, kept.seq if kept else 0


def counted(desk: Desk) -> Counting:
    assert isinstance(desk.log, Counting)
    return desk.log


async def reopened(desk: Desk) -> dict[str, str]:
    computer = await desk.open()
    digests = computer.projectors.digests()
    await computer.close()
    return digests


# --- Rebuilt equals live ---


@pytest.mark.parametrize("full", [False, True], ids=["from a snapshot", "from the beginning"])
def test_what_is_rebuilt_is_what_was_there(tmp_path: Path, full: bool) -> None:
    async def story() -> None:
        desk, digests, snapshot = await lived_in(tmp_path)
        rebuilt = await rebuild(desk.parts(), desk.settings, full=full)
        assert rebuilt.digests == digests
        assert rebuilt.differed == ()
        assert rebuilt.snapshot == (0 if full else snapshot)
        assert await reopened(desk) == digests

    asyncio.run(story())


def test_a_history_with_everything_in_it_is_rebuilt_as_it_was(tmp_path: Path) -> None:
    """C-25."""

    async def story() -> None:
        desk = golden_desk(tmp_path)
        computer = await golden_story(desk)
        digests, files = computer.projectors.digests(), await standing(computer)
        await computer.close()
        for full in (False, True):
            rebuilt = await rebuild(desk.parts(), desk.settings, full=full)
            assert rebuilt.digests == digests
            assert (rebuilt.snapshot > 0) is not full
        again = await desk.open()
        assert await standing(again) == files

    asyncio.run(story())


def test_with_a_snapshot_only_the_tail_is_read(tmp_path: Path) -> None:
    """C-79."""

    async def story() -> None:
        desk, digests, snapshot = await lived_in(tmp_path)
        log = counted(desk)
        log.lowest, log.count = 10**9, 0
        rebuilt = await rebuild(desk.parts(), desk.settings)
        assert rebuilt.digests == digests
        assert log.lowest == snapshot + 1
        assert log.count <= rebuilt.seq - snapshot + 6
        log.lowest = 10**9
        await rebuild(desk.parts(), desk.settings, full=True)
        assert log.lowest == 1

    asyncio.run(story())


def test_a_long_history_is_rebuilt_from_its_tail_as_from_its_beginning(tmp_path: Path, soak: bool) -> None:
    """C-79: with 100,000 events in the long form of the tests."""
    count = 100_000 if soak else 3_000

    def drafts(start: int, end: int) -> list[Draft]:
        made: list[Draft] = []
        for number in range(start, end):
            path, there = f"d{number % 50}", (number // 50) % 2
            entry = Entry("dir", 0o755)
            fact = FileDeleted("main", path, entry) if there else FileWritten("main", path, entry)
            name = f"01900000-0000-7000-9000-{number:012x}"
            kind = known.type_of(fact).name
            made.append(Draft(name, number, "me", "user", kind, known.encode(fact), bytes(16)))
        return made

    async def story() -> None:
        desk = Desk(tmp_path, log=Counting(MemoryLog()), settings=Settings(snapshots=SnapshotSettings(1)))
        computer = await desk.open()
        await computer.journal.append(drafts(0, count))
        await computer.start()
        kept = await computer.keep_snapshot()
        assert kept is not None
        await computer.journal.append(drafts(count, count + 100))
        await computer.start()
        digests = computer.projectors.digests()
        await computer.close()
        log = counted(desk)
        log.lowest, log.count = 10**9, 0
        rebuilt = await rebuild(desk.parts(), desk.settings)
        assert (rebuilt.snapshot, rebuilt.digests) == (kept.seq, digests)
        assert log.lowest > count
        assert log.count < 200
        assert (await rebuild(desk.parts(), desk.settings, full=True)).digests == digests

    known = registry()
    asyncio.run(story())


def test_a_view_that_was_edited_is_named_and_put_right(tmp_path: Path) -> None:
    async def story() -> None:
        desk, digests, _ = await lived_in(tmp_path)
        db = sqlite3.connect(tmp_path / "state.sqlite")
        db.executescript("UPDATE files SET mode = 511 WHERE path = 'early/7'; DELETE FROM workspaces;")
        db.close()
        rebuilt = await rebuild(desk.parts(), desk.settings)
        assert rebuilt.differed == ("workspaces", "files")
        assert await reopened(desk) == digests

    asyncio.run(story())


def test_a_crash_before_the_switch_leaves_the_tables_that_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(self: SqliteCabinet) -> None:
        raise SystemExit

    async def story() -> None:
        desk, digests, _ = await lived_in(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(SqliteCabinet, "switch", die)
            with pytest.raises(SystemExit):
                await rebuild(desk.parts(), desk.settings)
        assert await reopened(desk) == digests
        assert (await rebuild(desk.parts(), desk.settings)).digests == digests

    asyncio.run(story())


# --- Which snapshot ---


def forge(directory: Path, seq: int) -> Path:
    """Keep tables that nobody has vouched for as a snapshot, in which a workspace has another name."""
    path = directory / "snapshots" / "forged"
    (kept,) = directory.glob("snapshots/*.sqlite")
    shutil.copy(kept, path)
    db = sqlite3.connect(path)
    db.executescript(f"UPDATE workspaces SET name = 'forged'; UPDATE projections SET seq = {seq};")
    db.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path.rename(directory / "snapshots" / f"{seq:012d}-{digest}.sqlite")


@pytest.mark.parametrize("later", [-1, 0, 1, 1000])
def test_a_snapshot_that_the_log_does_not_vouch_for_is_ignored(tmp_path: Path, later: int) -> None:
    async def story() -> None:
        desk, digests, snapshot = await lived_in(tmp_path)
        forge(tmp_path, snapshot + later)
        rebuilt = await rebuild(desk.parts(), desk.settings)
        assert rebuilt.digests == digests
        assert rebuilt.snapshot == snapshot

    asyncio.run(story())


def test_a_snapshot_that_was_changed_is_not_used(tmp_path: Path) -> None:
    async def story() -> None:
        desk, digests, _ = await lived_in(tmp_path)
        (path,) = tmp_path.glob("snapshots/*.sqlite")
        db = sqlite3.connect(path)
        db.executescript("UPDATE workspaces SET name = 'forged'")
        db.close()
        counted(desk).lowest = 10**9
        rebuilt = await rebuild(desk.parts(), desk.settings)
        assert rebuilt.digests == digests
        assert counted(desk).lowest == 1

    asyncio.run(story())


def test_the_next_older_snapshot_is_used_when_the_newest_is_gone(tmp_path: Path) -> None:
    async def story() -> None:
        desk, _, first = await lived_in(tmp_path)
        computer = await desk.open()
        second = await computer.keep_snapshot()
        assert second is not None
        await computer.close()
        desk.parts().cabinet.drop(second)
        rebuilt = await rebuild(desk.parts(), desk.settings)
        assert rebuilt.snapshot == first
        assert rebuilt.digests == await reopened(desk)

    asyncio.run(story())


# --- Damage and other versions ---


@pytest.mark.parametrize("table", ["events", "file_history", "projections", "workspaces"])
def test_tables_of_which_a_part_is_damaged_are_rebuilt(tmp_path: Path, table: str) -> None:
    async def story() -> None:
        desk, digests, _ = await lived_in(tmp_path)
        path = tmp_path / "state.sqlite"
        db = sqlite3.connect(path)
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
        db.close()
        content = bytearray(path.read_bytes())
        content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
        path.write_bytes(content)
        assert (await rebuild(desk.parts(), desk.settings, full=True)).digests == digests
        assert await reopened(desk) == digests

    asyncio.run(story())


def test_a_snapshot_of_an_older_view_does_not_stand_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        desk, digests, _ = await lived_in(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(FilesProjector, "version", 2)
            assert await reopened(desk) == digests
            assert (await rebuild(desk.parts(), desk.settings)).digests == digests

    asyncio.run(story())


class Sending(MemoryRepository):
    """Counts what left the machine."""

    sent = 0

    async def push(self, url: str, branch: str) -> str:
        self.sent += 1
        return await super().push(url, branch)


def rebuilt_by_hand(desk: Desk) -> None:
    asyncio.run(rebuild(desk.parts(), desk.settings))


def damaged(desk: Desk) -> None:
    (desk.directory / "state.sqlite").write_bytes(b"not a database, but longer than a header " * 9)


def lost(desk: Desk) -> None:
    (desk.directory / "state.sqlite").unlink()


@pytest.mark.parametrize("harm", [rebuilt_by_hand, damaged, lost])
def test_what_left_the_machine_before_a_rebuild_does_not_leave_again(
    tmp_path: Path, harm: Callable[[Desk], None]
) -> None:
    async def story() -> tuple[Desk, Sending, Point]:
        desk, _, _ = await lived_in(tmp_path)
        desk.repositories["main"] = repository = Sending()
        computer = await desk.open()
        await Hand(computer).do(MakeCheckpoint("main", "a point"))
        asked = await computer.kernel.handle(PushCheckpoint("main", "/srv/backup.git"), Context("me"))
        assert isinstance(asked, Asked)
        shown = computer.approvals.get(asked.request)
        assert shown is not None
        await Hand(computer).do(DecideApproval(asked.request, shown.digest, "allow"))
        (event,) = await computer.journal.fetch([shown.seq])
        await computer.kernel.recorded(event, asked.request)
        head = await computer.journal.head()
        await computer.close()
        assert repository.sent == 1
        return desk, repository, head

    desk, repository, head = asyncio.run(story())
    harm(desk)
    again = asyncio.run(desk.open())
    assert repository.sent == 1
    assert asyncio.run(again.journal.head()) == head


def test_what_an_effect_had_still_to_do_is_done_after_a_rebuild(tmp_path: Path) -> None:
    async def story() -> None:
        desk, _, _ = await lived_in(tmp_path)
        computer = await desk.open()
        desk.trees["main"].outside_special("in the way")
        assert (await Hand(computer).mkdir("in the way")).troubles
        await computer.close()
        await rebuild(desk.parts(), desk.settings)
        desk.trees["main"].outside_remove("in the way")
        await (await desk.open()).close()
        assert desk.trees["main"]._nodes["in the way"].kind == "dir"

    asyncio.run(story())


def test_after_a_rebuild_of_damaged_tables_the_folders_are_swept(tmp_path: Path) -> None:
    async def story() -> None:
        desk, _, _ = await lived_in(tmp_path)
        left = TEMPORARY + "1"
        desk.trees["main"].outside_write(left, b"half")
        damaged(desk)
        again = await desk.open()
        await again.merger.capture("main")
        assert left not in desk.trees["main"]._nodes

    asyncio.run(story())


@pytest.mark.parametrize("full", [False, True], ids=["from a snapshot", "from the beginning"])
def test_a_hand_edit_that_nobody_has_recorded_is_no_conflict_after_a_rebuild(
    tmp_path: Path, full: bool
) -> None:
    async def story() -> None:
        desk, _, _ = await lived_in(tmp_path)
        computer = await desk.open()
        await Hand(computer).write("early/1", b"by the log\n")
        await computer.close()
        desk.trees["main"].outside_write("early/1", b"by hand\n")
        await rebuild(desk.parts(), desk.settings, full=full)
        again = await desk.open()
        (event,) = (await again.merger.capture("main")).events
        assert event.head.source == "user"
        assert desk.trees["main"].outside_read("early/1") == b"by hand\n"
        assert len(await standing(again)) == 30 + 2 + 2

    asyncio.run(story())


# --- Everything at once ---


async def busy(computer: Computer) -> None:
    hand = Hand(computer)
    for number in range(12):
        await hand.write(
            f"d{number % 3}/f{number}", f"{number}\n".encode() * number, 0o755 if number % 2 else 0o644
        )
    await hand.link("d0/link", "../d1/f1")
    await hand.mkdir("empty/inside", 0o700)
    await hand.move("d0", "moved/there")
    await hand.remove("d1", recursive=True)
    await hand.undo()
    await hand.redo()
    await hand.undo()
    await hand.do(MakeCheckpoint("main", "a point"))
    await computer.keep_snapshot()
    await hand.write("ünï\N{GRINNING FACE}", b"\x00\xff")


def test_tables_snapshots_and_folder_come_back_in_memory(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path, settings=Settings(snapshots=SnapshotSettings(events_max=1)))
        computer = await desk.open()
        await busy(computer)
        digests, files, head = (
            computer.projectors.digests(),
            await standing(computer),
            await computer.journal.head(),
        )
        await computer.close()
        shutil.rmtree(tmp_path)
        desk.trees.clear()
        assert (await rebuild(desk.parts(), desk.settings)).digests == digests
        again = await desk.open()
        assert (await again.merger.capture("main")).events == ()
        assert await standing(again) == files
        assert await again.journal.head() == head
        for path, (kind, _, content) in files.items():
            if kind == "file":
                assert desk.trees["main"].outside_read(path) == content

    asyncio.run(story())


def test_tables_snapshots_and_folder_come_back_on_a_disk(tmp_path: Path) -> None:
    async def story() -> None:
        place = DiskPlace(tmp_path)
        computer = await place.open()
        await busy(computer)
        digests, files, head = (
            computer.projectors.digests(),
            await standing(computer),
            await computer.journal.head(),
        )
        assert place.look() == files
        await computer.close()
        shutil.rmtree(place.root)
        for path in place.root.parent.joinpath(".choir").iterdir():
            if path.name.startswith("state"):
                path.unlink()
            elif path.name == "snapshots":
                shutil.rmtree(path)
        again = await place.open()
        assert again.projectors.digests() == digests
        assert (await again.merger.capture("main")).events == ()
        assert await again.journal.head() == head
        assert place.look() == await standing(again) == files
        await again.close()

    asyncio.run(story())


class Failing(Wrapped):
    """A log whose disk fails in the middle."""

    async def read(
        self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000
    ) -> AsyncIterator[list[Record]]:
        async for records in self.inner.read(user, after, limit=limit, batch=10):
            yield records
            raise Unavailable("log.unavailable", "The disk fails.", fix="Check it.")


@pytest.mark.parametrize("full", [False, True], ids=["from a snapshot", "from the beginning"])
def test_a_rebuild_that_fails_leaves_nothing_beside_and_all_as_it_was(tmp_path: Path, full: bool) -> None:
    async def story() -> None:
        desk, digests, _ = await lived_in(tmp_path)
        good = counted(desk)
        desk.log = Failing(good.inner)
        with pytest.raises(Unavailable):
            await rebuild(desk.parts(), desk.settings, full=full)
        assert list(tmp_path.rglob("state.next*")) == []
        desk.log = good
        assert await reopened(desk) == digests

    asyncio.run(story())
