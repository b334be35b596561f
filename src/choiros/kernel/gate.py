"""The one gate: every effect is judged here, the strictest answer wins, and the verdict is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from choiros.kernel.command import Proposal
from choiros.kernel.registry import EventType

Answer = Literal["allow", "ask", "block"]

_strictness: dict[Answer, int] = {"allow": 0, "ask": 1, "block": 2}


class Verdict(Struct, frozen=True):
    """What one check says, and why, in a sentence for the person."""

    check: str
    answer: Answer
    reason: str


class Check(Protocol):
    """One reason to allow, ask or block; it sees the command and exactly what it would record."""

    @property
    def name(self) -> str:
        """Return the name under which verdicts are recorded."""
        ...

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return a verdict, or None when this check has no opinion."""
        ...


class Ruling(Struct, frozen=True):
    """The gate's answer with all verdicts that led to it."""

    answer: Answer
    verdicts: tuple[Verdict, ...]

    def reasons(self) -> str:
        """Return the sentences of the verdicts that decided."""
        return " ".join(verdict.reason for verdict in self.verdicts if verdict.answer == self.answer)


class VerdictRecorded(Struct, frozen=True):
    """The gate has judged a command; the events it led to name this one as their cause."""

    command: str
    digest: str
    answer: Answer
    verdicts: tuple[Verdict, ...]
    effect: str
    approval: str | None = None


class ApprovalRequested(Struct, frozen=True):
    """The gate wants a person's word; the command is kept exactly and is handled again when allowed."""

    command: str
    digest: str
    recorded: str
    """The command as JSON."""
    context: str
    """Who wished it, as JSON."""
    reasons: str
    facts: tuple[str, ...]
    """What it would record: one event type with its payload as JSON each."""


GATE_EVENTS = (
    EventType("policy.verdict", VerdictRecorded, effect="pure"),
    EventType("approval.request", ApprovalRequested, effect="pure"),
)


class Gate:
    """Asks every check, in the order in which they were installed."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self._checks = tuple(checks)

    async def judge(self, proposal: Proposal) -> Ruling:
        """Return the strictest verdict; what no check allows is blocked."""
        verdicts: list[Verdict] = []
        for check in self._checks:
            verdict = await check.judge(proposal)
            if verdict is not None:
                verdicts.append(verdict)
        if not verdicts:
            verdicts.append(Verdict("gate", "block", f"No rule allows the command {proposal.name}."))
        strictest = max(verdicts, key=lambda verdict: _strictness[verdict.answer])
        return Ruling(strictest.answer, tuple(verdicts))
