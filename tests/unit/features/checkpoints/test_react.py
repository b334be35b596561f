"""What checkpoints cause: commits that hold what belongs there, and automatic ones."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from choiros.engines.repository.memory import MemoryRepository
from choiros.features.checkpoints.commands import MakeCheckpoint
from choiros.features.checkpoints.events import CheckpointMade, PushRequested
from choiros.features.checkpoints.react import OTHER_COMMIT, kept_in_commits
from choiros.features.files.commands import Change, ChangeFiles
from choiros.features.files.ignore import Ignore
from choiros.features.workspaces.commands import ArchiveWorkspace, CreateWorkspace
from choiros.kernel.blob import BlobStore
from choiros.kernel.dispatch import Done
from choiros.kernel.errors import Unavailable
from choiros.kernel.event import Event
from choiros.kernel.repository import Commit
from choiros.kernel.tree import Entry
from choiros.settings import CheckpointSettings, Settings
from choiros.wiring import Computer
from tests.computers import Desk

MINUTE_MS = 60_000


async def write(computer: Computer, *paths: str, workspace: str = "main", content: bytes = b"x") -> Done:
    digest = await computer.parts.blobs.put(content)
    changes = tuple(Change(path, Entry("file", 0o644, len(content), digest)) for path in paths)
    done = await computer.kernel.handle(ChangeFiles(workspace, changes), computer.context())
    assert isinstance(done, Done)
    return done


async def checkpoint(computer: Computer, message: str = "one") -> Event:
    done = await computer.kernel.handle(MakeCheckpoint("main", message), computer.context())
    assert isinstance(done, Done)
    assert not done.troubles
    return done.facts[0]


async def types(computer: Computer) -> list[str]:
    head = await computer.journal.head()
    events = await computer.journal.fetch(range(1, head.seq + 1))
    return [event.head.event_type for event in events if event.head.event_type != "policy.verdict"]


# --- Commits ---


def test_a_checkpoint_is_committed_with_its_number_and_recorded(tmp_path: Path) -> None:
    """C-28."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md", ".env", "deep/b.md")
        event = await checkpoint(computer, "before the trip")
        (commit,) = await desk.repositories["main"].log()
        assert (commit.message, commit.seq) == ("before the trip", event.seq)
        assert list(await desk.repositories["main"].files(commit.id, desk.blobs)) == ["a.md", "deep/b.md"]
        last = computer.checkpoints.last("main")
        assert last is not None
        assert (last.seq, last.commit, last.error) == (event.seq, commit.id, None)
        head = await computer.journal.head()
        (report,) = await computer.journal.fetch([head.seq])
        assert report.head.source == "system"
        assert (getattr(report.payload, "files", None), getattr(report.payload, "left_out", None)) == (2, 1)
        await computer.close()

    asyncio.run(story())


