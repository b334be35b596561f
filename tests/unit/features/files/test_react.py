"""The merger: a folder shows what the log says, and what others wrote there is recorded before it is touched."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence

import pytest

from choiros.engines.tree.memory import MemoryTree
from choiros.features.files.events import FileMoved, FileWritten
from choiros.features.workspaces.events import WorkspaceOpened, WorkspaceRemoved
from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Conflict
from choiros.kernel.path import TEMPORARY
from choiros.kernel.tree import Done, Entry, Step
from tests.unit.features.files.folder import Folder

DIRECTORY = Entry("dir", 0o755)


def told(story: Callable[[Folder], Coroutine[None, None, None]]) -> None:
    asyncio.run(story(Folder()))


# --- What the log says is shown ---


def test_every_kind_of_fact_is_shown() -> None:
    """C-78."""

    async def story(folder: Folder) -> None:
        link = Entry("link", 0o777, target="notes/a")
        await folder.follow(*await folder.happen(FileWritten("main", "notes", DIRECTORY)))
        await folder.follow(await folder.says("notes/a", b"one"), await folder.says("b", b"two", 0o700))
        await folder.follow(*await folder.happen(FileWritten("main", "newest", link)))
        assert folder.files() == {"notes": None, "notes/a": b"one", "b": b"two", "newest": None}
        assert folder.tree._nodes["newest"].target == "notes/a"
        assert folder.tree._nodes["b"].mode == 0o700
        entry = await folder.file(b"one")
        await folder.follow(*await folder.happen(FileMoved("main", "notes/a", "notes/c", entry)))
        await folder.follow(await folder.says("b", None))
        assert folder.files() == {"notes": None, "notes/c": b"one", "newest": None}
        assert folder.told == []

    told(story)


def test_facts_that_are_seen_again_change_nothing() -> None:
    """A reactor sees each event at least once."""

    async def story(folder: Folder) -> None:
        event = await folder.says("a", b"one")
        await folder.follow(event)
        inode = folder.tree._nodes["a"].inode
        await folder.follow(event, event)
        assert folder.tree._nodes["a"].inode == inode
        assert folder.told == []

    told(story)


def test_a_folder_that_was_made_anew_gets_the_way_to_what_is_written_below() -> None:
    """Somebody has removed the whole folder: a directory that the log holds is made again when it is needed."""

    async def story(folder: Folder) -> None:
        await folder.follow(*await folder.happen(FileWritten("main", "notes", DIRECTORY)))
        folder.tree.outside_remove("notes")
        folder.doors.is_new = True
        await folder.follow(await folder.says("notes/a", b"one"))
        assert folder.files() == {"notes": None, "notes/a": b"one"}

    told(story)


def test_an_old_fact_does_not_bring_back_what_the_log_has_left_behind() -> None:
    async def story(folder: Folder) -> None:
        old, _ = await folder.says("a", b"one"), await folder.says("a", b"two")
        await folder.follow(old)
        assert folder.files() == {"a": b"two"}

    told(story)


def test_a_workspace_that_was_opened_shows_all_its_files() -> None:
    async def story(folder: Folder) -> None:
        await folder.says("a", b"one")
        await folder.says("b", b"two")
        await folder.follow(*await folder.happen(WorkspaceOpened("main", "open")))
        assert folder.files() == {"a": b"one", "b": b"two"}

    told(story)


def test_what_the_folder_of_a_closed_workspace_shows_is_left_alone() -> None:
    async def story(folder: Folder) -> None:
        folder.doors.closed.add("main")
        await folder.follow(await folder.says("a", b"one"))
        assert folder.files() == {}
        found = await folder.merger.capture("main")
        assert (found.events, found.unkept) == ((), {})

    told(story)


def test_the_folder_of_a_removed_workspace_is_emptied_of_what_the_log_holds_and_of_nothing_else() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(await folder.says("a", b"one"))
        folder.tree.outside_write("node_modules/x", b"not in the log")
        folder.doors.closed.add("main")
        await folder.follow(*await folder.happen(WorkspaceRemoved("main", "open")))
        assert folder.files() == {"node_modules": None, "node_modules/x": b"not in the log"}
        assert folder.shown.all("main") == {}

    told(story)


def test_a_folder_of_the_persons_own_is_not_emptied() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(await folder.says("a", b"one"))
        folder.doors.is_owned = False
        folder.doors.closed.add("main")
        await folder.follow(*await folder.happen(WorkspaceRemoved("main", "open")))
        assert folder.files() == {"a": b"one"}

    told(story)


# --- Others write there too ---


def test_what_somebody_wrote_unseen_is_recorded_and_merged_before_the_folder_changes() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(await folder.says("a", b"1\n2\n3\n4\n5\n"))
        folder.tree.outside_write("a", b"1\n2\n3\n4\nfive\n")
        await folder.follow(await folder.says("a", b"one\n2\n3\n4\n5\n"))
        assert folder.files() == {"a": b"one\n2\n3\n4\nfive\n"}
        assert [source for source, _, _ in folder.told] == ["user"]

    told(story)


def test_what_cannot_be_merged_is_kept_beside_and_nothing_is_lost() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(await folder.says("a", b"base"))
        folder.tree.outside_write("a", b"by hand")
        await folder.follow(await folder.says("a", b"by agent"))
        assert folder.files() == {"a": b"by agent", "a (conflict)": b"by hand"}

    told(story)


def test_what_is_written_at_the_very_moment_is_kept() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(await folder.says("a", b"base"))

        def write(path: str) -> None:
            folder.tree.on_step = None
            folder.tree.outside_write(path, b"by hand")

        folder.tree.on_step = write
        await folder.follow(await folder.says("a", b"by agent"))
        assert folder.files() == {"a": b"by agent", "a (conflict)": b"by hand"}

    told(story)


def test_a_directory_that_holds_what_is_not_kept_stays_and_the_log_says_so() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(*await folder.happen(FileWritten("main", "d", DIRECTORY)))
        folder.tree.outside_write("d/node_modules/x", b"not kept")
        await folder.follow(await folder.says("d", None))
        assert "d/node_modules/x" in folder.files()
        assert folder.told == [("system", "d", DIRECTORY)]
        assert folder.view.entry("main", "d") == DIRECTORY

    told(story)


class Restless(MemoryTree):
    """Somebody writes each path whenever it is about to be changed."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.on_step = self._write

    def _write(self, path: str) -> None:
        self.count += 1
        if path == "busy":
            self.outside_write(path, b"%d" % self.count)


