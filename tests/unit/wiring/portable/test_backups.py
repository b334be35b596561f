"""Backups: made, read back, recorded, due, tried, and removed only when newer ones stand in for them (C-23)."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from choiros.engines.archive.tar import TarArchive
from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone
from choiros.features.backups.schedule import DAY_MS, HOUR_MS
from choiros.kernel.archive import Part
from choiros.kernel.errors import ChoirError, Rejected, Unavailable
from choiros.settings import Resolved
from choiros.testing.clock import FakeClock
from choiros.wiring import Computer, disk_parts, open_computer
from choiros.wiring.portable.backups import Backups, check_outside, tar_archive
from choiros.wiring.portable.unpacking import check
from tests.carrying import at, silent
from tests.places import Hand

pytestmark = pytest.mark.anyio

NOON = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp() * 1000)


class Scene:
    """A computer with a clock to be moved, and a folder for backups."""

    def __init__(self, computer: Computer, resolved: Resolved, clock: FakeClock) -> None:
        self.computer, self.clock = computer, clock
        self.backups = Backups(computer, resolved)
        self.folder = Path(resolved.settings.backup.directory)

    async def make(self, *, automatic: bool = False) -> BackupMade:
        return await self.backups.make(automatic=automatic, progress=silent)

    async def newest(self) -> object:
        head = await self.computer.journal.head()
        return (await self.computer.journal.fetch([head.seq]))[0].payload


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    (tmp_path / "disk").mkdir()
    resolved = at(tmp_path / "home", backup__directory=str(tmp_path / "disk"), backup__keep_daily="2")
    clock = FakeClock()
    clock.move(NOON - clock.now_ms())
    parts = replace(disk_parts(resolved), clock=clock)
    computer = await open_computer(parts, resolved.settings, write=True, notice=pytest.fail)
    await Hand(computer).write("a.txt", b"one\n")
    yield Scene(computer, resolved, clock)
    await computer.close()


async def test_a_backup_is_whole_and_recorded_with_its_place_and_its_hash(scene: Scene) -> None:
    made = await scene.make()
    assert await scene.newest() == made
    file = Path(made.file)
    assert file == scene.folder / f"choir-me-20260302T120000Z-{made.seq}.tar"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == made.sha256
    assert (await check(tar_archive(file), progress=silent)).seq == made.seq
    (kept,) = scene.backups.kept()
    assert (kept.file, kept.timestamp, kept.seq, kept.size_bytes) == (
        made.file,
        NOON,
        made.seq,
        made.size_bytes,
    )


async def test_older_ones_give_way_after_the_new_one_is_recorded(scene: Scene) -> None:
    made: list[BackupMade] = []
    for _ in range(3):
        made.append(await scene.make())
        await Hand(scene.computer).write("a.txt", made[-1].sha256.encode())
        scene.clock.move(HOUR_MS)
    assert made[-1].removed == (Path(made[1].file).name,)
    assert [one.file for one in scene.backups.kept()] == [made[-1].file]
    scene.clock.move(DAY_MS)
    await scene.make()
    assert len(scene.backups.kept()) == 2


async def test_only_backups_of_this_person_are_listed_and_removed(scene: Scene) -> None:
    others = ["choir-anna-20200101T000000Z-1.tar", "holiday.tar", "choir-me-20200101T000000Z-1.tar.old"]
    for name in others:
        (scene.folder / name).write_bytes(b"x")
    (scene.folder / "choir-me-20200101T000000Z-1.tar").symlink_to(scene.folder / "holiday.tar")
    await scene.make()
    assert len(scene.backups.kept()) == 1
    assert all((scene.folder / name).exists() for name in others)


async def test_what_this_history_does_not_know_gives_way_to_nothing(scene: Scene) -> None:
    """After a restore, a backup of what came later must not be removed for one of what came before."""
    later = scene.folder / "choir-me-20260302T110000Z-999.tar"
    later.write_bytes(b"x")
    assert (await scene.make()).removed == ()
    assert later.exists()
    assert len(scene.backups.kept()) == 2


async def test_one_that_cannot_be_read_back_is_removed_and_the_older_ones_stay(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await scene.make()
    await Hand(scene.computer).write("a.txt", b"two\n")
    scene.clock.move(DAY_MS)
    read = TarArchive.read

    async def rotten(self: TarArchive) -> AsyncIterator[Part]:
        path = self._path
        path.write_bytes(path.read_bytes().replace(b"two\n", b"tvo\n"))
        async for part in read(self):
            yield part

    monkeypatch.setattr(TarArchive, "read", rotten)
    with pytest.raises(ChoirError):
        await scene.make()
    assert [one.file for one in scene.backups.kept()] == [first.file]
    failed = await scene.newest()
    assert isinstance(failed, BackupFailed)
    assert "another hash" in failed.reason


async def test_a_folder_that_is_not_there_is_not_made(scene: Scene) -> None:
    """Where a disk is missing, its place on this one would be filled."""
    scene.folder.rmdir()
    with pytest.raises(Unavailable) as caught:
        await scene.make()
    assert caught.value.code == "backup.no_directory"
    assert not scene.folder.exists()
    assert isinstance(await scene.newest(), BackupFailed)


async def test_it_is_due_when_something_has_happened_for_long_enough(scene: Scene) -> None:
    assert await scene.backups.is_due()
    await scene.make(automatic=True)
    scene.clock.move(2 * DAY_MS)
    assert not await scene.backups.is_due(), "nothing has happened since"
    await Hand(scene.computer).write("a.txt", b"two\n")
    assert await scene.backups.is_due()
    await scene.make(automatic=True)
    await Hand(scene.computer).write("a.txt", b"three\n")
    assert not await scene.backups.is_due(), "a day has not passed"


async def test_after_a_failure_it_is_due_again_within_the_hour(scene: Scene) -> None:
    scene.folder.rmdir()
    with pytest.raises(Unavailable):
        await scene.make(automatic=True)
    assert not await scene.backups.is_due()
    scene.clock.move(HOUR_MS)
    assert await scene.backups.is_due()


async def test_a_drill_restores_the_newest_and_records_that_it_went_well(scene: Scene) -> None:
    made = await scene.make()
    done = await scene.backups.drill(progress=silent)
    assert done == await scene.newest() == DrillDone(made.file, made.seq, ok=True)


async def test_a_drill_records_that_the_newest_cannot_be_restored_and_why(scene: Scene) -> None:
    made = await scene.make()
    Path(made.file).write_bytes(Path(made.file).read_bytes()[:-600])
    done = await scene.backups.drill(progress=silent)
    assert (done.ok, done.file) == (False, made.file)
    assert "cut off" in done.reason
    assert done == await scene.newest()


async def test_there_must_be_a_backup_to_be_tried(scene: Scene) -> None:
    with pytest.raises(Rejected) as caught:
        await scene.backups.drill(progress=silent)
    assert caught.value.code == "backup.none"


@pytest.mark.parametrize(
    ("directory", "code"),
    [
        ("", "backup.not_configured"),
        ("disk", "backup.bad_directory"),
        ("HOME/backups", "backup.inside"),
        ("HOME/users/me/workspace/backups", "backup.inside"),
    ],
)
async def test_a_folder_that_will_not_do_is_refused(scene: Scene, directory: str, code: str) -> None:
    home = scene.folder.parent / "home"
    resolved = at(home, backup__directory=directory.replace("HOME", str(home)))
    with pytest.raises(Rejected) as caught:
        Backups(scene.computer, resolved).kept()
    assert caught.value.code == code


async def test_a_copy_lies_neither_in_a_workspace_nor_in_the_data(scene: Scene) -> None:
    home = scene.folder.parent / "home"
    way = scene.folder / "way-in"
    way.symlink_to(home / "users/me/workspace")
    check_outside(scene.computer, home, path=scene.folder / "me.tar")
    for path in (home / "me.tar", home / "users/me/workspace/me.tar", way / "me.tar"):
        with pytest.raises(Rejected) as caught:
            check_outside(scene.computer, home, path=path)
        assert caught.value.code == "backup.inside"


async def test_nothing_is_due_without_a_folder(scene: Scene) -> None:
    assert not await Backups(scene.computer, at(scene.folder.parent / "home")).is_due()
