"""Which area a problem of the verification is about."""

import pytest

from choiros.features.proof.verify import Problem
from choiros.wiring.doctor.proof import problem


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("The signed point at event 6 contradicts itself.", "signatures.broken"),
        ("The signature of the witness w at event 6 is not its own.", "signatures.broken"),
        ("What is remembered beside the keys tells of 9 events, but the log ends at event 7.", "keys.memory"),
        ("What What is remembered beside the keys keeps cannot be read: no note.", "keys.memory"),
        ("The witness 'w' tells of other first 3 events than the log holds.", "witnesses.contradicts"),
        ("What The witness 'w' keeps cannot be read: no note.", "witnesses.contradicts"),
    ],
)
def test_a_problem_belongs_to_whoever_remembers_something_else(what: str, code: str) -> None:
    found = problem(Problem(6, what, "Compare."))
    assert (found.code, found.where, found.what) == (code, "event 6", what)
    assert found.fix


def test_a_problem_without_an_event_is_about_the_whole_log() -> None:
    assert problem(Problem(0, "The witness 'w' tells of another log.", "Compare.")).where == "the whole log"
