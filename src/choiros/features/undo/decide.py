"""The rules for undo: what would be taken back, what stands against it, and what can never be. Pure but for loading."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from choiros.features.undo.commands import Redo, Undo
from choiros.features.undo.events import Target, Undone, spans_of
from choiros.features.undo.view import UndoView
from choiros.kernel.command import Context, Decision, Fact
from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.event import Event
from choiros.kernel.journal import Journal
from choiros.kernel.reverser import Obstacle, Reversal, Reverser


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

    def __init__(self, view: UndoView, journal: Journal, reversers: Sequence[Reverser]) -> None:
        self._view = view
        self._journal = journal
        self._reversers = tuple(reversers)

    async def undo(self, command: Undo, context: Context) -> Plan:
        """Return the plan of an undo; raises Rejected (`undo.*`) when there is nothing to take back."""
        del context
        target, name, seqs = await self._target(command)
        return await self._plan(target, name, seqs, command.leave)

    async def redo(self, command: Redo, context: Context) -> Plan:
        """Return the plan of taking back the newest undo."""
        del context
        last = self._view.last_undo(command.workspace)
        if last is None:
            raise nothing("There is no undo to take back.")
        return await self._plan("redo", str(last), self._view.compensations(last), command.leave)

    async def _target(self, command: Undo) -> tuple[Target, str, tuple[int, ...]]:
        if command.since is not None:
            await self._check_exists(command.since)
            return "since", str(command.since), self._view.after(command.workspace, command.since)
        if command.run is not None:
            return "run", command.run, self._of_run(command.run)
        if command.seq is not None:
            return await self._of_event(command.seq)
        unit = self._view.last_unit(command.workspace)
        if unit is None:
            raise nothing("Nothing in this workspace can be taken back.")
        return "unit", unit.run or str(unit.seqs[0]), unit.seqs

    def _of_run(self, run: str) -> tuple[int, ...]:
        seqs = self._view.of_run(run)
        if seqs:
            return seqs
        if self._view.knows_run(run):
            raise nothing(f"The run '{run}' is taken back already.", fix="'choir redo' brings it back.")
        raise nothing(f"No run '{run}' has done anything that can be taken back.")

    async def _of_event(self, seq: int) -> tuple[Target, str, tuple[int, ...]]:
        await self._check_exists(seq)
        by = self._view.undone_by(seq)
        if by is not None:
            raise nothing(
                f"Event {seq} is taken back already, by event {by}.", fix=f"'choir undo {by}' brings it back."
            )
        if self._view.is_undo(seq):
            return "redo", str(seq), self._view.compensations(seq)
        return "event", str(seq), (seq,)

    async def _check_exists(self, seq: int) -> None:
        head = (await self._journal.head()).seq
        if not 0 <= seq <= head:
            raise Rejected(
                "undo.unknown_event",
                f"There is no event {seq}; the newest one is {head}.",
                fix="'choir log' lists the events.",
                seq=seq,
            )

    async def _plan(self, target: Target, name: str, seqs: Sequence[int], leave: tuple[str, ...]) -> Plan:
        registry = self._journal.registry
        events = await self._journal.fetch(seqs)
        kinds = [(event, registry.get(event.head.event_type)) for event in events]
        final = [event for event, kind in kinds if kind is None or kind.effect in {"irreversible", "delayed"}]
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
        return Plan(target, name, tuple(seqs), reversal, tuple(final), leave)


def decide(command: Undo | Redo, plan: Plan) -> Decision:
    """Take back all of it, or nothing when something stands against it."""
    del command
    if plan.reversal.obstacles:
        raise obstructed(plan.reversal.obstacles)
    taken = [seq for seq in plan.seqs if seq not in {event.seq for event in plan.irreversible}]
    if not taken:
        raise nothing(f"Event {plan.name} cannot be taken back.", fix="'choir show' tells what it did.")
    undone = Undone(plan.target, plan.name, spans_of(taken), plan.leave)
    facts = [Fact(undone), *(Fact(fact, because_of=0) for fact in plan.reversal.facts)]
    return Decision(tuple(facts), plan.reversal.contents)


def nothing(message: str, fix: str = "'choir log' shows what happened.") -> Rejected:
    """Return the error for an undo without an object."""
    return Rejected("undo.nothing", message, fix=fix)


def obstructed(obstacles: Sequence[Obstacle]) -> Conflict:
    """Return the error for an undo that newer changes stand against; nothing was changed."""
    places = [f"{one.what}: {one.reason}" for one in obstacles]
    shown = "; ".join(places[:5]) + (f"; and {len(places) - 5} more" if len(places) > 5 else "")
    return Conflict(
        "undo.conflict",
        f"It cannot be taken back without losing newer changes: {shown}. Nothing was changed.",
        fix="Undo the newer changes first, or leave these files as they are (--except PATH).",
        places=places,
    )
