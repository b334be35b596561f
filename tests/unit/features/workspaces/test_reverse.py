"""How changes of workspaces are taken back, with the files in them."""

import asyncio
from pathlib import Path

import pytest

from choiros.features.files.commands import Change, ChangeFiles
from choiros.features.undo.commands import Undo
from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
    WorkspaceCommand,
)
from choiros.kernel.dispatch import Done
from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.tree import Entry
from choiros.wiring import Computer
from tests.computers import Desk

State = list[tuple[str, str, str]]


async def wish(computer: Computer, command: WorkspaceCommand) -> int:
    """Return the number of the event that a wish led to."""
    done = await computer.kernel.handle(command, computer.context())
    assert isinstance(done, Done)
    assert not done.troubles
    (event,) = done.facts
    return event.seq


async def undo(computer: Computer, seq: int) -> int:
    """Return the number of the event that tells of the undo."""
    done = await computer.kernel.handle(Undo("main", seq=seq), computer.context())
    assert isinstance(done, Done)
    assert not done.troubles
    return done.facts[0].seq


async def write(computer: Computer, workspace: str, path: str, content: bytes) -> int:
    digest = await computer.parts.blobs.put(content)
    change = Change(path, Entry("file", 0o644, len(content), digest))
    done = await computer.kernel.handle(ChangeFiles(workspace, (change,)), computer.context())
    assert isinstance(done, Done)
    assert not done.troubles
    return done.facts[0].seq


def states(computer: Computer) -> State:
    return [(one.id, one.name, one.state) for one in computer.workspaces.all()]


def current(computer: Computer) -> str | None:
    found = computer.workspaces.current()
    return found.id if found else None


@pytest.mark.parametrize(
    "command",
    [
        UseWorkspace("other"),
        RenameWorkspace("other", "new"),
        ArchiveWorkspace("other"),
        OpenWorkspace("old"),
        RemoveWorkspace("other"),
        RemoveWorkspace("old"),
    ],
    ids=["use", "rename", "archive", "open", "remove", "remove archived"],
)
def test_each_change_is_taken_back_by_its_event_and_brought_back_again(
    tmp_path: Path, command: WorkspaceCommand
) -> None:
    """C-42."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        for first in (CreateWorkspace("other"), CreateWorkspace("old"), ArchiveWorkspace("old")):
            await wish(computer, first)
        before = states(computer), current(computer)
        seq = await wish(computer, command)
        after = states(computer), current(computer)
        assert after != before
        undone = await undo(computer, seq)
        assert (states(computer), current(computer)) == before
        await undo(computer, undone)
        assert (states(computer), current(computer)) == after
        await computer.close()

    asyncio.run(story())


def test_a_new_workspace_that_is_taken_back_is_removed_and_its_files_come_back_with_it(
    tmp_path: Path,
) -> None:
    """C-42."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        seq = await wish(computer, CreateWorkspace("other"))
        await write(computer, "other", "a.txt", b"kept")
        undone = await undo(computer, seq)
        assert states(computer)[1] == ("other", "other", "removed")
        assert await desk.trees["other"].look(["a.txt"]) == {"a.txt": None}
        await undo(computer, undone)
        assert desk.trees["other"].outside_read("a.txt") == b"kept"
        await computer.close()

    asyncio.run(story())


@pytest.mark.parametrize("archived", [False, True])
def test_the_files_of_a_removed_workspace_come_back_with_undo(tmp_path: Path, *, archived: bool) -> None:
    """C-42."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await wish(computer, CreateWorkspace("other"))
        tree = desk.trees.setdefault("other", desk.folder("other", None)[0])
        tree.outside_write("deep/by hand.txt", b"mine")
        await computer.merger.capture("other")
        await write(computer, "other", "a.txt", b"one")
        if archived:
            await wish(computer, ArchiveWorkspace("other"))
        seq = await wish(computer, RemoveWorkspace("other"))
        assert await tree.look(["a.txt", "deep"]) == {"a.txt": None, "deep": None}
        await undo(computer, seq)
        assert states(computer)[1][2] == ("archived" if archived else "open")
        if archived:
            await wish(computer, OpenWorkspace("other"))
        assert tree.outside_read("a.txt") == b"one"
        assert tree.outside_read("deep/by hand.txt") == b"mine"
        await computer.close()

    asyncio.run(story())


def test_removing_a_workspace_leaves_what_the_log_does_not_hold(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await wish(computer, CreateWorkspace("other"))
        await write(computer, "other", "a.txt", b"one")
        tree = desk.trees["other"]
        tree.outside_write("node_modules/x.js", b"made again")
        tree.outside_write("new.txt", b"nobody has seen this")
        await wish(computer, RemoveWorkspace("other"))
        assert tree.outside_read("node_modules/x.js") == b"made again"
        assert tree.outside_read("new.txt") == b"nobody has seen this"
        assert await tree.look(["a.txt"]) == {"a.txt": None}
        await computer.close()

    asyncio.run(story())


def test_a_hand_edit_that_nobody_has_recorded_survives_the_removal(tmp_path: Path) -> None:
    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await wish(computer, CreateWorkspace("other"))
        await write(computer, "other", "a.txt", b"one")
        desk.trees["other"].outside_write("a.txt", b"one and more")
        await wish(computer, RemoveWorkspace("other"))
        assert desk.trees["other"].outside_read("a.txt") == b"one and more"
        await computer.close()

    asyncio.run(story())


# --- A folder that the person has ---


async def added(desk: Desk, computer: Computer) -> int:
    tree, _ = desk.folder("mine", "/mine")
    tree.outside_write("letter.txt", b"dear")
    tree.outside_write("deep/photo.raw", b"light")
    seq = await wish(computer, CreateWorkspace("mine", "/mine"))
    await computer.merger.capture("mine", adopt=True)
    return seq


def test_the_files_of_an_added_folder_are_adopted_as_nobodys_change(tmp_path: Path) -> None:
    """C-42."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await added(desk, computer)
        assert list(computer.files.below("mine")) == ["deep", "deep/photo.raw", "letter.txt"]
        head = await computer.journal.head()
        written = [
            event
            for event in await computer.journal.fetch(range(1, head.seq + 1))
            if event.head.event_type == "file.write"
        ]
        assert {event.head.source for event in written} == {"system"}
        await computer.close()

    asyncio.run(story())


