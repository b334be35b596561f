"""The gate: silence is a no, the strictest answer wins, and who answered first does not matter."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.kernel.command import Decision, Fact, Proposal
from choiros.kernel.gate import Answer, Gate, Ruling, Verdict
from tests.unit.kernel.notes import ME, AddNote, NoteAdded, Says

PROPOSAL = Proposal("add", AddNote("a"), ME, Decision((Fact(NoteAdded("a")),)), "reversible")
answers = st.lists(st.sampled_from(["allow", "ask", "block", None]), max_size=6)


def judged(opinions: Sequence[Answer | None]) -> Ruling:
    checks = [Says(answer, name=f"check {number}") for number, answer in enumerate(opinions)]
    return asyncio.run(Gate(checks).judge(PROPOSAL))


def test_no_check_at_all_is_a_no() -> None:
    ruling = judged([])
    assert ruling.answer == "block"
    assert ruling.reasons() == "No rule allows the command add."


def test_checks_without_an_opinion_are_a_no() -> None:
    assert judged([None, None]).answer == "block"


@given(answers)
def test_the_strictest_answer_wins(opinions: list[Answer | None]) -> None:
    given_answers = {answer for answer in opinions if answer is not None}
    expected = next((answer for answer in ("block", "ask", "allow") if answer in given_answers), "block")
    assert judged(opinions).answer == expected


@given(answers.flatmap(lambda one: st.tuples(st.just(one), st.permutations(one))))
def test_the_order_of_the_checks_does_not_matter(
    both: tuple[list[Answer | None], list[Answer | None]],
) -> None:
    one, other = both
    assert judged(one).answer == judged(other).answer


@given(answers, st.sampled_from(["allow", "ask", "block", None]))
def test_one_more_opinion_never_makes_a_given_answer_milder(
    opinions: list[Answer | None], more: Answer | None
) -> None:
    strictness = {"allow": 0, "ask": 1, "block": 2}
    if any(answer is not None for answer in opinions):
        assert strictness[judged([*opinions, more]).answer] >= strictness[judged(opinions).answer]


@given(answers)
def test_every_opinion_is_kept_for_the_record(opinions: list[Answer | None]) -> None:
    kept = [verdict.answer for verdict in judged(opinions).verdicts]
    assert kept == [answer for answer in opinions if answer is not None] or kept == ["block"]


def test_the_reasons_are_those_that_decided() -> None:
    ruling = judged(["allow", "ask", "allow", "ask"])
    assert ruling.reasons() == "check 1 says ask. check 3 says ask."


def test_a_check_that_fails_allows_nothing() -> None:
    class Broken:
        name = "broken"

        async def judge(self, proposal: Proposal) -> Verdict | None:
            raise OSError(proposal.name)

    with pytest.raises(OSError, match="add"):
        asyncio.run(Gate([Says("allow"), Broken()]).judge(PROPOSAL))
