"""Who may arrange workspaces: the person does, an agent has to ask."""

import asyncio
from pathlib import Path

import pytest

from choiros.features.files.events import FileDeleted
from choiros.features.workspaces.check import OwnWorkspaces
from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
    WorkspaceCommand,
)
from choiros.features.workspaces.events import WorkspaceRemoved
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.dispatch import Asked, Done
from choiros.kernel.event import Source
from choiros.kernel.tree import Entry
from tests.computers import Desk

REMOVED = Fact(WorkspaceRemoved("a", "open"))
DELETED = Fact(FileDeleted("a", "x", Entry("dir", 0o755)))


def answer(*facts: Fact, source: Source) -> str | None:
    command = UseWorkspace("a")
    proposal = Proposal("any", command, Context("me", source=source), Decision(facts), "reversible")
    verdict = asyncio.run(OwnWorkspaces().judge(proposal))
    return verdict.answer if verdict else None


@pytest.mark.parametrize("source", ["user", "system"])
def test_the_person_and_the_program_arrange_workspaces_without_a_question(source: Source) -> None:
    assert answer(REMOVED, source=source) == "allow"


def test_an_agent_has_to_ask_by_whatever_command_and_among_whatever_else() -> None:
    """C-42."""
    assert answer(REMOVED, source="agent") == "ask"
    assert answer(DELETED, REMOVED, source="agent") == "ask"


@pytest.mark.parametrize("source", ["user", "agent", "system"])
def test_what_does_not_concern_workspaces_is_left_to_others(source: Source) -> None:
    assert answer(DELETED, source=source) is None
    assert answer(source=source) is None


def test_an_allowance_for_workspaces_covers_nothing_else() -> None:
    assert answer(REMOVED, DELETED, source="user") is None


@pytest.mark.parametrize(
    "command",
    [
        CreateWorkspace("new"),
        UseWorkspace("other"),
        RenameWorkspace("other", "new"),
        ArchiveWorkspace("other"),
        OpenWorkspace("old"),
        RemoveWorkspace("other"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_nothing_changes_until_the_person_has_answered_the_agent(
    tmp_path: Path, command: WorkspaceCommand
) -> None:
    """C-42."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        for first in (CreateWorkspace("other"), CreateWorkspace("old"), ArchiveWorkspace("old")):
            await computer.kernel.handle(first, computer.context())
        before = computer.workspaces.all()
        asked = await computer.kernel.handle(command, Context("me", source="agent"))
        assert isinstance(asked, Asked)
        assert computer.workspaces.all() == before
        assert isinstance(await computer.kernel.handle(command, computer.context()), Done)
        assert computer.workspaces.all() != before
        await computer.close()

    asyncio.run(story())
