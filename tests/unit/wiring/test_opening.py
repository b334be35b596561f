"""A computer opens on whatever it finds: repaired where that loses nothing, refused with a reason where it might."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from choiros.engines.log.memory import MemoryLog
from choiros.features.files.view import FilesProjector
from choiros.kernel.errors import ChoirError, Corrupt, Rejected, Unavailable
from choiros.kernel.event import Point, Record
from choiros.kernel.path import TEMPORARY
from choiros.settings import Settings, SnapshotSettings
from choiros.wiring import Computer, open_computer, rebuild
from tests.computers import Desk
from tests.places import DiskPlace, Hand, recorded
from tests.unit.kernel.notes import Wrapped

STATE = "state.sqlite"


async def lived_in(directory: Path) -> tuple[Desk, dict[str, str]]:
    """Return a desk on which something has happened, and the digests of its views."""
    desk = Desk(directory)
    computer = await desk.open()
    hand = Hand(computer)
    for number in range(8):
        await hand.write(f"notes/{number}.md", f"{number}\n".encode() * 50)
    await hand.undo()
    digests = computer.projectors.digests()
    await computer.close()
    return desk, digests


def records_of(desk: Desk) -> list[Record]:
    assert isinstance(desk.log, MemoryLog)
    return desk.log._records["me"]


# --- Repaired ---


def remove(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def cut_pages(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:8192])


def replace_by_text(path: Path) -> None:
    path.write_text("not a database at all\n" * 1000)


def replace_by_another_database(path: Path) -> None:
    path.unlink()
    sqlite3.connect(path).executescript("CREATE TABLE theirs(x); INSERT INTO theirs VALUES (1);").close()


def overwrite_the_schema(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)


def sql(statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        db = sqlite3.connect(path)
        db.executescript(statements)
        db.close()

    return change


def test_a_state_that_is_gone_is_made_again_without_a_word(tmp_path: Path) -> None:
    async def story() -> None:
        desk, digests = await lived_in(tmp_path)
        for harm in (remove, empty):
            harm(tmp_path / STATE)
            computer = await desk.open()
            assert computer.projectors.digests() == digests
            await computer.close()
        assert desk.notices == []

    asyncio.run(story())


def test_a_state_that_is_gone_is_made_again_from_the_newest_snapshot(tmp_path: Path) -> None:
    """C-79: only what is newer than the snapshot is read."""

    async def story() -> None:
        desk, digests = await lived_in(tmp_path)
        desk.settings = Settings(snapshots=SnapshotSettings(events_max=1))
        computer = await desk.open()
        snapshot = await computer.keep_snapshot()
        assert snapshot is not None
        await Hand(computer).write("more", b"more")
        digests = computer.projectors.digests()
        await computer.close()
        remove(tmp_path / STATE)
        records = records_of(desk)
        # What the snapshot holds is not read again: this would be found.
        records[3] = records[3]._replace(payload=b"{}")
        again = await desk.open()
        assert again.projectors.digests() == digests
        assert desk.notices == []
        await again.close()

    asyncio.run(story())


def test_what_a_kill_left_in_the_folder_is_cleared_also_when_the_state_is_gone(tmp_path: Path) -> None:
    async def story() -> None:
        place = DiskPlace(tmp_path)
        computer = await place.open()
        await Hand(computer).write("a", b"1")
        await computer.close()
        place.write(f"{TEMPORARY}left", b"half of it")
        (place.root.parent / ".choir" / STATE).unlink()
        again = await place.open()
        assert (await again.merger.capture("main")).unkept == {}
        assert list(place.look()) == ["a"]
        await again.close()

    asyncio.run(story())


HARMS: dict[str, Callable[[Path], None]] = {
    "cut": cut,
    "cut to two pages": cut_pages,
    "text in its place": replace_by_text,
    "another database in its place": replace_by_another_database,
    "schema overwritten": overwrite_the_schema,
    "mark changed": sql("PRAGMA application_id = 7"),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS.keys())
def test_a_state_that_was_damaged_is_made_again_and_the_person_is_told(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    async def story() -> None:
        desk, digests = await lived_in(tmp_path)
        harm(tmp_path / STATE)
        computer = await desk.open()
        assert computer.projectors.digests() == digests
        (notice,) = desk.notices
        assert "damaged" in notice
        assert "nothing is lost" in notice
        await Hand(computer).write("more", b"more")
        await computer.close()
        assert len(desk.notices) == 1

    asyncio.run(story())


@pytest.mark.parametrize("gone", ["projections", "events", "approvals"])
def test_a_state_of_which_a_table_is_gone_is_made_again(tmp_path: Path, gone: str) -> None:
    async def story() -> None:
        desk, digests = await lived_in(tmp_path)
        sql(f"DROP TABLE {gone}")(tmp_path / STATE)
        rebuilt = await rebuild(desk.parts(), desk.settings)
        assert rebuilt.digests == digests
        computer = await desk.open()
        assert computer.projectors.digests() == digests
        await computer.close()

    asyncio.run(story())


def test_a_state_that_contradicts_the_log_is_made_again_when_that_is_noticed(tmp_path: Path) -> None:
    async def story() -> None:
        desk, _ = await lived_in(tmp_path)
        other = Desk(tmp_path / "other", log=desk.log, blobs=desk.blobs, ids=desk.ids)
        writer = await other.open()
        await Hand(writer).write("more", b"more")
        digests = writer.projectors.digests()
        await writer.close()
        sql(
            "INSERT INTO file_history SELECT workspace, 'more', (SELECT max(seq) + 2 FROM events), kind, mode, "
            "size, content, target, NULL, NULL FROM file_history LIMIT 1"
        )(tmp_path / STATE)
        computer = await desk.open()
        assert computer.projectors.digests() == digests
        assert len(desk.notices) == 1

    asyncio.run(story())


def test_a_view_of_an_older_program_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        desk, digests = await lived_in(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(FilesProjector, "version", 2)
            computer = await desk.open()
            assert computer.projectors.digests() == digests
            assert computer.tables.query("SELECT version FROM projections WHERE name = 'files'") == [(2,)]
            assert len(desk.notices) == 1
            await computer.close()

    asyncio.run(story())


def test_what_was_repaired_leaves_no_hold_on_what_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        desk, _ = await lived_in(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(FilesProjector, "version", 2)
            computer = await desk.open()
            links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
            assert [link for link in links if link.endswith("(deleted)") and str(tmp_path) in link] == []
            await computer.close()

    asyncio.run(story())


# --- Refused ---


async def looked_at(desk: Desk) -> Corrupt:
    """Open a computer whose log is not what it was: it can be looked at, it says so, and nothing changes it (F-08)."""
    before, folder = list(records_of(desk)), dict(desk.trees["main"]._nodes)
    computer = await desk.open()
    assert computer.fault is not None
    assert desk.notices[-1].startswith(f"READ-ONLY: {computer.fault.message}")
    assert computer.files.below("main")
    with pytest.raises(Corrupt) as caught:
        await Hand(computer).write("new", b"new")
    assert caught.value is computer.fault
    assert records_of(desk) == before
    assert desk.trees["main"]._nodes == folder
    await computer.close()
    return computer.fault


async def refused(desk: Desk) -> ChoirError:
    """Try to open, and check that nothing was changed and nobody is kept out by it."""
    parts = desk.parts()
    before = {path.name: path.read_bytes() for path in desk.directory.glob("*.sqlite")}
    records = list(records_of(desk))
    with pytest.raises(ChoirError) as caught:
        await open_computer(parts, desk.settings, write=True, notice=desk.notices.append)
    assert {path.name: path.read_bytes() for path in desk.directory.glob("*.sqlite")} == before
    assert records_of(desk) == records
    assert desk.notices == []
    await parts.lock.acquire(0)
    return caught.value


def test_a_view_of_a_newer_program_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(FilesProjector, "version", 2)
            desk, _ = await lived_in(tmp_path)
        error = await refused(desk)
        assert isinstance(error, Rejected)
        assert error.code == "state.newer"

    asyncio.run(story())


def test_a_state_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        desk, _ = await lived_in(tmp_path)
        sql("PRAGMA user_version = 99")(tmp_path / STATE)
        error = await refused(desk)
        assert isinstance(error, Rejected)
        assert error.code == "state.newer"

    asyncio.run(story())


def test_a_log_that_is_shorter_than_the_views_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        desk, _ = await lived_in(tmp_path)
        seen = len(records_of(desk))
        del records_of(desk)[-3:]
        error = await looked_at(desk)
        assert error.code == "log.shorter"
        assert f"ends at event {seen - 3}, but the views have seen event {seen}" in error.message

    asyncio.run(story())


def test_a_log_that_was_changed_behind_the_views_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        desk, _ = await lived_in(tmp_path)
        other = Desk(tmp_path / "other", log=desk.log, blobs=desk.blobs, ids=desk.ids)
        writer = await other.open()
        await Hand(writer).write("more", b"more")
        number = (await recorded(writer))[-1].seq
        await writer.close()
        records_of(desk)[number - 1] = records_of(desk)[number - 1]._replace(payload=b"{}")
        error = await looked_at(desk)
        assert (error.code, error.fields["seq"]) == ("log.broken", number)

    asyncio.run(story())


def test_a_log_that_cannot_be_read_is_told_and_nobody_says_that_it_is_mended(tmp_path: Path) -> None:
    class Torn(Wrapped):
        async def head(self, user: str) -> Point:
            raise Corrupt("log.damaged", "log.db is damaged.", fix="Restore it.")

    async def story() -> None:
        desk, _ = await lived_in(tmp_path)
        before = (tmp_path / STATE).read_bytes()
        desk.log = Torn(desk.log)
        with pytest.raises(Corrupt, match="is damaged"):
            await desk.open()
        assert desk.notices == []
        assert (tmp_path / STATE).read_bytes() == before

    asyncio.run(story())


def test_a_log_that_was_replaced_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        desk, _ = await lived_in(tmp_path)
        stranger, _ = await lived_in(tmp_path / "stranger")
        records_of(desk)[:] = records_of(stranger)[:5]
        assert (await looked_at(desk)).code == "log.shorter"

    asyncio.run(story())


# --- Beside others ---


def test_a_writer_waits_its_turn_and_is_told_when_it_does_not_come(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path, settings=Settings(lock_timeout_s=0))
        parts = desk.parts()
        holder = await open_computer(parts, desk.settings, write=True, notice=desk.notices.append)
        with pytest.raises(Unavailable) as caught:
            await open_computer(parts, desk.settings, write=True, notice=desk.notices.append)
        assert caught.value.code == "lock.held"
        await holder.close()

    asyncio.run(story())


def test_a_reader_reads_what_the_one_who_holds_it_leaves(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        parts = desk.parts()
        holder = await open_computer(parts, desk.settings, write=True, notice=desk.notices.append)
        reader = await open_computer(parts, desk.settings, write=False, notice=desk.notices.append)
        assert not reader.holds_lock
        await Hand(holder).write("new", b"new")
        assert list(reader.files.below("main")) == ["new"]
        reader.release()
        with pytest.raises(Unavailable):
            await parts.lock.acquire(0)
        holder.release()

    asyncio.run(story())


def test_a_reader_that_is_alone_holds_it(tmp_path: Path) -> None:
    async def story() -> Computer:
        desk = Desk(tmp_path)
        return await open_computer(desk.parts(), desk.settings, write=False, notice=desk.notices.append)

    assert asyncio.run(story()).holds_lock
