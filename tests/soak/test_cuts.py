"""The power fails while somebody writes: ext4 keeps only what was brought onto the disk (C-18, C-68)."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.soak.disk import SmallDisk
from tests.soak.hosted import Host, moment
from tests.soak.needs import need_library, need_mounts
from tests.soak.test_kills import acknowledged

CUTS, SHARES = (1_000, 4) if SOAK else (3, 1)
CUTS_OF_A_HOME = 25
CUTS_OF_A_CONTROL = 12


def cuts(host: Host, disk: SmallDisk, *, count: int, dice: random.Random, tally: Counter[str]) -> list[str]:
    """Cut the power so many times and return what did not hold afterwards."""
    wrong: list[str] = []
    home, known = disk.place / "home", list[tuple[int, str]]()
    for number in range(count):
        if number % CUTS_OF_A_HOME == 0 or wrong:
            shutil.rmtree(home, ignore_errors=True)
            known.clear()
        end = moment(dice, longest_s=0.25, cut=str(disk.place))
        ended = host.do("work", home=str(home), seed=dice.random(), end=end)
        disk.unmount()
        disk.mount()
        said = acknowledged(ended)
        known += said
        tally["power cuts"] += 1
        tally["events acknowledged before a cut"] += len(said)
        tally["lines printed while the power was failing"] += ended.late.count("\n")
        found = host.check(home, known)
        if found:
            wrong.append(found)
    return wrong


@pytest.mark.timeout(6 * 3600 if SOAK else 300)
@pytest.mark.parametrize("share", range(SHARES))
def test_nothing_acknowledged_is_lost_when_the_power_fails(
    host: Host, tmp_path: Path, tally: Counter[str], share: int
) -> None:
    """C-18, C-68: what was printed before the cut is there after it."""
    need_mounts()
    dice = random.Random(f"cuts {share}")
    with SmallDisk(tmp_path) as disk:
        wrong = cuts(host, disk, count=CUTS // SHARES, dice=dice, tally=tally)
    tally["cuts after which something did not hold"] += len(wrong)
    assert not wrong, f"{len(wrong)}, the first: {wrong[0]}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("sabotage", ["synchronous=OFF", "synchronous=NORMAL", "no sync of contents"])
def test_the_cuts_find_a_disk_that_nobody_waits_for(
    hosts: Callable[..., Host], tmp_path: Path, tally: Counter[str], sabotage: str
) -> None:
    """A negative control."""
    need_mounts()
    _must_be_found(hosts(sabotage=sabotage), tmp_path, tally)


@pytest.mark.timeout(300)
def test_the_cuts_find_a_library_that_swallows_every_sync(
    hosts: Callable[..., Host], tmp_path: Path, tally: Counter[str]
) -> None:
    """A negative control."""
    need_mounts()
    _must_be_found(hosts(preload=need_library("eatmydata", "eatmydata")), tmp_path, tally)


def _must_be_found(host: Host, folder: Path, tally: Counter[str]) -> None:
    tally["negative controls"] += 1
    with SmallDisk(folder) as disk:
        dice = random.Random(folder.name)
        for _ in range(CUTS_OF_A_CONTROL):
            if cuts(host, disk, count=1, dice=dice, tally=Counter()):
                return
    raise AssertionError("it stayed unnoticed")
