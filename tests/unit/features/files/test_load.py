"""What a rule for files gets to see: all that it needs, and no content that it could not use."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from msgspec import UNSET

from choiros.features.files.commands import CaptureFiles, Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.files.decide import digest_of
from choiros.features.files.events import FileWritten
from choiros.features.files.load import command_types, read_all
from choiros.features.files.text import TEXT_BYTES_MAX
from choiros.kernel.command import Context
from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.tree import Entry
from tests.unit.features.files.folder import Folder
from tests.unit.features.files.wishes import A

ME = Context("me")
DIRECTORY = Entry("dir", 0o755)


def told(story: Callable[[Folder], Coroutine[None, None, None]]) -> None:
    asyncio.run(story(Folder()))


def code_of(wish: Coroutine[None, None, object]) -> Coroutine[None, None, str]:
    async def asked() -> str:
        with pytest.raises(Rejected) as caught:
            await wish
        assert caught.value.fix
        return caught.value.code

    return asked()


def test_a_change_sees_the_paths_above_it_and_a_directory_with_all_it_holds() -> None:
    async def story(folder: Folder) -> None:
        await folder.happen(FileWritten("main", "d", DIRECTORY), FileWritten("main", "d/e", DIRECTORY))
        await folder.says("d/e/a", b"one")
        await folder.says("other", b"two")
        state = await folder.loader.change(ChangeFiles("main", (Change("d/e", None),)), ME)
        assert dict(state.entries) == {"d": DIRECTORY, "d/e": DIRECTORY, "d/e/a": await folder.file(b"one")}
        state = await folder.loader.change(ChangeFiles("main", (Change("x/y", None),)), ME)
        assert dict(state.entries) == {"x": None, "x/y": None}
        assert state.contents == {}

    told(story)


def test_the_three_texts_are_loaded_when_they_may_have_to_be_merged_and_only_then() -> None:
    async def story(folder: Folder) -> None:
        base, ours, theirs = [await folder.file(data) for data in (b"base", b"ours", b"theirs")]
        await folder.says("a", b"ours")

        async def seen(change: Change) -> set[bytes]:
            state = await folder.loader.change(ChangeFiles("main", (change,)), ME)
            return set(state.contents.values())

        assert await seen(Change("a", theirs, base)) == {b"base", b"ours", b"theirs"}
        assert await seen(Change("a", theirs, ours)) == set()
        assert await seen(Change("a", theirs, UNSET)) == set()
        assert await seen(Change("a", ours, base)) == set()
        assert await seen(Change("a", None, base)) == set()
        assert await seen(Change("a", DIRECTORY, base)) == set()

    told(story)


def test_a_name_for_a_version_that_cannot_merge_is_free_or_known() -> None:
    async def story(folder: Folder) -> None:
        await folder.says("a.md", b"ours")
        await folder.says("a (conflict).md", b"kept before")
        change = Change("a.md", await folder.file(b"theirs"), await folder.file(b"base"))
        for command in (ChangeFiles("main", (change,)), CaptureFiles("main", (change,))):
            state = await folder.loader.change(command, ME)
            assert state.entries["a (conflict).md"] == await folder.file(b"kept before")
            assert state.entries["a (conflict 2).md"] is None

    told(story)


def test_a_file_that_stands_where_a_captured_path_needs_a_directory_gets_a_name_beside() -> None:
    async def story(folder: Folder) -> None:
        await folder.says("d", b"file")
        change = Change("d/a", await folder.file(b"new"), None)
        state = await folder.loader.change(CaptureFiles("main", (change,)), ME)
        assert state.entries["d (conflict)"] is None

    told(story)


@pytest.mark.parametrize("size", [3, 4])
def test_a_content_that_nobody_stored_in_this_size_is_refused(size: int) -> None:
    async def story(folder: Folder) -> None:
        digest = await folder.blobs.put(b"one!") if size == 3 else digest_of(b"nobody stored this")
        wish = ChangeFiles("main", (Change("a", Entry("file", 0o644, size, digest)),))
        assert await code_of(folder.loader.change(wish, ME)) == "files.no_content"

    told(story)


def test_a_content_that_vanished_from_the_store_is_a_damage_and_no_refusal() -> None:
    async def story(folder: Folder) -> None:
        await folder.happen(FileWritten("main", "a", A))
        with pytest.raises(Corrupt, match=A.content):
            await folder.loader.edit(EditFile("main", "a", "a", "b"), ME)

    told(story)


def test_an_edit_sees_the_text_and_refuses_one_that_is_too_long_for_editing() -> None:
    async def story(folder: Folder) -> None:
        entry = (await folder.says("a", b"one")).payload
        assert isinstance(entry, FileWritten)
        state = await folder.loader.edit(EditFile("main", "a", "one", "two"), ME)
        assert state.contents == {entry.entry.content: b"one"}
        await folder.happen(FileWritten("main", "long", Entry("file", 0o644, TEXT_BYTES_MAX + 1, "0" * 64)))
        long = EditFile("main", "long", "one", "two")
        assert await code_of(folder.loader.edit(long, ME)) == "files.too_large_to_edit"
        nothing = await folder.loader.edit(EditFile("main", "nothing", "one", "two"), ME)
        assert dict(nothing.entries) == {"nothing": None}

    told(story)


def test_moving_and_removing_see_both_ends_with_all_below() -> None:
    async def story(folder: Folder) -> None:
        await folder.happen(FileWritten("main", "d", DIRECTORY))
        await folder.says("d/a", b"one")
        moved = await folder.loader.move(MoveFile("main", "d", "e/f"), ME)
        assert set(moved.entries) == {"d", "d/a", "e", "e/f"}
        assert set((await folder.loader.remove(RemoveFile("main", "d"), ME)).entries) == {"d", "d/a"}

    told(story)


def test_what_looks_alike_is_told_for_paths_at_which_nothing_stands() -> None:
    async def story(folder: Folder) -> None:
        await folder.says("Read.md", b"one")
        state = await folder.loader.move(MoveFile("main", "Read.md", "READ.MD"), ME)
        assert state.alike == {"READ.MD": ["Read.md"]}

    told(story)


def test_every_command_is_refused_where_the_workspace_is_closed() -> None:
    async def story(folder: Folder) -> None:
        folder.doors.closed.add("main")
        commands = {kind.name: kind for kind in command_types(folder.loader)}
        wishes = [
            ("files.change", ChangeFiles("main", (Change("a", None),))),
            ("files.capture", CaptureFiles("main", (Change("a", None),))),
            ("files.edit", EditFile("main", "a", "x", "y")),
            ("files.move", MoveFile("main", "a", "b")),
            ("files.remove", RemoveFile("main", "a")),
        ]
        assert set(commands) == {name for name, _ in wishes}
        for name, wish in wishes:
            assert await code_of(commands[name].propose(wish, ME)) == "workspaces.closed"

    told(story)


@pytest.mark.parametrize("path", ["/etc/passwd", "../a", "a/../b", "a//b", "", "a\x00b", "\ud800"])
def test_every_command_is_refused_for_a_path_that_is_none(path: str) -> None:
    async def story(folder: Folder) -> None:
        loader = folder.loader
        for wish in (
            loader.change(ChangeFiles("main", (Change(path, None),)), ME),
            loader.edit(EditFile("main", path, "x", "y"), ME),
            loader.move(MoveFile("main", "a", path), ME),
            loader.move(MoveFile("main", path, "a"), ME),
            loader.remove(RemoveFile("main", path), ME),
        ):
            assert (await code_of(wish)).startswith("path.")

    told(story)


def test_ignore_rules_follow_their_file_and_bad_ones_leave_the_defaults() -> None:
    async def story(folder: Folder) -> None:
        async def is_ignored(path: str) -> bool:
            return (await folder.loader.ignore("main")).matches(path, False)

        assert await is_ignored("node_modules/x")
        assert not await is_ignored("a.tmp")
        await folder.says(".choirignore", b"*.tmp\n")
        assert await is_ignored("a.tmp")
        assert folder.loader.ignore_problem("main") is None
        await folder.says(".choirignore", b"[z-a]\n")
        assert not await is_ignored("a.tmp")
        assert await is_ignored("node_modules/x")
        assert "z-a" in (folder.loader.ignore_problem("main") or "")

    told(story)


def test_a_whole_content_is_read_in_order() -> None:
    async def story(folder: Folder) -> None:
        assert await read_all(folder.blobs, await folder.blobs.put(b"0123456789")) == b"0123456789"

    told(story)