def test_somebody_who_never_stops_writing_is_named_and_what_they_wrote_stands() -> None:
    async def story(folder: Folder) -> None:
        folder.doors._tree = restless = Restless()
        events = [await folder.says("busy", b"one"), await folder.says("calm", b"two")]
        with pytest.raises(Conflict) as caught:
            await folder.follow(*events)
        assert caught.value.code == "files.unsettled"
        assert "busy" in caught.value.message
        assert caught.value.fix
        assert restless._nodes["calm"].data == b"two"
        assert restless._nodes["busy"].data.isdigit(), "what they wrote stands"

    told(story)


def test_something_that_cannot_be_kept_is_not_overwritten_and_the_reason_is_told() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_special("a")
        event = await folder.says("a", b"one")
        with pytest.raises(Conflict, match="neither a file, nor a link, nor a directory"):
            await folder.follow(event)
        assert folder.tree._nodes["a"].kind == "other"
        folder.tree.outside_remove("a")
        await folder.follow(event)
        assert folder.files() == {"a": b"one"}

    told(story)


def test_what_stands_in_the_way_in_one_folder_does_not_keep_the_others_behind() -> None:
    async def story(folder: Folder) -> None:
        other = folder.doors.others["w2"] = MemoryTree()
        folder.tree.outside_special("a")
        events = [await folder.says("a", b"one"), *await folder.happen(FileWritten("w2", "b", DIRECTORY))]
        with pytest.raises(Conflict, match="does not show a"):
            await folder.follow(*events)
        assert list(other._nodes) == ["b"]

    told(story)


class Refusing(MemoryTree):
    """A folder in which nothing may be written."""

    async def apply(self, steps: Sequence[Step], blobs: BlobStore) -> Mapping[str, Done]:
        return {step.path: Done(step.path, None, "The operating system refused: no.") for step in steps}


def test_the_reason_for_which_a_folder_cannot_follow_is_told() -> None:
    async def story(folder: Folder) -> None:
        folder.doors._tree = Refusing()
        event = await folder.says("a", b"one")
        with pytest.raises(Conflict, match="The operating system refused: no"):
            await folder.follow(event)
        found = await folder.merger.capture("main")
        assert found.unkept == {
            "a": "What the folder shows there is not what is recorded. The operating system refused: no."
        }
        assert (found.events, found.restored) == ((), 0)

    told(story)


def test_damaged_content_keeps_no_other_file_waiting() -> None:
    """C-21."""

    async def story(folder: Folder) -> None:
        events = [await folder.says("a", b"one"), await folder.says("b", b"two")]
        digest = (await folder.file(b"one")).content
        await folder.blobs.flush()
        folder.blobs.damage(digest, b"0ne")
        with pytest.raises(Conflict, match=digest):
            await folder.follow(*events)
        assert folder.files() == {"b": b"two"}
        found = await folder.merger.capture("main")
        assert list(found.unkept) == ["a"]
        await folder.file(b"one")
        assert (await folder.merger.capture("main")).restored == 1
        assert folder.files() == {"a": b"one", "b": b"two"}

    told(story)


