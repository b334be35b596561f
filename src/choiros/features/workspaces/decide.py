"""The rules for workspaces. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
from choiros.features.workspaces.events import (
    WorkspaceArchived,
    WorkspaceCreated,
    WorkspaceOpened,
    WorkspaceRemoved,
    WorkspaceRenamed,
    WorkspaceUsed,
)
from choiros.features.workspaces.view import Workspace, WorkspacesView, overlapping, unknown
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command
from choiros.kernel.errors import Rejected
from choiros.kernel.path import fold

NAME_MAX = 60
_name = re.compile(r"[^\W_][\w .-]*", re.UNICODE)


class WorkspacesState(Struct, frozen=True):
    """All workspaces, and the one in use."""

    all: Sequence[Workspace]
    current: Workspace | None


class WorkspacesLoader:
    """Loads the state for every command of this room."""

    def __init__(self, view: WorkspacesView) -> None:
        self._view = view

    async def load(self, command: WorkspaceCommand, context: Context) -> WorkspacesState:
        """Return all workspaces."""
        del command, context
        return WorkspacesState(self._view.all(), self._view.current())


def decide(command: WorkspaceCommand, state: WorkspacesState) -> Decision:
    """Return what a wish would record."""
    match command:
        case CreateWorkspace():
            return _create(command, state)
        case UseWorkspace(name):
            found = _open(name, state)
            before = state.current.id if state.current else None
            return _facts() if before == found.id else _facts(WorkspaceUsed(found.id, before))
        case RenameWorkspace(name, to):
            found = _named(name, state)
            _check_new_name(to, state, besides=found.id)
            return _facts(WorkspaceRenamed(found.id, to, found.name))
        case ArchiveWorkspace(name):
            return _facts(WorkspaceArchived(_spare(name, state).id))
        case OpenWorkspace(name):
            found = _there_or_removed(name, state)
            _check_folder(found, state)
            return _facts() if found.state == "open" else _facts(WorkspaceOpened(found.id, found.state))
        case RemoveWorkspace(name):
            found = _spare(name, state) if _named(name, state).state == "open" else _named(name, state)
            return _facts(WorkspaceRemoved(found.id, found.state))


def _create(command: CreateWorkspace, state: WorkspacesState) -> Decision:
    _check_new_name(command.name, state)
    taken = {one.id for one in state.all}
    fresh = next(one for one in _ids(command.name) if one not in taken)
    _check_folder(Workspace(fresh, command.name, command.folder, "open", 0, 0), state)
    return _facts(WorkspaceCreated(fresh, command.name, command.folder))


def _ids(name: str) -> list[str]:
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "workspace"
    return [word, *(f"{word}-{number}" for number in range(2, 10_000))]


def _check_folder(one: Workspace, state: WorkspacesState) -> None:
    other = overlapping(one, state.all)
    if other is not None:
        raise Rejected(
            "workspaces.overlap",
            f"'{one.folder}' and the workspace '{other.name}' lie inside each other.",
            fix="Choose a folder that shares nothing with another workspace.",
            folder=one.folder,
        )


def _check_new_name(name: str, state: WorkspacesState, *, besides: str | None = None) -> None:
    if len(name) > NAME_MAX or not _name.fullmatch(name):
        raise Rejected(
            "workspaces.bad_name",
            f"'{name[:NAME_MAX]}' cannot be the name of a workspace.",
            fix=f"Use letters, digits, spaces, '.', '-' and '_', at most {NAME_MAX}, beginning with a letter or digit.",
            name=name[:NAME_MAX],
        )
    there = [one for one in state.all if one.state != "removed"]
    alike = [one for one in there if one.id != besides and fold(one.name) == fold(name)]
    found = next((one for one in there if one.name == name), next(iter(alike), None))
    if found is not None:
        raise Rejected(
            "workspaces.exists",
            f"There is a workspace '{found.name}' already.",
            fix="Choose another name, or use that one: 'choir workspaces use'.",
            name=found.name,
        )


def _named(name: str, state: WorkspacesState) -> Workspace:
    found = next((one for one in state.all if one.name == name and one.state != "removed"), None)
    if found is None:
        raise unknown(name)
    return found


def _there_or_removed(name: str, state: WorkspacesState) -> Workspace:
    """Return the workspace of this name; when there is none, the one that was made last of those removed."""
    removed = [one for one in state.all if one.name == name and one.state == "removed"]
    is_there = any(one.name == name and one.state != "removed" for one in state.all)
    return removed[-1] if removed and not is_there else _named(name, state)


def _open(name: str, state: WorkspacesState) -> Workspace:
    found = _named(name, state)
    if found.state != "open":
        raise Rejected(
            "workspaces.closed",
            f"The workspace '{name}' is archived.",
            fix=f"Bring it back first: 'choir workspaces open {name}'.",
            name=name,
        )
    return found


def _spare(name: str, state: WorkspacesState) -> Workspace:
    """Return an open workspace that is not the only one."""
    found = _open(name, state)
    if sum(one.state == "open" for one in state.all) == 1:
        raise Rejected(
            "workspaces.last",
            f"'{name}' is the only open workspace.",
            fix="Make another one first: 'choir workspaces new NAME'.",
            name=name,
        )
    return found


def _facts(*payloads: Struct) -> Decision:
    return Decision(tuple(Fact(payload) for payload in payloads))


def command_types(loader: WorkspacesLoader) -> Commands:
    """Return this room's commands."""
    classes: dict[str, type[WorkspaceCommand]] = {
        "workspaces.new": CreateWorkspace,
        "workspaces.use": UseWorkspace,
        "workspaces.rename": RenameWorkspace,
        "workspaces.archive": ArchiveWorkspace,
        "workspaces.open": OpenWorkspace,
        "workspaces.rm": RemoveWorkspace,
    }
    return [
        any_command(CommandType(name, one, load=loader.load, decide=decide, effect="reversible"))
        for name, one in classes.items()
    ]
