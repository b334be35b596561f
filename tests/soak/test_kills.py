"""A writer is killed at moments of chance, again and again (C-18, C-68)."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.soak.hosted import Ended, Host, moment
from tests.soak.sabotage import NAMES_FOUND_BY_KILLS

KILLS, SHARES = (10_000, 10) if SOAK else (24, 1)
KILLS_OF_A_HOME = 40 if SOAK else 24
FULL_EVERY = 8


def acknowledged(ended: Ended) -> list[tuple[int, str]]:
    """Return number and id of each event of which the whole line was printed."""
    words = [line.split() for line in ended.out.split("\n")[:-1]]
    return [(int(one[0]), one[1]) for one in words if len(one) == 3 and one[2] == "."]


def killed(host: Host, home: Path, dice: random.Random, tally: Counter[str]) -> str:
    """Kill a writer many times at one data directory; return what does not hold, '' when all does."""
    known = list[tuple[int, str]]()
    for number in range(1, KILLS_OF_A_HOME + 1):
        ended = host.do("work", home=str(home), seed=dice.random(), end=moment(dice, longest_s=0.1))
        assert ended.status == -9, ended.err
        said = acknowledged(ended)
        known += said
        tally["random kills"] += 1
        tally["events acknowledged before a kill"] += len(said)
        wrong = host.check(home, known, full=number % FULL_EVERY == 0)
        if wrong:
            return wrong
    return ""


@pytest.mark.timeout(6 * 3600 if SOAK else 300)
@pytest.mark.parametrize("share", range(SHARES))
def test_nothing_acknowledged_is_lost_and_nothing_is_half_done_after_kill_9(
    host: Host, bench: Path, tally: Counter[str], share: int
) -> None:
    """C-18, C-68."""
    dice = random.Random(f"kills {share}")
    wrong: list[str] = []
    for number in range(KILLS // SHARES // KILLS_OF_A_HOME):
        home = bench / f"home-{number}"
        found = killed(host, home, dice, tally)
        if found:
            wrong.append(found)
        shutil.rmtree(home)
    tally["kills after which something did not hold"] += len(wrong)
    assert not wrong, f"{len(wrong)}, the first: {wrong[0]}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("sabotage", NAMES_FOUND_BY_KILLS)
def test_the_kills_find_a_deliberate_mistake(
    hosts: Callable[..., Host], bench: Path, tally: Counter[str], sabotage: str
) -> None:
    """A negative control: without it, the test above would show nothing."""
    host, dice = hosts(sabotage=sabotage), random.Random(sabotage)
    tally["negative controls"] += 1
    found = [killed(host, bench / f"home-{number}", dice, Counter()) for number in range(2)]
    assert any(found), f"'{sabotage}' stayed unnoticed"
