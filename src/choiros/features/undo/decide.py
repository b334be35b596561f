"""The rules for undo: what would be taken back, what stands against it, and what can never be. Pure but for loading."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from choiros.features.undo.commands import Redo, Undo
from choiros.features.undo.events import Target, Undone, spans_of
from choiros.features.undo.view import UndoView
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command
from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.event import Event
from choiros.kernel.journal import Journal
from choiros.kernel.path import is_below
from choiros.kernel.registry import FINAL
from choiros.kernel.reverser import Obstacle, Reversal, Reverser

PLACES_SHOWN = 5


class Plan(Struct, frozen=True):
    """What an undo would do: the events it takes back, how, and what stays for ever."""

    target: Target
    name: str
    seqs: tuple[int, ...]
    reversal: Reversal
    irreversible: tuple[Event, ...]
    leave: tuple[str, ...]


class Planner:
    """Draws up what an undo would do; nothing is changed."""

    def __init__(self, view: UndoView, journal: Journal, *, reversers: Sequence[Reverser]) -> None:
        self._view = view
        self._journal = journal
        self._reversers = tuple(reversers)

    async def undo(self, command: Undo, context: Context) -> Plan:
        """Return the plan of an undo; raises Rejected (`undo.*`) when there is nothing to take back."""
        del context
        target, name, seqs = await self._target(command)
        return await self._plan(target, name, seqs=seqs, leave=command.leave)

    async def redo(self, command: Redo, context: Context) -> Plan:
        """Return the plan of taking back the newest undo."""
        del context
        last = self._view.last_undo(command.workspace)
        if last is None:
            raise nothing("There is no undo to take back.")
        return await self._plan("redo", str(last), seqs=self._view.compensations(last), leave=command.leave)

    async def _target(self, command: Undo) -> tuple[Target, str, tuple[int, ...]]:
        if command.since is not None:
            await self._check_exists(command.since, first=0)
            seqs = self._view.after(command.workspace, command.since)
            finals = self._view.finals(command.workspace, after=command.since)
            return "since", str(command.since), tuple(sorted(seqs + finals))
        if command.run is not None:
            return "run", command.run, self._of_run(command.run, command.workspace)
        if command.seq is not None:
            return await self._of_event(command.seq, command.workspace)
        unit = self._view.last_unit(command.workspace)
        if unit is None:
            raise nothing("Nothing in this workspace can be taken back.")
        if unit.run is not None:
            return "unit", unit.run, self._of_run(unit.run, command.workspace)
        return "unit", str(unit.seqs[0]), unit.seqs

    def _of_run(self, run: str, workspace: str) -> tuple[int, ...]:
        seqs = self._view.of_run(run, workspace)
        if seqs:
            return tuple(sorted(seqs + self._view.finals(workspace, run=run)))
        if self._view.knows_run(run, workspace):
            raise nothing(f"The run '{run}' is taken back already.", fix="'choir redo' brings it back.")
        raise nothing(f"No run '{run}' has done anything in this workspace that can be taken back.")

    async def _of_event(self, seq: int, workspace: str) -> tuple[Target, str, tuple[int, ...]]:
        await self._check_exists(seq, first=1)
        await self._check_here(seq, workspace)
        by = self._view.undone_by(seq)
        if by is not None:
            raise nothing(
                f"Event {seq} is taken back already, by event {by}.", fix=f"'choir undo {by}' brings it back."
            )
        if self._view.is_undo(seq):
            return "redo", str(seq), self._view.compensations(seq)
        return "event", str(seq), (seq,)

    async def _check_exists(self, seq: int, *, first: int) -> None:
        head = (await self._journal.head()).seq
        if not first <= seq <= head:
            raise Rejected(
                "undo.unknown_event",
                f"There is no event {seq}; the newest one is {head}.",
                fix="'choir log' lists the events.",
                seq=seq,
            )

    async def _check_here(self, seq: int, workspace: str) -> None:
        """Refuse an event that changed nothing, and one of another workspace."""
        where = self._view.workspace_of(seq)
        if where is None and not self._view.is_undo(seq) and not self._is_final(await self._event(seq)):
            raise nothing(
                f"Event {seq} is not a change that can be taken back.", fix="'choir show' tells what it is."
            )
        if where and where != workspace:
            raise Rejected(
                "undo.other_workspace",
                f"Event {seq} happened in another workspace ('{where}').",
                fix="Say which workspace is meant (--workspace NAME).",
                seq=seq,
                workspace=where,
            )

    async def _event(self, seq: int) -> Event:
        return (await self._journal.fetch([seq]))[0]

    def _is_final(self, event: Event) -> bool:
        kind = self._journal.registry.get(event.head.event_type)
        return kind is None or kind.effect in FINAL

    async def _plan(self, target: Target, name: str, *, seqs: Sequence[int], leave: tuple[str, ...]) -> Plan:
        events = await self._journal.fetch(seqs)
        final = [event for event in events if self._is_final(event)]
        events = [event for event in events if not _is_left(event, leave)]
        parts = [
            await reverser.reverse(chosen, frozenset(leave))
            for reverser in self._reversers
            if (chosen := [event for event in events if event.head.event_type in reverser.types])
        ]
        reversal = Reversal(
            tuple(fact for part in parts for fact in part.facts),
            tuple(content for part in parts for content in part.contents),
            tuple(one for part in parts for one in part.obstacles),
            tuple(one for part in parts for one in part.notes),
        )
        return Plan(target, name, tuple(event.seq for event in events), reversal, tuple(final), leave)


def _is_left(event: Event, leave: tuple[str, ...]) -> bool:
    """Return whether an event is about something that shall stay as it is, so that it is not taken back."""
    paths = (getattr(event.payload, name, None) for name in ("path", "to"))
    return any(path == left or is_below(str(path), left) for path in paths if path for left in leave)


def decide(command: Undo | Redo, plan: Plan) -> Decision:
    """Take back all of it, or nothing when something stands against it."""
    del command
    if plan.reversal.obstacles:
        raise obstructed(plan.reversal.obstacles)
    taken = [seq for seq in plan.seqs if seq not in {event.seq for event in plan.irreversible}]
    # Without a name it goes on to the change before, also when the last one came to nothing by itself.
    goes_on = plan.target in {"unit", "redo"} and not plan.leave
    if not taken or not (plan.reversal.facts or goes_on):
        raise nothing_left(plan)
    undone = Undone(plan.target, plan.name, spans_of(taken), plan.leave)
    facts = [Fact(undone), *(Fact(fact, because_of=0) for fact in plan.reversal.facts)]
    return Decision(tuple(facts), plan.reversal.contents)


def nothing(message: str, fix: str = "'choir log' shows what happened.") -> Rejected:
    """Return the error for an undo without an object."""
    return Rejected("undo.nothing", message, fix=fix)


def nothing_left(plan: Plan) -> Rejected:
    """Return the error for an undo that would change nothing, with the reasons."""
    reasons = [f"{one.what}: {one.reason}" for one in plan.reversal.notes]
    reasons += [f"event {event.seq} can never be taken back" for event in plan.irreversible]
    reason = "; ".join(reasons[:PLACES_SHOWN]) or "everything is as it was"
    return nothing(f"There is nothing left to take back: {reason}.")


def obstructed(obstacles: Sequence[Obstacle]) -> Conflict:
    """Return the error for an undo that newer changes stand against; nothing was changed."""
    places = [f"{one.what}: {one.reason}" for one in obstacles]
    rest = len(places) - PLACES_SHOWN
    shown = "; ".join(places[:PLACES_SHOWN]) + (f"; and {rest} more" if rest > 0 else "")
    return Conflict(
        "undo.conflict",
        f"It cannot be taken back without losing newer changes: {shown}. Nothing was changed.",
        fix="Undo the newer changes first, or leave these files as they are (--except PATH).",
        places=places,
    )


def command_types(planner: Planner) -> Commands:
    """Return this room's commands."""
    return [
        any_command(CommandType("undo", Undo, load=planner.undo, decide=decide, effect="reversible")),
        any_command(CommandType("redo", Redo, load=planner.redo, decide=decide, effect="reversible")),
    ]