def test_while_a_folder_is_changed_it_is_noted_that_a_crash_may_leave_something() -> None:
    async def story(folder: Folder) -> None:
        noted: list[bool] = []
        folder.tree.on_step = lambda _: noted.append(folder.shown.was_broken_off("main"))
        await folder.follow(await folder.says("a", b"one"), await folder.says("b", b"two"))
        assert noted
        assert all(noted)
        assert not folder.shown.was_broken_off("main")

    told(story)


def test_damaged_content_is_whole_again_from_the_file_that_shows_it_still() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(await folder.says("a", b"one"))
        entry = await folder.file(b"one")
        await folder.blobs.delete(entry.content)
        await folder.follow(*await folder.happen(FileMoved("main", "a", "b", entry)))
        assert folder.files() == {"b": b"one"}
        assert (await folder._journal.head()).seq == 2, "nothing was recorded"
        assert await folder.blobs.size(entry.content) == 3

    told(story)


def test_what_keeps_one_fact_waiting_keeps_no_later_one() -> None:
    """The runner shows the same facts again until they are done, and none behind them."""

    async def story(folder: Folder) -> None:
        folder.tree.outside_special("a")
        first = await folder.says("a", b"one")
        await folder.says("b", b"two")
        with pytest.raises(Conflict):
            await folder.merger.react([first])
        assert folder.files() == {"a": None, "b": b"two"}

    told(story)


# --- Looking at a folder ---


def test_a_look_names_what_the_folder_cannot_show_each_time_until_it_can() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(await folder.says("a", b"one"))
        folder.tree.outside_remove("a")
        folder.tree.outside_special("a")
        with pytest.raises(Conflict):
            await folder.follow(await folder.says("a", b"two"))
        for name in ("b", "c"):
            folder.tree.outside_write(name, b"new")
            found = await folder.merger.capture("main")
            assert [event.payload for event in found.events] == [
                FileWritten("main", name, await folder.file(b"new"))
            ]
            assert "What the folder shows there is not what is recorded" in found.unkept["a"]
        folder.tree.outside_remove("a")
        assert (await folder.merger.capture("main")).unkept == {}
        assert folder.view.entry("main", "a") == await folder.file(b"two")

    told(story)


def test_a_directory_in_the_place_of_a_file_is_named_at_every_look() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(*await folder.happen(FileWritten("main", "d", DIRECTORY)))
        folder.tree.outside_special("d/pipe")
        with pytest.raises(Conflict, match="d/pipe stands in the way"):
            await folder.follow(await folder.says("d", b"now a file"))
        assert "d/pipe stands in the way" in (await folder.merger.capture("main")).unkept["d"]
        folder.tree.outside_remove("d/pipe")
        assert (await folder.merger.capture("main")).unkept == {}
        assert folder.files() == {"d": b"now a file"}

    told(story)


def test_a_look_records_what_is_new_and_brings_back_what_was_never_shown() -> None:
    async def story(folder: Folder) -> None:
        await folder.says("lacking", b"one")
        folder.tree.outside_write("new", b"two")
        found = await folder.merger.capture("main")
        assert found.restored == 1
        assert folder.files() == {"lacking": b"one", "new": b"two"}
        assert [event.payload for event in found.events] == [
            FileWritten("main", "new", await folder.file(b"two"))
        ]
        assert (await folder.merger.capture("main")).restored == 0

    told(story)


def test_a_look_at_some_paths_records_only_these() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("a", b"one")
        folder.tree.outside_write("b", b"two")
        assert len((await folder.merger.capture("main", ["a"])).events) == 1
        assert list(folder.view.below("main")) == ["a"]

    told(story)


def test_a_folder_that_was_lost_is_filled_again_and_its_files_are_not_taken_for_removed() -> None:
    async def story(folder: Folder) -> None:
        await folder.follow(await folder.says("a", b"one"))
        folder.tree._nodes.clear()
        folder.doors.is_new = True
        found = await folder.merger.capture("main")
        assert (found.events, found.restored) == ((), 1)
        assert folder.files() == {"a": b"one"}

    told(story)


def test_what_a_crash_left_half_written_is_swept_before_anything_else() -> None:
    async def story(folder: Folder) -> None:
        left = TEMPORARY + "1"
        folder.tree.outside_write(left, b"half")
        await folder.merger.capture("main")
        assert left in folder.files(), "nothing is swept where nobody broke off"
        folder.shown.begin("main")
        await folder.merger.capture("main")
        assert left not in folder.files()
        assert not folder.shown.was_broken_off("main")

    told(story)
