"""A byte on the disk is no longer what was written: it is noticed before it is used, and its place is named."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.soak.hosted import Host

FLIPS, SHARES = (60_000, 2) if SOAK else (160, 1)
LOG_BYTES = 1 << 20 if SOAK else 1 << 17


@pytest.mark.timeout(3 * 3600 if SOAK else 300)
@pytest.mark.parametrize("share", range(SHARES))
def test_no_flipped_byte_of_log_snapshot_or_contents_is_ever_used(
    host: Host, bench: Path, tally: Counter[str], share: int
) -> None:
    """C-23: 100 % are noticed before they are used; what is not noticed carries no data."""
    made = host.do("fill", home=str(bench / "home"), log_bytes=LOG_BYTES)
    assert made.status == 0, made.err
    flipped = host.do("flip", home=str(bench / "home"), count=FLIPS // SHARES, seed=share)
    assert flipped.status == 0, flipped.err
    _note(flipped.out, tally)
    assert tally["flips that were used unnoticed"] == 0, flipped.out[-3000:]
    assert tally["flips noticed, but not localised"] == 0, flipped.out[-3000:]
    assert tally["flips noticed and localised"] > FLIPS // SHARES // 2


def _note(out: str, tally: Counter[str]) -> None:
    for line in out.splitlines():
        number, _, name = line.partition(" ")
        if number.isdigit():
            tally[name] += int(number)


@pytest.mark.timeout(300)
def test_a_byte_moved_from_payload_to_salt_is_noticed_unless_lengths_do_not_count(
    hosts: Callable[..., Host], bench: Path, tally: Counter[str]
) -> None:
    """A negative control: chained without lengths, two different events have one hash."""
    tally["negative controls"] += 1
    outcomes: dict[str, str] = {}
    for sabotage in ("", "chain without lengths"):
        host, home = hosts(sabotage=sabotage), bench / f"home{len(sabotage)}"
        assert host.do("fill", home=str(home), log_bytes=0).status == 0
        outcomes[sabotage] = host.do("shift", home=str(home)).out.strip()
        shutil.rmtree(home)
    assert outcomes[""].startswith("log.broken")
    assert outcomes["chain without lengths"] == "unnoticed"
