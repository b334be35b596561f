"""What people did in a folder: noticed at the next look, recorded as theirs, and nothing made up."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from msgspec import UNSET

from choiros.engines.tree.memory import MemoryTree
from choiros.features.files.capture import Found
from choiros.features.files.commands import CaptureFiles
from choiros.features.files.events import FileWritten
from choiros.kernel.errors import Conflict, Unavailable
from choiros.kernel.event import Event, Source
from choiros.kernel.tree import Entry, Stat
from tests.unit.features.files.folder import SIZE_MAX, Folder

DIRECTORY = Entry("dir", 0o755)


def told(story: Callable[[Folder], Coroutine[None, None, None]]) -> None:
    asyncio.run(story(Folder()))


async def everything(folder: Folder, *, adopt: bool = False) -> Found:
    return await folder.capturer.everything("main", folder.tree, adopt=adopt)


async def named(folder: Folder, *paths: str, anew: frozenset[str] = frozenset()) -> Found:
    return await folder.capturer.named("main", folder.tree, paths=paths, anew=anew)


# --- What is found ---


def test_what_is_new_is_recorded_as_the_persons_with_nothing_before_it() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("notes/a.md", b"one")
        folder.tree.outside_link("newest", "notes/a.md")
        found = await everything(folder)
        assert sorted(folder.told, key=str) == [
            ("user", "newest", Entry("link", 0o777, target="notes/a.md")),
            ("user", "notes", DIRECTORY),
            ("user", "notes/a.md", await folder.file(b"one")),
        ]
        assert set(folder.bases.values()) == {None}
        assert found.paths == {"newest", "notes", "notes/a.md"}
        assert found.unkept == {}
        assert folder.view.entry("main", "notes/a.md") == await folder.file(b"one")

    told(story)


def test_a_second_look_at_the_same_things_records_and_reads_nothing() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("a", b"one")
        await everything(folder)
        folder.told.clear()
        folder.blobs._staged.clear()
        assert await everything(folder) == Found()
        assert await named(folder, "a") == Found()
        assert folder.told == []
        assert folder.blobs._staged == {}

    told(story)


def test_what_changed_is_recorded_on_top_of_what_the_folder_showed_last() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("a", b"one")
        folder.tree.outside_write("b", b"one")
        await everything(folder)
        # The log has gone on since; the person wrote on top of what the folder showed.
        await folder.says("a", b"agent")
        folder.told.clear()
        folder.tree.outside_write("a", b"two")
        folder.tree.outside_chmod("b", 0o600)
        await everything(folder)
        assert folder.told == [
            ("user", "a", await folder.file(b"two")),
            ("user", "b", await folder.file(b"one", 0o600)),
        ]
        assert folder.bases["a"] == await folder.file(b"one")
        assert folder.bases["b"] == await folder.file(b"one")

    told(story)


def test_what_is_gone_is_recorded_as_removed() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("d/a", b"one")
        await everything(folder)
        folder.told.clear()
        folder.tree.outside_remove("d")
        await everything(folder)
        assert sorted(folder.told, key=str) == [("user", "d", None), ("user", "d/a", None)]
        assert folder.view.below("main") == {}

    told(story)


def test_what_the_log_holds_and_the_folder_never_showed_is_not_taken_for_removed() -> None:
    async def story(folder: Folder) -> None:
        await folder.says("a", b"one")
        assert await everything(folder) == Found()
        assert folder.told == []

    told(story)


def test_what_was_there_before_is_nobodys_change() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("a", b"one")
        await everything(folder, adopt=True)
        assert [source for source, _, _ in folder.told] == ["system"]

    told(story)


def test_a_directory_that_the_log_gave_up_and_that_still_stands_is_nobodys_change() -> None:
    """It holds what is not kept, so the merger could not remove it."""

    async def story(folder: Folder) -> None:
        folder.tree.outside_mkdir("d")
        folder.tree.outside_write("d/node_modules/x.js", b"cache")
        await everything(folder)
        assert folder.told == [("user", "d", DIRECTORY)]
        await folder.says("d", None)
        folder.told.clear()
        await named(folder, "d", anew=frozenset({"d"}))
        assert folder.told == [("system", "d", DIRECTORY)]

    told(story)


def test_a_directory_that_a_person_makes_again_is_that_persons_doing() -> None:
    """C-32: only one that never went away is nobody's change; this one an undo takes back."""

    async def story(folder: Folder) -> None:
        (event,) = await folder.happen(FileWritten("main", "d", DIRECTORY))
        await folder.follow(event)
        await folder.says("d", None)
        folder.tree.outside_remove("d")
        folder.tree.outside_mkdir("d")
        await everything(folder)
        assert folder.told == [("user", "d", DIRECTORY)]

    told(story)


