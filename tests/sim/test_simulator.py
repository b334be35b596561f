"""The whole computer under any order, crash and failing disk: what was promised holds, and every seed repeats."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from choiros.testing.simulator.controls import CONTROLS
from choiros.testing.simulator.machine import Machine
from choiros.testing.simulator.simulation import simulate
from tests.conftest import SOAK

SEEDS = 20_000 if SOAK else 160
BLOCK = 100 if SOAK else 10
FIRST = 1000
"""Other seeds than those that were looked at while the simulator was written."""

KEPT = Path(__file__).with_name("seeds.txt")
CONTROL_SEEDS = 40


def kept() -> list[int]:
    lines = KEPT.read_text(encoding="utf-8").splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, BLOCK))
def test_whatever_happens_what_was_promised_holds(first: int) -> None:
    """C-23, I1 to I7 and I9: after every fault and every restart, against a model of its own."""
    broken = [story for seed in range(first, first + BLOCK) if (story := simulate(seed)).broken]
    assert [f"{story.seed} {story.broken}" for story in broken] == []


@pytest.mark.parametrize("seed", kept())
def test_what_a_seed_once_found_does_not_come_back(seed: int) -> None:
    assert simulate(seed).broken == ""


def test_the_story_of_a_few_seeds_is_not_empty() -> None:
    """A simulator in which nothing happens proves nothing: every kind of thing comes up within a few seeds."""
    counts = sum((simulate(seed).counts for seed in range(40)), start=Counter[str]())
    wanted = {
        *("cut", "killed", "closed", "cut in the middle", "rebuilds", "snapshots", "I6", "quiet checks"),
        *("broken sync", "broken write", "act: write", "act: undo", "act: capture"),
        *("act: checkpoint", "act: push allowed", "act: workspace", "act: redo", "act: move", "collected"),
    }
    assert [name for name in counts if name.startswith("full ")]
    assert sorted(name for name in wanted if not counts[name]) == []


# --- One seed repeats everything ---


def test_the_same_seed_gives_the_same_trace() -> None:
    for seed in (2, 7):
        once, again = simulate(seed, trace=True), simulate(seed, trace=True)
        assert len(once.trace) > 200
        assert once.trace == again.trace
        assert once.counts == again.counts
    assert simulate(2, trace=True).trace != simulate(7, trace=True).trace


def test_the_order_of_sets_and_the_names_of_objects_play_no_part() -> None:
    """Another process with another seed for hashes tells the same story, byte for byte."""
    told: list[bytes] = []
    for hashes in ("0", "1", "4711"):
        command = [sys.executable, "-m", "choiros.testing.simulator", "--seeds", "4..6", "--trace"]
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": hashes},
            timeout=100,
        )
        told.append(done.stdout.rpartition(b"seeds per second")[0].rpartition(b"\n")[0])
    assert told[0] == told[1] == told[2]
    assert told[0].count(b"\n") > 1000


# --- Negative controls: a planted fault is found ---


@pytest.mark.parametrize("plant", CONTROLS, ids=[one.__name__ for one in CONTROLS])
def test_a_planted_fault_is_found_within_a_few_seeds(plant: Callable[[Machine], None]) -> None:
    """Threats 6: a suite that stays green under these is no evidence."""
    seeds = (seed for seed in range(CONTROL_SEEDS) if simulate(seed, prepare=plant).broken)
    assert next(seeds, None) is not None


def test_a_planted_fault_is_gone_with_its_machine() -> None:
    before = simulate(4).broken
    for plant in CONTROLS:
        simulate(4, prepare=plant)
    assert simulate(4).broken == before == ""
    assert Machine(1).planted == []
