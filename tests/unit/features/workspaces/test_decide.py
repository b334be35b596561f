"""The rules for workspaces: what each wish records, and every refusal."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Struct

from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
    WorkspaceCommand,
)
from choiros.features.workspaces.decide import NAME_MAX, WorkspacesState, decide
from choiros.features.workspaces.events import (
    WorkspaceArchived,
    WorkspaceCreated,
    WorkspaceOpened,
    WorkspaceRemoved,
    WorkspaceRenamed,
    WorkspaceUsed,
)
from choiros.features.workspaces.view import State, Workspace
from choiros.kernel.errors import Rejected
from tests.computers import Desk


def workspace(name: str, state: State = "open", *, folder: str | None = None, number: int = 1) -> Workspace:
    return Workspace(name.lower(), name, folder, state, 0, number)


MAIN = workspace("main")
OTHER = workspace("other", number=2)
OLD = workspace("old", "archived", number=3)
GONE = workspace("gone", "removed", number=4)
ALL = WorkspacesState((MAIN, OTHER, OLD, GONE), MAIN)
ALONE = WorkspacesState((MAIN, OLD, GONE), MAIN)


def facts(command: WorkspaceCommand, state: WorkspacesState = ALL) -> list[Struct]:
    return decide(command, state).payloads


def refusal(command: WorkspaceCommand, state: WorkspacesState = ALL) -> Rejected:
    with pytest.raises(Rejected) as caught:
        decide(command, state)
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (CreateWorkspace("Thesis"), WorkspaceCreated("thesis", "Thesis")),
        (CreateWorkspace("code", "/home/me/code"), WorkspaceCreated("code", "code", "/home/me/code")),
        (UseWorkspace("other"), WorkspaceUsed("other", "main")),
        (RenameWorkspace("other", "Thesis"), WorkspaceRenamed("other", "Thesis", "other")),
        (ArchiveWorkspace("other"), WorkspaceArchived("other")),
        (OpenWorkspace("old"), WorkspaceOpened("old", "archived")),
        (RemoveWorkspace("other"), WorkspaceRemoved("other", "open")),
        (RemoveWorkspace("old"), WorkspaceRemoved("old", "archived")),
    ],
    ids=lambda one: type(one).__name__,
)
def test_each_wish_is_recorded_with_what_its_undo_needs(command: WorkspaceCommand, expected: Struct) -> None:
    """C-42."""
    assert facts(command) == [expected]


@pytest.mark.parametrize("command", [UseWorkspace("main"), OpenWorkspace("other")])
def test_what_is_so_already_records_nothing(command: WorkspaceCommand) -> None:
    assert facts(command) == []


def test_the_first_workspace_can_be_chosen_when_none_is_in_use() -> None:
    assert facts(UseWorkspace("other"), WorkspacesState(ALL.all, None)) == [WorkspaceUsed("other", None)]


# --- Ids ---


@pytest.mark.parametrize(
    ("name", "expected"),
    [("My Notes", "my-notes"), ("a.b_c", "a-b-c"), ("日本", "workspace"), ("x" * 60, "x" * 40)],
)
def test_an_id_is_a_plain_word_that_is_safe_as_the_name_of_a_folder(name: str, expected: str) -> None:
    (created,) = facts(CreateWorkspace(name))
    assert isinstance(created, WorkspaceCreated)
    assert (created.workspace, created.name) == (expected, name)


def test_an_id_is_never_given_twice_not_even_that_of_a_removed_workspace() -> None:
    assert facts(CreateWorkspace("gone")) == [WorkspaceCreated("gone-2", "gone")]
    twice = WorkspacesState((*ALL.all, workspace("gone-2", number=5)), MAIN)
    assert facts(CreateWorkspace("gone"), twice) == [WorkspaceCreated("gone-3", "gone")]


# --- Refused ---

BAD_NAMES = ["", " a", "../up", "a/b", ".hidden", "-rf", "_x", "a\nb", "a\x00b", "x" * (NAME_MAX + 1), "a\n"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_no_plain_word_is_refused(name: str) -> None:
    for command in (CreateWorkspace(name), RenameWorkspace("other", name)):
        error = refusal(command)
        assert error.code == "workspaces.bad_name"
        assert len(str(error)) < 400


@pytest.mark.parametrize("name", ["a", "7", "Ä ö", "my notes", "v1.2-x_y", "x" * NAME_MAX])
def test_a_plain_name_in_any_language_is_taken(name: str) -> None:
    assert len(facts(CreateWorkspace(name))) == 1


@pytest.mark.parametrize("name", ["main", "other", "old"])
def test_a_name_is_there_once_among_open_and_archived_workspaces(name: str) -> None:
    assert refusal(CreateWorkspace(name)).code == "workspaces.exists"
    assert refusal(RenameWorkspace("other", name)).code == "workspaces.exists"


def test_the_name_of_a_removed_workspace_is_free_again() -> None:
    assert facts(RenameWorkspace("other", "gone")) == [WorkspaceRenamed("other", "gone", "other")]


@pytest.mark.parametrize("name", ["nothing", "gone", ""])
def test_a_workspace_that_is_unknown_or_removed_is_refused(name: str) -> None:
    for command in (
        UseWorkspace(name),
        RenameWorkspace(name, "new"),
        ArchiveWorkspace(name),
        RemoveWorkspace(name),
    ):
        assert refusal(command).code == "workspaces.unknown"


@pytest.mark.parametrize("name", ["nothing", ""])
def test_what_never_was_cannot_be_opened(name: str) -> None:
    assert refusal(OpenWorkspace(name)).code == "workspaces.unknown"


def test_a_removed_workspace_can_be_opened_while_nothing_has_its_name() -> None:
    """C-42."""
    state = WorkspacesState((*ALL.all, Workspace("gone-2", "gone", None, "removed", 0, 5)), MAIN)
    assert facts(OpenWorkspace("gone")) == [WorkspaceOpened("gone", "removed")]
    assert facts(OpenWorkspace("gone"), state) == [WorkspaceOpened("gone-2", "removed")]
    taken = WorkspacesState((*ALL.all, Workspace("gone-3", "gone", None, "open", 0, 6)), MAIN)
    assert facts(OpenWorkspace("gone"), taken) == []


@pytest.mark.parametrize("name", ["Main", "OLD", "\N{FULLWIDTH LATIN CAPITAL LETTER O}ther"])
def test_names_that_only_a_machine_can_tell_apart_are_one(name: str) -> None:
    assert refusal(CreateWorkspace(name)).code == "workspaces.exists"


def test_a_workspace_may_change_the_case_of_its_own_name() -> None:
    assert facts(RenameWorkspace("other", "Other")) == [WorkspaceRenamed("other", "Other", "other")]


@pytest.mark.parametrize("kind", [UseWorkspace, ArchiveWorkspace])
def test_an_archived_workspace_has_to_be_opened_first(
    kind: type[UseWorkspace] | type[ArchiveWorkspace],
) -> None:
    assert refusal(kind("old")).code == "workspaces.closed"


@pytest.mark.parametrize("kind", [ArchiveWorkspace, RemoveWorkspace])
def test_the_last_open_workspace_stays(kind: type[ArchiveWorkspace] | type[RemoveWorkspace]) -> None:
    assert refusal(kind("main"), ALONE).code == "workspaces.last"
    assert len(facts(RemoveWorkspace("old"), ALONE)) == 1


@pytest.mark.parametrize("folder", ["/home/me/code", "/home/me/code/deep", "/home/me", "/home"])
def test_folders_inside_each_other_are_refused(folder: str) -> None:
    code = workspace("code", folder="/home/me/code", number=5)
    error = refusal(CreateWorkspace("new", folder), WorkspacesState((*ALL.all, code), MAIN))
    assert error.code == "workspaces.overlap"


def test_a_removed_workspace_whose_folder_belongs_to_another_by_now_stays_removed() -> None:
    old = workspace("a", "removed", folder="/home/me/code", number=5)
    new = workspace("b", folder="/home/me/code/deep", number=6)
    state = WorkspacesState((MAIN, old, new), MAIN)
    assert refusal(OpenWorkspace("a"), state).code == "workspaces.overlap"
    assert len(facts(OpenWorkspace("a"), WorkspacesState((MAIN, old), MAIN))) == 1


def test_folders_beside_each_other_and_those_of_removed_workspaces_are_taken() -> None:
    code = workspace("code", folder="/home/me/code", number=5)
    state = WorkspacesState((*ALL.all, code), MAIN)
    assert len(facts(CreateWorkspace("new", "/home/me/code2"), state)) == 1
    removed = WorkspacesState((*ALL.all, workspace("code", "removed", folder="/a")), MAIN)
    assert len(facts(CreateWorkspace("new", "/a"), removed)) == 1


# --- With a whole computer ---


def test_the_rules_see_every_workspace_and_the_one_in_use(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        me = computer.context()
        await computer.kernel.handle(CreateWorkspace("other"), me)
        await computer.kernel.handle(UseWorkspace("other"), me)
        await computer.kernel.handle(ArchiveWorkspace("main"), me)
        before = await computer.journal.head()
        with pytest.raises(Rejected, match="only open workspace"):
            await computer.kernel.handle(RemoveWorkspace("other"), me)
        assert await computer.journal.head() == before
        await computer.close()

    asyncio.run(story())