@pytest.mark.parametrize("wanted", ["last", "since", "create"])
def test_no_undo_removes_the_files_of_an_added_folder(tmp_path: Path, wanted: str) -> None:
    """C-42."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        seq = await added(desk, computer)
        tree = desk.trees["/mine"]
        command = {
            "last": Undo("mine"),
            "since": Undo("mine", since=0),
            "create": Undo("mine", seq=seq),
        }[wanted]
        try:
            await computer.kernel.handle(command, computer.context())
        except Rejected as refusal:
            assert refusal.code == "undo.nothing"  # noqa: PT017
        assert tree.outside_read("letter.txt") == b"dear"
        assert tree.outside_read("deep/photo.raw") == b"light"
        await computer.close()

    asyncio.run(story())


def test_removing_a_workspace_leaves_an_added_folder_as_it_is(tmp_path: Path) -> None:
    """C-42."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await added(desk, computer)
        seq = await wish(computer, RemoveWorkspace("mine"))
        assert desk.trees["/mine"].outside_read("letter.txt") == b"dear"
        await undo(computer, seq)
        assert desk.trees["/mine"].outside_read("deep/photo.raw") == b"light"
        assert states(computer)[1] == ("mine", "mine", "open")
        await computer.close()

    asyncio.run(story())


# --- What stands against it ---


async def refused(computer: Computer, seq: int) -> Rejected | Conflict:
    before = states(computer), current(computer)
    with pytest.raises((Rejected, Conflict)) as caught:
        await undo(computer, seq)
    assert (states(computer), current(computer)) == before
    assert isinstance(caught.value, Rejected | Conflict)
    return caught.value


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        (RenameWorkspace("other", "b"), [RenameWorkspace("b", "c")], "renamed again since"),
        (UseWorkspace("other"), [UseWorkspace("main")], "another workspace was chosen since"),
        (ArchiveWorkspace("other"), [OpenWorkspace("other")], "it is open now"),
        (OpenWorkspace("old"), [RemoveWorkspace("old")], "it is removed now"),
        (UseWorkspace("other"), [ArchiveWorkspace("main")], "not open any more"),
    ],
)
def test_what_has_changed_again_since_is_left_and_named(
    tmp_path: Path, first: WorkspaceCommand, then: list[WorkspaceCommand], reason: str
) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        for one in (CreateWorkspace("other"), CreateWorkspace("old"), ArchiveWorkspace("old")):
            await wish(computer, one)
        seq = await wish(computer, first)
        for one in then:
            await wish(computer, one)
        error = await refused(computer, seq)
        assert error.code == "undo.nothing"
        assert reason in error.message
        await computer.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (RemoveWorkspace("other"), CreateWorkspace("other")),
        (RenameWorkspace("other", "b"), CreateWorkspace("other")),
    ],
)
def test_no_two_workspaces_get_one_name_by_an_undo(
    tmp_path: Path, first: WorkspaceCommand, then: WorkspaceCommand
) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await wish(computer, CreateWorkspace("other"))
        seq = await wish(computer, first)
        await wish(computer, then)
        error = await refused(computer, seq)
        assert error.code == "undo.conflict"
        assert "another workspace has its name now" in error.message
        await computer.close()

    asyncio.run(story())


def test_no_two_workspaces_get_one_folder_by_an_undo(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await wish(computer, CreateWorkspace("other", "/mine"))
        seq = await wish(computer, RemoveWorkspace("other"))
        await wish(computer, CreateWorkspace("another", "/mine/deep"))
        error = await refused(computer, seq)
        assert error.code == "undo.conflict"
        assert "another workspace has its folder now" in error.message
        await computer.close()

    asyncio.run(story())


def test_an_undo_never_leaves_the_person_without_an_open_workspace(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        seq = await wish(computer, CreateWorkspace("other"))
        await wish(computer, ArchiveWorkspace("main"))
        error = await refused(computer, seq)
        assert error.code == "undo.conflict"
        assert "no open workspace would be left" in error.message
        await computer.close()

    asyncio.run(story())
