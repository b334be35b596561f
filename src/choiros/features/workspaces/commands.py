"""What one may wish for workspaces; each is named by its name."""

from __future__ import annotations

from msgspec import Struct


class CreateWorkspace(Struct, frozen=True):
    """Make a new, empty workspace; with `folder`, let a folder that the person has become one."""

    name: str
    folder: str | None = None


class UseWorkspace(Struct, frozen=True):
    """Work in this workspace from now on."""

    name: str


class RenameWorkspace(Struct, frozen=True):
    """Give a workspace another name."""

    name: str
    to: str


class ArchiveWorkspace(Struct, frozen=True):
    """Put a workspace away."""

    name: str


class OpenWorkspace(Struct, frozen=True):
    """Bring an archived workspace back."""

    name: str


class RemoveWorkspace(Struct, frozen=True):
    """Remove a workspace with its folder; a folder that was added is left as it is."""

    name: str


WorkspaceCommand = (
    CreateWorkspace | UseWorkspace | RenameWorkspace | ArchiveWorkspace | OpenWorkspace | RemoveWorkspace
)
