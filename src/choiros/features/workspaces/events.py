"""What can happen to a workspace; `workspace` is its id, which never changes."""

from __future__ import annotations

from msgspec import Struct

from choiros.kernel.registry import EventType


class WorkspaceCreated(Struct, frozen=True):
    """There is a new workspace; `folder` is the person's own folder when it was added, None for one of ours."""

    workspace: str
    name: str
    folder: str | None = None


class WorkspaceUsed(Struct, frozen=True):
    """The person works in this workspace from now on."""

    workspace: str
    before: str | None


class WorkspaceRenamed(Struct, frozen=True):
    """The workspace has another name; its folder keeps its place."""

    workspace: str
    name: str
    before: str


class WorkspaceArchived(Struct, frozen=True):
    """The workspace is put away: nothing in it changes until it is opened again."""

    workspace: str


class WorkspaceOpened(Struct, frozen=True):
    """An archived or removed workspace is there again."""

    workspace: str
    before: str
    """The state it was in: archived or removed."""


class WorkspaceRemoved(Struct, frozen=True):
    """The workspace and its folder are gone; the log keeps everything, so that it can be undone."""

    workspace: str
    before: str


EVENTS = (
    EventType("workspace.create", WorkspaceCreated, effect="reversible"),
    EventType("workspace.use", WorkspaceUsed, effect="reversible"),
    EventType("workspace.rename", WorkspaceRenamed, effect="reversible"),
    EventType("workspace.archive", WorkspaceArchived, effect="reversible"),
    EventType("workspace.open", WorkspaceOpened, effect="reversible"),
    EventType("workspace.remove", WorkspaceRemoved, effect="reversible"),
)