# --- What they had before them ---


def test_what_nothing_is_known_about_counts_as_newer_than_the_log() -> None:
    async def story(folder: Folder) -> None:
        await folder.says("a", b"log")
        folder.tree.outside_write("a", b"disk")
        await everything(folder)
        assert folder.bases == {"a": UNSET}
        assert folder.view.entry("main", "a") == await folder.file(b"disk")

    told(story)


def test_what_raced_with_a_change_that_was_just_to_be_shown_is_kept_beside_it() -> None:
    async def story(folder: Folder) -> None:
        await folder.says("a", b"log")
        folder.tree.outside_write("a", b"disk")
        await named(folder, "a", anew=frozenset({"a"}))
        assert folder.bases == {"a": None}
        assert folder.view.entry("main", "a") == await folder.file(b"log")
        assert folder.view.entry("main", "a (conflict)") == await folder.file(b"disk")

    told(story)


def test_a_file_that_was_written_when_it_was_looked_at_is_read_again() -> None:
    """Within the grain of the clock a second write may leave the same look."""

    async def story(folder: Folder) -> None:
        folder.tree.outside_write("a", b"one")
        folder.clock.time_ms = 0
        await everything(folder)
        # The same size, and the times of the write before: only reading tells.
        folder.tree._nodes["a"].data = b"two"
        await everything(folder)
        assert folder.view.entry("main", "a") == await folder.file(b"two")

    told(story)


# --- What is left out ---


def test_what_is_ignored_is_left_out_but_not_what_the_log_holds_already() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write(".choirignore", b"*.tmp\n")
        folder.tree.outside_write("a.tmp", b"one")
        folder.tree.outside_write("node_modules/x.js", b"one")
        await folder.says("b.tmp", b"one")
        folder.tree.outside_write("b.tmp", b"two")
        await everything(folder)
        assert sorted(folder.view.below("main")) == [".choirignore", "b.tmp"]
        assert folder.view.entry("main", "b.tmp") == await folder.file(b"two")
        folder.told.clear()
        folder.tree.outside_write("b.tmp", b"three")
        await named(folder, "a.tmp", "b.tmp", "node_modules/x.js")
        assert folder.told == [("user", "b.tmp", await folder.file(b"three"))]

    told(story)


def test_new_ignore_rules_hold_for_the_look_that_finds_them() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write(".choirignore", b"big/\n")
        folder.tree.outside_write("big/a", b"one")
        await everything(folder)
        assert list(folder.view.below("main")) == [".choirignore"]

    told(story)


def test_rules_that_cannot_be_read_are_named_and_the_defaults_hold() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write(".choirignore", b"[z-a]\n")
        folder.tree.outside_write("a", b"one")
        found = await everything(folder)
        assert list(found.unkept) == [".choirignore"]
        assert "z-a" in found.unkept[".choirignore"]
        assert sorted(folder.view.below("main")) == [".choirignore", "a"]

    told(story)


@pytest.mark.parametrize("path", [".choir/log.db", "sub/.CHOIR/x", ".Git/config"])
def test_reserved_names_are_never_recorded(path: str) -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write(path, b"one")
        await everything(folder)
        await named(folder, path)
        assert not any(
            name.lower() in {".git", ".choir"} for _, at, _ in folder.told for name in at.split("/")
        )

    told(story)


# --- What cannot be kept ---


def test_what_cannot_be_kept_is_named_with_the_reason_and_the_rest_is_recorded() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("big", b"x" * (SIZE_MAX + 1))
        folder.tree.outside_special("socket")
        folder.tree.outside_write("a", b"one")
        found = await everything(folder)
        assert found.unkept.keys() == {"big", "socket"}
        assert "limit" in found.unkept["big"]
        assert [path for _, path, _ in folder.told] == ["a"]

    told(story)


