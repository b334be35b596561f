"""Which workspaces there are, what state each is in, and which one the person works in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, cast

from msgspec import Struct

from choiros.features.workspaces.events import (
    WorkspaceArchived,
    WorkspaceCreated,
    WorkspaceOpened,
    WorkspaceRemoved,
    WorkspaceRenamed,
    WorkspaceUsed,
)
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Event
from choiros.kernel.tables import Tables

State = Literal["open", "archived", "removed"]

SCHEMA = """
CREATE TABLE workspaces(
    workspace TEXT PRIMARY KEY, name TEXT NOT NULL, folder TEXT, state TEXT NOT NULL, used INTEGER NOT NULL,
    created INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
"""


class Workspace(Struct, frozen=True):
    """One workspace as it is now; `used` is the number of the event that last chose it."""

    id: str
    name: str
    folder: str | None
    state: State
    used: int
    created: int


_FACTS = frozenset(
    {
        WorkspaceCreated,
        WorkspaceUsed,
        WorkspaceRenamed,
        WorkspaceArchived,
        WorkspaceOpened,
        WorkspaceRemoved,
    }
)
"""The facts this view is about; matching all others against every case would cost more than the rest."""


class WorkspacesProjector:
    """Keeps `workspaces`."""

    name = "workspaces"
    version = 1
    tables = ("workspaces",)
    schema = SCHEMA

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the table from the state before these events to the state after them."""
        for event in (one for one in events if type(one.payload) in _FACTS):
            match event.payload:
                case WorkspaceCreated(workspace, name, folder):
                    row = (workspace, name, folder, event.seq)
                    tables.run("INSERT INTO workspaces VALUES (?1, ?2, ?3, 'open', 0, ?4)", [row])
                case WorkspaceUsed(workspace):
                    tables.run("UPDATE workspaces SET used = ? WHERE workspace = ?", [(event.seq, workspace)])
                case WorkspaceRenamed(workspace, name):
                    tables.run("UPDATE workspaces SET name = ? WHERE workspace = ?", [(name, workspace)])
                case WorkspaceArchived(workspace):
                    _set_state(tables, workspace, state="archived")
                case WorkspaceOpened(workspace):
                    _set_state(tables, workspace, state="open")
                case WorkspaceRemoved(workspace):
                    _set_state(tables, workspace, state="removed")
                case _:
                    pass


def _set_state(tables: Tables, workspace: str, *, state: State) -> None:
    tables.run("UPDATE workspaces SET state = ? WHERE workspace = ?", [(state, workspace)])


class WorkspacesView:
    """Answers questions about workspaces."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def all(self) -> list[Workspace]:
        """Return every workspace that ever was, removed ones included, in the order they were made."""
        rows = self._tables.query(
            "SELECT workspace, name, folder, state, used, created FROM workspaces ORDER BY created"
        )
        return [Workspace(*cast("tuple[str, str, str | None, State, int, int]", row)) for row in rows]

    def get(self, workspace: str) -> Workspace | None:
        """Return the workspace with this id."""
        return next((one for one in self.all() if one.id == workspace), None)

    def named(self, name: str) -> Workspace | None:
        """Return the workspace with this name that is not removed."""
        return next((one for one in self.all() if one.name == name and one.state != "removed"), None)

    def current(self) -> Workspace | None:
        """Return the open workspace that was chosen last."""
        found = [one for one in self.all() if one.state == "open"]
        return max(found, key=lambda one: (one.used, -one.created)) if found else None

    def check_open(self, workspace: str) -> None:
        """Raise Rejected (`workspaces.*`) when there is no such workspace or it is put away."""
        found = self.get(workspace)
        if found is None:
            raise unknown(workspace)
        if found.state != "open":
            raise Rejected(
                "workspaces.closed",
                f"The workspace '{found.name}' is {found.state}; nothing in it can be changed.",
                fix=f"Bring it back first: 'choir workspaces open {found.name}', or undo what removed it.",
                name=found.name,
            )


def overlapping(one: Workspace, others: Iterable[Workspace]) -> Workspace | None:
    """Return a workspace that is there and whose folder is the folder of this one, or lies inside it or around it."""
    for other in others:
        if other.id != one.id and other.state != "removed" and one.folder and other.folder:
            parts, theirs = one.folder.split("/"), other.folder.split("/")
            shorter = min(len(parts), len(theirs))
            if parts[:shorter] == theirs[:shorter]:
                return other
    return None


def unknown(name: str) -> Rejected:
    """Return the error for a name that no workspace has."""
    return Rejected(
        "workspaces.unknown",
        f"There is no workspace '{name}'.",
        fix="'choir workspaces' lists them; 'choir workspaces new NAME' makes one.",
        name=name,
    )
