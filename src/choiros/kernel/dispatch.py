"""The one door: every wish enters here, is judged, recorded, and only then has effects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

import msgspec
from msgspec import Struct

from choiros.kernel.blob import BlobStore
from choiros.kernel.clock import Clock
from choiros.kernel.command import CommandType, Context, Decision, Fact, Proposal
from choiros.kernel.errors import ChoirError, Conflict, Corrupt, Rejected, Unavailable
from choiros.kernel.event import Draft, Event, Point
from choiros.kernel.gate import ApprovalRequested, Gate, Ruling, Verdict, VerdictRecorded
from choiros.kernel.ids import Ids
from choiros.kernel.journal import Journal
from choiros.kernel.projector import ProjectorRunner
from choiros.kernel.reactor import ReactorRunner

ATTEMPTS = 4
"""A stale writer reads again at most three times."""

RULE = "rule"
"""The name under which a refusal by a command's own rule is recorded."""


class Approvals(Protocol):
    """What the kernel must know about a person's answers."""

    def granted(self, request: str) -> str | None:
        """Return the digest that a person has allowed under this request and nobody has used, else None."""
        ...


class Done(Struct, frozen=True):
    """The wish is recorded and carried out.

    `events` begin with the verdict; they are empty when everything was as wished already. `troubles` tells what
    could not be carried out yet (a folder that does not show it, a commit that failed); the record holds.
    """

    events: tuple[Event, ...]
    troubles: tuple[ChoirError, ...] = ()

    @property
    def facts(self) -> list[Event]:
        """Return the events that the command led to, without the verdict."""
        return list(self.events[1:])


class Asked(Struct, frozen=True):
    """Nothing has happened yet: a person is asked."""

    request: str
    reasons: str


