"""Every state in which a power cut may leave the log: nothing acknowledged is lost, nothing is damaged."""

import pytest

from choiros.testing.simulator.chance import Chance
from choiros.testing.simulator.log_states import RecordingDisk, Session, check, record, states
from choiros.testing.simulator.model import Violation
from tests.conftest import SOAK

SESSIONS = 8
PER_SESSION = 125_000 if SOAK else 1_000
CONTROL_SESSIONS = 6


def opened(session: Session, seed: int, *, per_point: int) -> int:
    return check(session, states(session, Chance(seed, "states"), per_point=per_point))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", range(SESSIONS))
def test_every_state_that_a_power_cut_leaves_holds_what_was_promised(number: int) -> None:
    """C-23: torn, reordered and lost writes between two syncs; 1,000,000 different states in the long form."""
    count, seed = 0, 1000 * number
    while count < PER_SESSION:
        count += opened(record(seed), seed, per_point=200 if SOAK else 8)
        seed += 1
    assert count >= PER_SESSION


def test_a_power_cut_in_the_middle_of_making_a_log_leaves_one_that_opens() -> None:
    """The first page may be torn while the journal that takes it back stands beside it."""
    session = record(0)
    first = next(place for place, one in enumerate(session.operations) if one.kind == "promise")
    begin = Session(session.operations[:first], session.records, session.ends)
    assert opened(begin, 1, per_point=100) > 200


def test_a_log_whose_syncs_are_dropped_is_found_out() -> None:
    def deaf(disk: RecordingDisk) -> None:
        disk.sync = lambda node: None

    for seed in range(CONTROL_SESSIONS):
        session = record(seed, deaf)
        with pytest.raises(Violation):
            opened(session, seed, per_point=20)


def test_a_promise_that_comes_too_early_is_found_out() -> None:
    session = record(2)
    promises = [place for place, one in enumerate(session.operations) if one.kind == "promise"]
    early = list(session.operations)
    early.insert(promises[1] - 6, early.pop(promises[1]))
    with pytest.raises(Violation, match="I1"):
        opened(Session(early, session.records, session.ends), 2, per_point=20)
