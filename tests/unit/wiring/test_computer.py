"""One person's computer: how it starts, keeps snapshots, and takes turns with others."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from choiros.features.audit.events import SnapshotKept
from choiros.features.files.events import FileWritten
from choiros.kernel.command import Context
from choiros.kernel.errors import Unavailable
from choiros.kernel.event import Draft, Event, Source
from choiros.kernel.tree import Entry
from choiros.settings import CheckpointSettings, Settings, SnapshotSettings
from choiros.wiring import Computer, open_computer, projectors, registry
from tests.computers import Desk
from tests.golden.record import seen
from tests.places import Hand, head, recorded


def snapshots(events_max: int, kept: int = 2) -> Settings:
    return Settings(snapshots=SnapshotSettings(events_max=events_max, kept=kept))


async def written(computer: Computer, *numbers: int) -> None:
    for number in numbers:
        await Hand(computer).write(f"file {number}", f"{number}".encode())


def test_the_first_start_makes_a_workspace_and_the_next_ones_do_not(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        for _ in range(3):
            computer = await desk.open()
            assert [one.name for one in computer.workspaces.all()] == ["main"]
            assert [event.head.event_type for event in await recorded(computer)] == [
                "policy.verdict",
                "workspace.create",
            ]
            await computer.close()

    asyncio.run(story())


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await written(computer, 1, 2)
        digests, events = computer.projectors.digests(), await recorded(computer)
        await computer.close()
        again = await desk.open()
        assert again.projectors.digests() == digests
        assert await recorded(again) == events
        assert list(again.files.below("main")) == ["file 1", "file 2"]

    asyncio.run(story())


def test_what_others_wrote_is_seen_at_the_start(tmp_path: Path) -> None:
    async def story() -> None:
        desk, other = Desk(tmp_path / "one"), Desk(tmp_path / "other")
        other.log, other.blobs, other.ids = desk.log, desk.blobs, desk.ids
        await (await desk.open()).close()
        writer = await other.open()
        await written(writer, 1)
        await writer.close()
        assert list((await desk.open()).files.below("main")) == ["file 1"]
        assert desk.trees["main"].outside_read("file 1") == b"1"

    asyncio.run(story())


def test_person_agent_and_program_share_one_order(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        sources: list[Source] = ["user", "agent", "system", "agent", "user", "system", "user"]
        told: list[int] = []
        for number, source in enumerate(sources):
            hand = Hand(computer, source=source, run="r" if source == "agent" else None)
            outcome = await hand.write("shared", f"{number}\n".encode())
            told += [event.seq for event in outcome.events]
        events = await recorded(computer)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        found = [event for event in events if event.head.event_type == "file.write"]
        assert [event.seq for event in found] == told == sorted(told)
        assert [event.head.source for event in found] == sources

    asyncio.run(story())


def test_many_wishes_at_the_same_time_are_all_carried_out(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await asyncio.gather(*(written(computer, number) for number in range(20)))
        assert len(computer.files.below("main")) == 20
        for number in range(20):
            assert desk.trees["main"].outside_read(f"file {number}") == f"{number}".encode()
        rebuilt, _ = await seen([event.record for event in await recorded(computer)])
        assert rebuilt.digests() == computer.projectors.digests()

    asyncio.run(story())


def test_the_persons_wishes_carry_run_and_session(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        assert computer.context(run="r", session="s") == Context("me", session="s", run="r")
        assert computer.context() == Context("me")

    asyncio.run(story())


# --- Snapshots ---


def test_a_snapshot_is_kept_after_enough_events_and_the_log_vouches_for_it(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path, settings=snapshots(10))
        computer = await desk.open()
        assert await computer.keep_snapshot() is None
        await written(computer, 1, 2, 3, 4)
        position = await head(computer)
        snapshot = await computer.keep_snapshot()
        assert snapshot is not None
        assert snapshot.seq == position
        events = await recorded(computer, after=position)
        assert [event.head.event_type for event in events] == ["policy.verdict", "snapshot"]
        assert events[1].head.source == "system"
        assert events[1].payload == SnapshotKept(snapshot.seq, snapshot.digest)
        assert await computer.keep_snapshot() is None

    asyncio.run(story())


@pytest.mark.parametrize(("kept", "left"), [(0, 1), (1, 1), (2, 2)])
def test_only_the_newest_snapshots_are_kept(tmp_path: Path, kept: int, left: int) -> None:
    async def story() -> None:
        desk = Desk(tmp_path, settings=snapshots(1, kept))
        computer = await desk.open()
        made = []
        for number in range(4):
            await written(computer, number)
            made.append(await computer.keep_snapshot())
        assert desk.parts().cabinet.snapshots() == list(reversed(made))[:left]

    asyncio.run(story())


# --- Checkpoints by themselves ---


def test_a_checkpoint_is_made_after_enough_changes(tmp_path: Path) -> None:
    async def story() -> None:
        settings = Settings(checkpoints=CheckpointSettings(events_max=3))
        computer = await Desk(tmp_path, settings=settings).open()
        await written(computer, 1, 2)
        assert computer.checkpoints.all("main") == []
        await written(computer, 3)
        (point,) = computer.checkpoints.all("main")
        assert point.automatic
        assert point.commit is not None

    asyncio.run(story())


# --- Turns ---


def test_a_computer_holds_the_lock_until_it_lets_go(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path, settings=Settings(lock_timeout_s=0))
        parts = desk.parts()
        computer = await open_computer(parts, desk.settings, write=True, notice=desk.notices.append)
        assert computer.holds_lock
        with pytest.raises(Unavailable):
            await parts.lock.acquire(0)
        computer.release()
        computer.release()
        await parts.lock.acquire(0)
        with pytest.raises(Unavailable):
            await computer.hold()
        parts.lock.release()
        await computer.hold()
        await computer.close()
        await parts.lock.acquire(0)

    asyncio.run(story())


def test_who_takes_the_turn_again_sees_what_happened_meanwhile(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        one = await desk.open()
        one.release()
        other = await desk.open()
        await written(other, 1)
        other.release()
        await one.hold()
        assert one.projectors.position() == await one.journal.head()
        assert list(one.files.below("main")) == ["file 1"]
        await written(one, 2)
        assert [view.name for view in projectors(registry())] == list(one.projectors.digests())

    asyncio.run(story())


def test_who_takes_the_turn_again_brings_the_views_to_what_a_crash_left_in_the_log(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        computer.release()
        event = desk.ids.event_id(1)
        fact = computer.journal.registry.encode(FileWritten("main", "d", Entry("dir", 0o755)))
        await computer.journal.append([Draft(event, 1, "me", "user", "file.write", fact, bytes(16))])
        await computer.hold()
        assert computer.projectors.position() == await computer.journal.head()
        assert list(computer.files.below("main")) == ["d"]
        assert list(desk.trees["main"]._nodes) == ["d"]

    asyncio.run(story())


def test_a_look_at_a_folder_takes_nothing_away_while_the_views_cannot_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-23: the log has it, the views do not: the folder must not be made to show the old state."""

    def full(events: Sequence[Event]) -> None:
        raise Unavailable("state.unavailable", "The disk is full.", fix="Free some space.")

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await Hand(computer).write("known", b"known")
        desk.trees["main"].outside_write("mine", b"mine")
        with monkeypatch.context() as patch:
            patch.setattr(computer.projectors, "apply", full)
            with pytest.raises(Unavailable):
                await computer.merger.capture("main")
            assert desk.trees["main"].outside_read("mine") == b"mine"
        await computer.merger.capture("main")
        assert desk.trees["main"].outside_read("mine") == b"mine"
        assert computer.files.entry("main", "mine") is not None
        await computer.close()

    asyncio.run(story())
