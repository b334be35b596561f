"""How changes of workspaces are taken back."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from choiros.features.workspaces.events import (
    EVENTS,
    WorkspaceArchived,
    WorkspaceCreated,
    WorkspaceOpened,
    WorkspaceRemoved,
    WorkspaceRenamed,
    WorkspaceUsed,
)
from choiros.features.workspaces.view import State, Workspace, WorkspacesView, overlapping
from choiros.kernel.event import Event
from choiros.kernel.reverser import Obstacle, Reversal

WorkspaceFact = WorkspaceArchived | WorkspaceOpened | WorkspaceRemoved | WorkspaceRenamed | WorkspaceUsed


class WorkspacesReverser:
    """Takes back the events of this room; what has changed again since is left and noted."""

    types = frozenset(kind.name for kind in EVENTS)

    def __init__(self, view: WorkspacesView) -> None:
        self._view = view

    async def reverse(self, events: Sequence[Event], leave: frozenset[str]) -> Reversal:
        """Return the facts that take back these events."""
        del leave
        known = {one.id: one for one in self._view.all()}
        now = self._view.current()
        current = now.id if now else None
        facts: list[Struct] = []
        notes: list[Obstacle] = []
        obstacles: list[Obstacle] = []
        for event in reversed(events):
            inverse = _inverse(event.payload, known, current=current)
            if isinstance(inverse, Obstacle):
                notes.append(inverse)
                continue
            for fact in inverse:
                if isinstance(fact, WorkspaceOpened | WorkspaceRenamed) and _name_taken(fact, known):
                    obstacles.append(Obstacle(fact.workspace, "another workspace has its name now"))
                if isinstance(fact, WorkspaceOpened) and overlapping(known[fact.workspace], known.values()):
                    obstacles.append(Obstacle(fact.workspace, "another workspace has its folder now"))
                known[fact.workspace] = _changed(known[fact.workspace], fact)
                current = fact.workspace if isinstance(fact, WorkspaceUsed) else current
                facts.append(fact)
        if facts and all(one.state != "open" for one in known.values()):
            obstacles.append(Obstacle("workspaces", "no open workspace would be left"))
        return Reversal(tuple(facts), (), tuple(obstacles), tuple(notes))


def _inverse(
    payload: object, known: dict[str, Workspace], *, current: str | None
) -> tuple[WorkspaceFact, ...] | Obstacle:
    match payload:
        case WorkspaceCreated(workspace):
            return _if_state(known[workspace], "open", WorkspaceRemoved(workspace, "open"))
        case WorkspaceRemoved(workspace, before):
            again = (WorkspaceArchived(workspace),) if before == "archived" else ()
            return _if_state(known[workspace], "removed", WorkspaceOpened(workspace, "removed"), *again)
        case WorkspaceArchived(workspace):
            return _if_state(known[workspace], "archived", WorkspaceOpened(workspace, "archived"))
        case WorkspaceOpened(workspace, before):
            fact = (
                WorkspaceArchived(workspace) if before == "archived" else WorkspaceRemoved(workspace, "open")
            )
            return _if_state(known[workspace], "open", fact)
        case WorkspaceRenamed() as renamed:
            return _renamed_back(renamed, known[renamed.workspace])
        case WorkspaceUsed() as used:
            return _used_before(used, known, current=current)
        case _:
            return ()


def _renamed_back(renamed: WorkspaceRenamed, one: Workspace) -> tuple[WorkspaceFact, ...] | Obstacle:
    if one.name != renamed.name:
        return Obstacle(one.id, "it was renamed again since")
    return (WorkspaceRenamed(one.id, renamed.before, renamed.name),)


def _used_before(
    used: WorkspaceUsed, known: dict[str, Workspace], *, current: str | None
) -> tuple[WorkspaceFact, ...] | Obstacle:
    if current != used.workspace:
        return Obstacle(used.workspace, "another workspace was chosen since")
    if used.before is None or known[used.before].state != "open":
        return Obstacle(used.workspace, "the workspace in use before is not open any more")
    return (WorkspaceUsed(used.before, used.workspace),)


def _if_state(one: Workspace, state: State, *facts: WorkspaceFact) -> tuple[WorkspaceFact, ...] | Obstacle:
    return facts if one.state == state else Obstacle(one.id, f"it is {one.state} now")


def _changed(one: Workspace, fact: WorkspaceFact) -> Workspace:
    """Return the workspace after a fact, so that an older event is taken back from there."""
    match fact:
        case WorkspaceRenamed(_, name):
            return replace(one, name=name)
        case WorkspaceArchived():
            return replace(one, state="archived")
        case WorkspaceRemoved():
            return replace(one, state="removed")
        case WorkspaceOpened():
            return replace(one, state="open")
        case WorkspaceUsed():
            return one


def _name_taken(fact: WorkspaceOpened | WorkspaceRenamed, known: dict[str, Workspace]) -> bool:
    name = fact.name if isinstance(fact, WorkspaceRenamed) else known[fact.workspace].name
    return any(
        one.name == name and one.id != fact.workspace and one.state != "removed" for one in known.values()
    )