def test_a_file_that_grew_too_large_keeps_its_last_state_in_the_log() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("a", b"one")
        await everything(folder)
        folder.told.clear()
        folder.tree.outside_write("a", b"x" * (SIZE_MAX + 1))
        assert (await everything(folder)).unkept.keys() == {"a"}
        assert (await named(folder, "a")).unkept.keys() == {"a"}
        assert folder.told == []
        assert folder.view.entry("main", "a") == await folder.file(b"one")

    told(story)


class Barred(MemoryTree):
    """A folder with a directory that cannot be listed."""

    async def scan(self, skip: Callable[[str, bool], bool]) -> tuple[dict[str, Stat], dict[str, str]]:
        found, odd = await super().scan(skip)
        return {path: look for path, look in found.items() if not path.startswith("d/")}, {
            **odd,
            "d": "We are not allowed to list this directory.",
        }


@pytest.mark.parametrize("whole", [True, False], ids=["the whole folder", "the directory alone"])
def test_what_lies_in_a_directory_that_cannot_be_listed_is_not_gone(*, whole: bool) -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("d/a", b"one")
        await everything(folder)
        folder.told.clear()
        barred = Barred()
        barred._nodes, barred._ticks = folder.tree._nodes, folder.tree._ticks
        capturer = folder.capturer
        looked = capturer.everything("main", barred) if whole else capturer.named("main", barred, paths=["d"])
        found = await looked
        assert found.unkept == {"d": "We are not allowed to list this directory."}
        assert folder.told == []
        assert folder.view.entry("main", "d/a") == await folder.file(b"one")

    told(story)


# --- Only where something is said to have happened ---


def test_a_named_directory_stands_for_all_below_it_and_for_nothing_beside_it() -> None:
    async def story(folder: Folder) -> None:
        for path in ("d/a", "d/e/b", "other/c", "d-side"):
            folder.tree.outside_write(path, b"one")
        await named(folder, "d")
        assert sorted(folder.view.below("main")) == ["d", "d/a", "d/e", "d/e/b"]
        folder.tree.outside_remove("d/e")
        await named(folder, "d")
        assert sorted(folder.view.below("main")) == ["d", "d/a"]

    told(story)


def test_a_directory_that_became_a_file_is_found_by_a_name_below_it() -> None:
    async def story(folder: Folder) -> None:
        folder.tree.outside_write("d/a", b"one")
        folder.tree.outside_write("d/b", b"one")
        await everything(folder)
        folder.tree.outside_remove("d")
        folder.tree.outside_write("d", b"file")
        await named(folder, "d/a")
        assert folder.view.below("main") == {"d": await folder.file(b"file")}

    told(story)


# --- Recording ---


def test_what_could_not_be_recorded_is_found_again() -> None:
    async def story(folder: Folder) -> None:
        record = folder.capturer._record

        async def failing(command: CaptureFiles, source: Source) -> list[Event]:
            assert folder.capturer.last_shown("main", ["a"])["a"].entry == command.changes[0].entry
            raise Unavailable("log.unavailable", "The disk is full.", fix="Free some space.")

        folder.tree.outside_write("a", b"one")
        folder.capturer._record = failing
        with pytest.raises(Unavailable):
            await everything(folder)
        assert folder.capturer.last_shown("main", ["a"]) == {}
        folder.capturer._record = record
        assert [event.payload for event in (await everything(folder)).events] == [
            FileWritten("main", "a", await folder.file(b"one"))
        ]

    told(story)


def test_a_file_that_somebody_keeps_writing_is_named_and_left_for_the_next_look() -> None:
    class Restless(MemoryTree):
        async def take(self, path: str, blobs: object) -> tuple[Entry, Stat]:
            raise Conflict("tree.changing", f"'{path}' changes while it is read.", fix="Wait.", path=path)

    async def story(folder: Folder) -> None:
        restless = Restless()
        restless.outside_write("a", b"one")
        found = await folder.capturer.everything("main", restless)
        assert found.unkept == {"a": "'a' changes while it is read."}
        assert folder.told == []

    told(story)
