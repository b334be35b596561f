"""Who may answer: a person, whatever else the decision holds."""

import asyncio

import pytest

from choiros.features.approvals.check import OnlyPeopleDecide
from choiros.features.approvals.commands import DecideApproval
from choiros.features.approvals.events import ApprovalDecided
from choiros.features.workspaces.events import WorkspaceArchived
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.event import Source

ANSWER = Fact(ApprovalDecided("request", "allow"))
OTHER = Fact(WorkspaceArchived("a"))


def judged(*facts: Fact, source: Source) -> str | None:
    command = DecideApproval("request", "digest", "allow")
    proposal = Proposal("any", command, Context("me", source=source), Decision(facts), "pure")
    verdict = asyncio.run(OnlyPeopleDecide().judge(proposal))
    return verdict.answer if verdict else None


def test_a_person_answers() -> None:
    """F-10."""
    assert judged(ANSWER, source="user") == "allow"


@pytest.mark.parametrize("source", ["agent", "system"])
def test_anybody_else_is_blocked_also_when_the_answer_hides_among_other_facts(source: Source) -> None:
    """F-10."""
    assert judged(ANSWER, source=source) == "block"
    assert judged(OTHER, ANSWER, source=source) == "block"


@pytest.mark.parametrize("source", ["user", "agent", "system"])
def test_what_is_no_answer_is_left_to_others(source: Source) -> None:
    assert judged(OTHER, source=source) is None
    assert judged(source=source) is None