class Kernel:
    """Handles the wishes of one person."""

    def __init__(
        self,
        journal: Journal,
        *,
        blobs: BlobStore,
        clock: Clock,
        ids: Ids,
        gate: Gate,
        approvals: Approvals,
        commands: Iterable[CommandType[Struct, object]],
        projectors: ProjectorRunner,
        reactors: ReactorRunner,
    ) -> None:
        self._journal = journal
        self._blobs = blobs
        self._clock = clock
        self._ids = ids
        self._gate = gate
        self._approvals = approvals
        self._commands = {kind.command: kind for kind in commands}
        self._projectors = projectors
        self._reactors = reactors
        self._turn = asyncio.Lock()
        self._fault: Corrupt | None = None

    def stop(self, fault: Corrupt) -> None:
        """Refuse every wish from now on, because what is stored is not what was stored."""
        self._fault = fault

    async def propose(self, command: Struct, context: Context) -> Proposal:
        """Return what a command would record if it were handled now; nothing happens."""
        return await self._commands[type(command)].propose(command, context)

    async def handle(self, command: Struct, context: Context) -> Done | Asked:
        """Judge a command and, if it is allowed, record it and carry it out.

        Raises Rejected when its rule or the gate refuses it (`gate.blocked`), Conflict when others kept changing
        what it is about, and whatever its rule raises. Without a return value nothing was recorded but, for a
        blocked command, the verdict.
        """
        if self._fault is not None:
            raise self._fault
        for _ in range(ATTEMPTS):
            position = self._projectors.position()
            proposal = await self._proposed(command, context)
            ruling = self._with_approval(proposal, await self._gate.judge(proposal))
            async with self._turn:
                outcome = await self._record(proposal, ruling, seen=position)
            if outcome is not None:
                return await self._with_effects(outcome)
        raise Conflict(
            "dispatch.busy",
            "Others kept changing the same things; nothing was done.",
            fix="Try again.",
        )

    async def _proposed(self, command: Struct, context: Context) -> Proposal:
        """Return the proposal; what a rule refuses to an agent, or in an audited command, is recorded as refused."""
        try:
            return await self.propose(command, context)
        except (Rejected, Conflict) as refusal:
            kind = self._commands[type(command)]
            if kind.audited or context.source != "user":
                proposal = Proposal(kind.name, command, context, Decision(()), kind.effect)
                verdict = Verdict(RULE, "block", f"{refusal.message} ({refusal.code})")
                async with self._turn:
                    await self._projectors.catch_up()
                    drafts = self._drafts(proposal, Ruling("block", (verdict,)))
                    self._projectors.apply(await self._journal.append(drafts))
            raise

    async def recorded(self, event: Event, approval: str) -> Done | Asked:
        """Handle the command of an approval request again, now that a person has allowed it."""
        request = cast("ApprovalRequested", event.payload)
        kind = next((one for one in self._commands.values() if one.name == request.command), None)
        if kind is None:
            raise Rejected(
                "approval.unknown_command",
                f"The request is about '{request.command}', which this program does not know.",
                fix="Deny it, and ask again for what you want.",
            )
        command = msgspec.json.decode(request.recorded, type=kind.command)
        context = msgspec.json.decode(request.context, type=Context)
        return await self.handle(command, msgspec.structs.replace(context, approval=approval))

    async def _with_effects(self, outcome: Done | Asked) -> Done | Asked:
        """Let the facts cause their work; views that could not follow the log yet keep it for the next time."""
        if not isinstance(outcome, Done):
            return outcome
        try:
            troubles = await self._reactors.catch_up()
        except ChoirError as trouble:
            troubles = {"": trouble}
        return Done(outcome.events, (*outcome.troubles, *troubles.values()))

    def _with_approval(self, proposal: Proposal, ruling: Ruling) -> Ruling:
        approval = proposal.context.approval
        if ruling.answer != "ask" or approval is None:
            return ruling
        granted = self._approvals.granted(approval) == proposal.digest()
        return Ruling("allow", ruling.verdicts) if granted else ruling

    async def _record(self, proposal: Proposal, ruling: Ruling, *, seen: Point) -> Done | Asked | None:
        """Append what the ruling demands; None when the state has moved under the proposal."""
        position = await self._projectors.catch_up()
        if position != seen and not await self._holds(proposal, ruling):
            return None
        if ruling.answer == "allow" and not proposal.decision.facts:
            return Done(())
        if ruling.answer != "block":
            await self._keep(proposal.decision.contents)
        try:
            events = await self._journal.append(self._drafts(proposal, ruling), expect=position)
        except Conflict as stale:
            if stale.code != "log.stale":
                raise
            await self._projectors.catch_up()
            return None
        try:
            self._projectors.apply(events)
        except (Unavailable, Corrupt) as trouble:
            # The record holds, whatever becomes of the views: they follow it as soon as they can.
            return _outcome(events, ruling, proposal=proposal, troubles=[trouble])
        return _outcome(events, ruling, proposal=proposal)

    async def _holds(self, proposal: Proposal, ruling: Ruling) -> bool:
        """Return whether the same command would lead to the same facts and the same ruling now."""
        again = await self.propose(proposal.command, proposal.context)
        anew = self._with_approval(again, await self._gate.judge(again))
        return again.digest() == proposal.digest() and anew.answer == ruling.answer

    async def _keep(self, contents: Iterable[bytes]) -> None:
        for content in contents:
            await self._blobs.put(content)
        await self._blobs.flush()

    def _drafts(self, proposal: Proposal, ruling: Ruling) -> list[Draft]:
        context = proposal.context
        digest = proposal.digest()
        asked = any(verdict.answer == "ask" for verdict in ruling.verdicts)
        used = context.approval if ruling.answer == "allow" and asked else None
        verdict = VerdictRecorded(
            proposal.name, digest, ruling.answer, ruling.verdicts, proposal.effect, approval=used
        )
        drafts = [self._draft(verdict, context, cause=context.cause)]
        if ruling.answer == "ask":
            request = _request(proposal, ruling, digest=digest)
            drafts.append(self._draft(request, context, cause=drafts[0].id))
        if ruling.answer == "allow":
            drafts += self._fact_drafts(proposal.decision.facts, context, verdict=drafts[0].id)
        return drafts

    def _fact_drafts(self, facts: Sequence[Fact], context: Context, *, verdict: str) -> list[Draft]:
        drafts: list[Draft] = []
        for fact in facts:
            cause = verdict if fact.because_of is None else drafts[fact.because_of].id
            drafts.append(self._draft(fact.payload, context, cause=cause))
        return drafts

    def _draft(self, payload: Struct, context: Context, *, cause: str | None) -> Draft:
        now = self._clock.now_ms()
        kind = self._journal.registry.type_of(payload)
        return Draft(
            self._ids.event_id(now),
            now,
            context.user,
            context.source,
            kind.name,
            self._journal.registry.encode(payload),
            self._ids.salt(),
            context.session,
            context.run,
            cause,
            context.labels,
            kind.v,
        )


def _request(proposal: Proposal, ruling: Ruling, *, digest: str) -> ApprovalRequested:
    facts = [msgspec.json.encode([type(one).__name__, one]) for one in proposal.decision.payloads]
    return ApprovalRequested(
        command=proposal.name,
        digest=digest,
        recorded=msgspec.json.encode(proposal.command).decode(),
        context=msgspec.json.encode(proposal.context).decode(),
        reasons=ruling.reasons(),
        facts=tuple(fact.decode() for fact in facts),
    )


def _outcome(
    events: Sequence[Event], ruling: Ruling, *, proposal: Proposal, troubles: Sequence[ChoirError] = ()
) -> Done | Asked:
    if ruling.answer == "block":
        raise Rejected(
            "gate.blocked",
            f"'{proposal.name}' is not allowed: {ruling.reasons()}",
            fix="The refusal is recorded; 'choir show' tells which rule it was.",
            seq=events[0].seq,
        )
    if ruling.answer == "ask":
        return Asked(events[1].head.id, ruling.reasons())
    return Done(tuple(events), tuple(troubles))
