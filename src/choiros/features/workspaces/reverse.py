"""How changes of workspaces are taken back."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from choiros.features.workspaces.events import (
    EVENTS,
    WorkspaceArchived,
    WorkspaceCreated,
    WorkspaceOpened,
    WorkspaceRemoved,
    WorkspaceRenamed,
    WorkspaceUsed,
)
from choiros.features.workspaces.view import State, Workspace, WorkspacesView
from choiros.kernel.event import Event
from choiros.kernel.reverser import Obstacle, Reversal


class WorkspacesReverser:
    """Takes back the events of this room; what has changed again since is left and noted."""

    types = frozenset(kind.name for kind in EVENTS)

    def __init__(self, view: WorkspacesView) -> None:
        self._view = view

    async def reverse(self, events: Sequence[Event], leave: frozenset[str]) -> Reversal:
        """Return the facts that take back these events."""
        del leave
        names = {one.id: one for one in self._view.all()}
        facts: list[Struct] = []
        notes: list[Obstacle] = []
        obstacles: list[Obstacle] = []
        for event in reversed(events):
            fact = _inverse(event.payload, names, self._view.current())
            if isinstance(fact, Obstacle):
                notes.append(fact)
            elif fact is not None:
                if isinstance(fact, WorkspaceOpened | WorkspaceRenamed) and _name_taken(fact, names):
                    obstacles.append(Obstacle(fact.workspace, "another workspace has its name now"))
                facts.append(fact)
        return Reversal(tuple(facts), (), tuple(obstacles), tuple(notes))


def _inverse(
    payload: object, known: dict[str, Workspace], current: Workspace | None
) -> Struct | Obstacle | None:
    match payload:
        case WorkspaceCreated(workspace):
            return _if_state(known, workspace, "open", WorkspaceRemoved(workspace, "open"))
        case WorkspaceRemoved(workspace):
            return _if_state(known, workspace, "removed", WorkspaceOpened(workspace, "removed"))
        case WorkspaceArchived(workspace):
            return _if_state(known, workspace, "archived", WorkspaceOpened(workspace, "archived"))
        case WorkspaceOpened(workspace, before):
            fact = (
                WorkspaceArchived(workspace) if before == "archived" else WorkspaceRemoved(workspace, "open")
            )
            return _if_state(known, workspace, "open", fact)
        case WorkspaceRenamed(workspace, name, before):
            if known[workspace].name != name:
                return Obstacle(workspace, "it was renamed again since")
            return WorkspaceRenamed(workspace, before, name)
        case WorkspaceUsed(workspace, before):
            if before is None or current is None or current.id != workspace:
                return Obstacle(workspace, "another workspace was chosen since")
            return WorkspaceUsed(before, workspace)
        case _:
            return None


def _if_state(known: dict[str, Workspace], workspace: str, state: State, fact: Struct) -> Struct | Obstacle:
    found = known[workspace].state
    return fact if found == state else Obstacle(workspace, f"it is {found} now")


def _name_taken(fact: WorkspaceOpened | WorkspaceRenamed, known: dict[str, Workspace]) -> bool:
    name = fact.name if isinstance(fact, WorkspaceRenamed) else known[fact.workspace].name
    return any(
        one.name == name and one.id != fact.workspace and one.state != "removed" for one in known.values()
    )
