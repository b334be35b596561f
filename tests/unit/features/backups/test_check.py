"""Who may report backups."""

import asyncio

import pytest

from choiros.features.backups.check import BackupsReported
from choiros.features.backups.commands import ReportFailure
from choiros.features.backups.events import BackupFailed
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.event import Source
from choiros.kernel.gate import ApprovalRequested, Verdict


def verdict(source: Source, *facts: object) -> Verdict | None:
    decision = Decision(tuple(Fact(fact) for fact in facts))  # pyright: ignore[reportArgumentType]
    command = ReportFailure(BackupFailed("full"))
    proposal = Proposal("backups.report", command, Context("me", source=source), decision, "pure")
    return asyncio.run(BackupsReported().judge(proposal))


@pytest.mark.parametrize(("source", "answer"), [("user", "allow"), ("system", "allow"), ("agent", "block")])
def test_a_person_and_the_program_report_backups_and_no_agent_does(source: Source, answer: str) -> None:
    found = verdict(source, BackupFailed("full"))
    assert found is not None
    assert found.answer == answer


def test_it_has_no_opinion_on_anything_else() -> None:
    assert verdict("user", ApprovalRequested("a", "b", "c", "d", "e", ())) is None
    assert verdict("agent") is None