def test_a_commit_holds_what_stood_at_the_checkpoint_and_not_what_came_later(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md", content=b"then")
        desk.repositories["main"] = failing = Failing()
        failing.error = RuntimeError("the process ends here")
        with pytest.raises(RuntimeError):
            await checkpoint(computer)
        seq = (await computer.journal.head()).seq
        failing.error = None
        await write(computer, "a.md", "b.md", content=b"later")
        await again(computer, seq)
        (commit,) = await failing.log()
        files = await failing.files(commit.id, desk.blobs)
        assert list(files) == ["a.md"]
        assert files["a.md"].size == len(b"then")
        await computer.close()

    asyncio.run(story())


def test_a_commit_that_was_reported_as_failed_stays_so_when_a_crash_makes_the_committer_forget(
    tmp_path: Path,
) -> None:
    """I7: an intent has exactly one outcome; the cursor of a reactor may be older than the log after a power cut."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md")
        desk.repositories["main"] = failing = Failing()
        event = await checkpoint(computer)
        before = await types(computer)
        failing.error = None
        await again(computer, event.seq)
        assert await failing.log() == []
        assert await types(computer) == before
        await computer.close()

    asyncio.run(story())


class Failing(MemoryRepository):
    """A repository on a disk that is full for a while."""

    error: Exception | None = Unavailable(
        "repository.unavailable", "The disk is full.", fix="Free some space."
    )

    async def commit(
        self,
        files: Mapping[str, Entry],
        blobs: BlobStore,
        *,
        message: str,
        author: str,
        timestamp: int,
        seq: int,
    ) -> Commit:
        if self.error is not None:
            raise self.error
        return await super().commit(
            files, blobs, message=message, author=author, timestamp=timestamp, seq=seq
        )


def test_a_failing_repository_is_recorded_and_the_checkpoint_holds(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md")
        desk.repositories["main"] = Failing()
        event = await checkpoint(computer)
        assert (await types(computer))[-2:] == ["checkpoint", "checkpoint.failed"]
        last = computer.checkpoints.last("main")
        assert last is not None
        assert (last.seq, last.commit) == (event.seq, None)
        assert last.error == "The disk is full. Free some space."
        assert list(computer.files.below_at("main", "", seq=event.seq)) == ["a.md"]
        await computer.close()

    asyncio.run(story())


async def again(computer: Computer, seq: int) -> None:
    """Let the committer see an event again, as after a crash."""
    computer.tables.run("UPDATE reactors SET seq = ? WHERE name = 'checkpoints.committer'", [(seq - 1,)])
    assert await computer.reactors.catch_up() == {}


def test_a_repeated_reaction_after_a_crash_makes_no_second_commit(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md")
        first = await checkpoint(computer, "first")
        await write(computer, "b.md")
        await checkpoint(computer, "second")
        before = [(one.seq, one.commit) for one in computer.checkpoints.all("main")]
        await again(computer, first.seq)
        assert [one.message for one in await desk.repositories["main"].log()] == ["second", "first"]
        assert [(one.seq, one.commit) for one in computer.checkpoints.all("main")] == before
        await computer.close()

    asyncio.run(story())


def test_a_checkpoint_whose_outcome_and_all_cursors_are_lost_gets_its_outcome_at_the_next_start(
    tmp_path: Path,
) -> None:
    """I7: a power cut may take the derived tables as a whole; the log still tells what was announced."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md")
        desk.repositories["main"] = failing = Failing()
        failing.error = RuntimeError("the power goes off here")
        with pytest.raises(RuntimeError):
            await checkpoint(computer)
        failing.error = None
        await computer.close()
        for path in tmp_path.glob("state.sqlite*"):
            path.unlink()
        computer = await desk.open()
        assert (await types(computer))[-2:] == ["checkpoint", "checkpoint.commit"]
        assert len(await failing.log()) == 1
        await computer.close()

    asyncio.run(story())


