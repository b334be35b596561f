"""Which workspaces there are, in which state, and which one is in use."""

import asyncio
from pathlib import Path

import pytest

from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
    WorkspaceCommand,
)
from choiros.kernel.errors import Rejected
from choiros.wiring import Computer, rebuild
from tests.computers import Desk


async def wish(computer: Computer, *commands: WorkspaceCommand) -> None:
    for command in commands:
        await computer.kernel.handle(command, computer.context())


def current(computer: Computer) -> str | None:
    found = computer.workspaces.current()
    return found.id if found else None


def test_a_new_computer_has_one_open_workspace_called_main(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        (main,) = computer.workspaces.all()
        assert (main.id, main.name, main.folder, main.state) == ("main", "main", None, "open")
        assert current(computer) == "main"
        await computer.close()

    asyncio.run(story())


def test_workspaces_are_listed_in_the_order_they_were_made_and_keep_their_ids(tmp_path: Path) -> None:
    """C-42."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await wish(
            computer,
            CreateWorkspace("zebra"),
            CreateWorkspace("ant"),
            RenameWorkspace("zebra", "Horse"),
            ArchiveWorkspace("Horse"),
            RemoveWorkspace("ant"),
        )
        listed = [(one.id, one.name, one.state) for one in computer.workspaces.all()]
        assert listed == [("main", "main", "open"), ("zebra", "Horse", "archived"), ("ant", "ant", "removed")]
        await computer.close()

    asyncio.run(story())


def test_the_open_workspace_that_was_chosen_last_is_the_one_in_use(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await wish(computer, CreateWorkspace("a"), CreateWorkspace("b"))
        assert current(computer) == "main"
        await wish(computer, UseWorkspace("a"), UseWorkspace("b"))
        assert current(computer) == "b"
        await wish(computer, ArchiveWorkspace("b"))
        assert current(computer) == "a"
        await wish(computer, OpenWorkspace("b"))
        assert current(computer) == "b"
        await wish(computer, RemoveWorkspace("b"), RemoveWorkspace("a"))
        assert current(computer) == "main"
        await computer.close()

    asyncio.run(story())


def test_a_name_leads_to_the_workspace_that_has_it_now(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await wish(computer, CreateWorkspace("a"), RemoveWorkspace("a"))
        assert computer.workspaces.named("a") is None
        await wish(computer, CreateWorkspace("a"))
        found, former = computer.workspaces.named("a"), computer.workspaces.get("a")
        assert found is not None
        assert former is not None
        assert (found.id, former.state) == ("a-2", "removed")
        assert computer.workspaces.get("nothing") is None
        await computer.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (None, "workspaces.unknown"),
        (ArchiveWorkspace, "workspaces.closed"),
        (RemoveWorkspace, "workspaces.closed"),
    ],
)
def test_only_an_open_workspace_can_be_changed(
    tmp_path: Path, command: type[ArchiveWorkspace] | type[RemoveWorkspace] | None, code: str
) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        if command is not None:
            await wish(computer, CreateWorkspace("a"))
            computer.workspaces.check_open("a")
            await wish(computer, command("a"))
        with pytest.raises(Rejected) as caught:
            computer.workspaces.check_open("a")
        assert caught.value.code == code
        await computer.close()

    asyncio.run(story())


def test_the_table_made_again_from_the_log_is_the_same(tmp_path: Path) -> None:
    """C-16."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await wish(
            computer,
            CreateWorkspace("a"),
            CreateWorkspace("b", "/mine"),
            UseWorkspace("b"),
            RenameWorkspace("a", "c"),
            ArchiveWorkspace("main"),
            OpenWorkspace("main"),
            RemoveWorkspace("c"),
        )
        before = computer.workspaces.all()
        await computer.close()
        assert (await rebuild(desk.parts(), desk.settings, full=True)).differed == ()
        computer = await desk.open()
        assert computer.workspaces.all() == before
        await computer.close()

    asyncio.run(story())
