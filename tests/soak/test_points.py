"""A kill and a failing disk at every call by which a session reaches the disk (C-18, C-68)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.soak.hosted import Host
from tests.soak.needs import need_strace
from tests.soak.points import FAULTS, Point, Session, chosen

BUDGET, SHARES = (6_000, 6) if SOAK else (40, 1)


@pytest.mark.timeout(4 * 3600 if SOAK else 300)
@pytest.mark.parametrize("share", range(SHARES))
def test_nothing_is_lost_or_half_done_whatever_call_to_the_disk_is_the_last_or_fails(
    host: Host, bench: Path, tally: Counter[str], share: int
) -> None:
    """C-18, C-68: what was acknowledged is there, what was refused is not, and it goes on."""
    need_strace()
    session = Session(host, bench)
    wrong: dict[Point, str] = {}
    for point in chosen(session.counts, BUDGET)[share::SHARES]:
        outcome = session.suffer(point)
        if outcome is None:
            tally["points without their fault"] += 1
            continue
        tally["kill points" if point.fault == "kill" else "error points"] += 1
        if outcome:
            wrong[point] = outcome
    tally["points at which something did not hold"] += len(wrong)
    shown = "\n".join(f"{point}: {text[-3000:]}" for point, text in list(wrong.items())[:8])
    assert not wrong, f"{len(wrong)} points, among them {list(wrong)[:40]}\n{shown}"
    assert tally["kill points"]
    assert tally["error points"]


def test_the_points_are_spread_over_all_calls_and_faults() -> None:
    counts = {(0, "fsync"): 3, (1, "fsync"): 1, (0, "pwrite64"): 2_000, (3, "pwrite64"): 3_000}
    points = chosen(counts, 1_000)
    assert len(points) == len(set(points))
    assert 950 <= len(points) <= 1_000
    for fault in FAULTS:
        rare = [
            (point.stretch, point.number) for point in points if (point.call, point.fault) == ("fsync", fault)
        ]
        assert rare == [(0, 1), (0, 2), (0, 3), (1, 1)]
        frequent = [point.stretch for point in points if (point.call, point.fault) == ("pwrite64", fault)]
        assert frequent.count(0) * 3 == pytest.approx(frequent.count(3) * 2, rel=0.05)
