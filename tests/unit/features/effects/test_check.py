"""Only ChoirOS itself ends an effect as unknown."""

import asyncio

import pytest

from choiros.features.effects.check import OnlySystemEnds
from choiros.features.effects.commands import ReportUnknown
from choiros.features.effects.events import EffectUnknown
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.event import Source

ENDED = Fact(EffectUnknown(3, "checkpoint.push"))


def answer(*facts: Fact, source: Source) -> str | None:
    proposal = Proposal("any", ReportUnknown(()), Context("me", source=source), Decision(facts), "pure")
    verdict = asyncio.run(OnlySystemEnds().judge(proposal))
    return verdict.answer if verdict else None


def test_it_is_said_by_the_program_and_by_nobody_else() -> None:
    sources: tuple[Source, ...] = ("system", "user", "agent")
    assert [answer(ENDED, source=source) for source in sources] == ["allow", "block", "block"]


@pytest.mark.parametrize("source", ["system", "agent"])
def test_everything_else_is_left_to_others(source: Source) -> None:
    assert answer(source=source) is None