def test_a_push_of_another_commit_than_the_one_looked_through_never_leaves(tmp_path: Path) -> None:
    """C-29."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md")
        event = await checkpoint(computer)
        old = PushRequested("main", "0" * 40, "/srv/elsewhere.git", "main")
        (reactor,) = [one for one in computer.reactors._reactors if one.name == "checkpoints.committer"]
        await reactor.react([Event(event.head, old, event.record, event.prev)])
        (report,) = await computer.journal.fetch([(await computer.journal.head()).seq])
        assert getattr(report.payload, "error", "") == OTHER_COMMIT
        assert desk.repositories["main"].places == {}
        await computer.close()

    asyncio.run(story())


# --- What is left out ---

LEFT_OUT = [
    ".env",
    "app/.env.production",
    "node_modules/x/index.js",
    "web/ui/node_modules/x/index.js",
    "server.log",
    "logs/today.txt",
    "data.db",
    "data.sqlite3-wal",
    "keys/server.pem",
    "id_ed25519",
    ".ssh/config",
    "a/.git/config",
    ".Choir/log.db",
    ".ENV",
    "keys/SERVER.PEM",
    "ID_RSA",
    "Data/App.SQLite3",
]
KEPT = [
    "a.md",
    ".env.example",
    "id_ed25519.pub",
    "src/logs.py",
    "node_modules.md",
    "database.md",
    ".gitignore",
]


@pytest.mark.parametrize("path", LEFT_OUT)
def test_secrets_logs_databases_and_installed_packages_never_enter_a_commit(path: str) -> None:
    """C-28."""
    entry = Entry("file", 0o644, 1, "0" * 64)
    assert kept_in_commits({path: entry, "a.md": entry}, Ignore("", checkpoint=True).matches) == {
        "a.md": entry
    }


@pytest.mark.parametrize("path", KEPT)
def test_what_only_looks_alike_enters_a_commit(path: str) -> None:
    """C-28."""
    entry = Entry("file", 0o644, 1, "0" * 64)
    assert kept_in_commits({path: entry}, Ignore("", checkpoint=True).matches) == {path: entry}


def test_directories_are_no_part_of_a_commit_but_links_are() -> None:
    link = Entry("link", 0o777, target="a.md")
    files = {"deep": Entry("dir", 0o755), "deep/link": link}
    assert kept_in_commits(files, Ignore("", checkpoint=True).matches) == {"deep/link": link}


# --- Automatic ---


def desk_with(tmp_path: Path, *, events_max: int = 1000, minutes_max: int = 1000) -> Desk:
    return Desk(tmp_path, settings=Settings(checkpoints=CheckpointSettings(events_max, minutes_max)))


def test_a_checkpoint_is_made_after_so_many_changes(tmp_path: Path) -> None:
    """C-76."""

    async def story() -> None:
        computer = await desk_with(tmp_path, events_max=3).open()
        await write(computer, "a", "b")
        assert computer.checkpoints.all("main") == []
        await write(computer, "c")
        (made,) = computer.checkpoints.all("main")
        assert (made.automatic, made.message) == (True, "Automatic, after 3 changes")
        assert made.commit is not None
        await write(computer, "d", "e")
        assert len(computer.checkpoints.all("main")) == 1
        await write(computer, "f")
        assert len(computer.checkpoints.all("main")) == 2
        await computer.close()

    asyncio.run(story())


def test_a_checkpoint_by_hand_starts_the_count_again(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await desk_with(tmp_path, events_max=3).open()
        await write(computer, "a", "b")
        await checkpoint(computer)
        await write(computer, "c", "d")
        assert [one.automatic for one in computer.checkpoints.all("main")] == [False]
        await computer.close()

    asyncio.run(story())


def test_each_workspace_counts_for_itself(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await desk_with(tmp_path, events_max=3).open()
        await computer.kernel.handle(CreateWorkspace("other"), computer.context())
        await write(computer, "a", "b")
        await write(computer, "a", "b", workspace="other")
        assert computer.checkpoints.all("main") == computer.checkpoints.all("other") == []
        await write(computer, "c", workspace="other")
        assert (len(computer.checkpoints.all("main")), len(computer.checkpoints.all("other"))) == (0, 1)
        await computer.close()

    asyncio.run(story())


def test_a_checkpoint_is_made_some_time_after_the_first_change(tmp_path: Path) -> None:
    """C-76."""

    async def story() -> None:
        desk = desk_with(tmp_path, minutes_max=30)
        computer = await desk.open()
        await write(computer, "a")
        desk.clock.move(20 * MINUTE_MS)
        await write(computer, "b")
        desk.clock.move(10 * MINUTE_MS - 1)
        await computer.automatic.tick("main")
        assert computer.checkpoints.all("main") == []
        desk.clock.move(1)
        await computer.automatic.tick("main")
        assert [one.message for one in computer.checkpoints.all("main")] == ["Automatic, after 2 changes"]
        desk.clock.move(90 * MINUTE_MS)
        await computer.automatic.tick("main")
        assert len(computer.checkpoints.all("main")) == 1
        await write(computer, "c")
        desk.clock.move(30 * MINUTE_MS)
        await write(computer, "d")
        assert len(computer.checkpoints.all("main")) == 2
        await computer.close()

    asyncio.run(story())


def test_one_old_change_is_told_as_one(tmp_path: Path) -> None:
    async def story() -> None:
        desk = desk_with(tmp_path, minutes_max=30)
        computer = await desk.open()
        await write(computer, "a")
        desk.clock.move(31 * MINUTE_MS)
        await computer.automatic.tick("main")
        assert [one.message for one in computer.checkpoints.all("main")] == ["Automatic, after one change"]
        await computer.close()

    asyncio.run(story())


def test_a_workspace_that_was_put_away_meanwhile_gets_no_checkpoint_and_no_trouble(tmp_path: Path) -> None:
    async def story() -> None:
        desk = desk_with(tmp_path, minutes_max=30)
        computer = await desk.open()
        await computer.kernel.handle(CreateWorkspace("other"), computer.context())
        await write(computer, "a", workspace="other")
        await computer.kernel.handle(ArchiveWorkspace("other"), computer.context())
        desk.clock.move(31 * MINUTE_MS)
        await computer.automatic.tick("other")
        assert computer.checkpoints.all("other") == []
        await computer.close()

    asyncio.run(story())


def test_what_the_person_does_in_the_folder_counts_as_well(tmp_path: Path) -> None:
    async def story() -> None:
        desk = desk_with(tmp_path, events_max=2)
        computer = await desk.open()
        tree = desk.folder("main", None)[0]
        tree.outside_write("a", b"one")
        tree.outside_write("b", b"two")
        await computer.merger.capture("main")
        (made,) = computer.checkpoints.all("main")
        assert made.automatic
        (event,) = await computer.journal.fetch([made.seq])
        assert isinstance(event.payload, CheckpointMade)
        assert event.head.source == "system"
        await computer.close()

    asyncio.run(story())
