"""When a backup is due, and which are kept."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.features.backups.schedule import DAY_MS, HOUR_MS, is_due, outdated

NOW = 1_780_000_000_000
HOURS = st.integers(-(10**6), 10**6)


def test_the_first_backup_is_due_at_once() -> None:
    assert is_due(NOW, None, failed=False, every_hours=24)


@pytest.mark.parametrize(
    ("hours", "failed", "due"),
    [(0, False, False), (23, False, False), (24, False, True), (0, True, False), (1, True, True)],
)
def test_the_next_one_is_due_after_the_hours_that_are_set_and_sooner_after_a_failure(
    hours: int, failed: bool, due: bool
) -> None:
    """C-23."""
    assert is_due(NOW + hours * HOUR_MS, NOW, failed=failed, every_hours=24) is due


def test_a_clock_that_was_set_back_does_not_put_it_off() -> None:
    assert is_due(NOW - 1, NOW, failed=False, every_hours=24)


@given(HOURS, st.booleans())
def test_none_is_ever_due_when_they_are_switched_off(hours: int, failed: bool) -> None:
    assert not is_due(NOW + hours * HOUR_MS, NOW, failed=failed, every_hours=0)
    assert not is_due(NOW, None, failed=failed, every_hours=0)


def daily(count: int, start: datetime) -> dict[str, int]:
    moments = [start + timedelta(days=day) for day in range(count)]
    return {one.strftime("%a %d %b"): int(one.timestamp() * 1000) for one in moments}


def test_days_and_weeks_are_kept_as_set() -> None:
    """C-23. 2 March 2026 is a Monday; five weeks of backups, every day at noon."""
    moments = daily(35, datetime(2026, 3, 2, 12, tzinfo=UTC))
    gone = outdated(moments, keep_daily=7, keep_weekly=4)
    kept = [name for name in moments if name not in gone]
    assert kept == [
        *("Sun 15 Mar", "Sun 22 Mar", "Sun 29 Mar"),
        *("Mon 30 Mar", "Tue 31 Mar", "Wed 01 Apr", "Thu 02 Apr", "Fri 03 Apr", "Sat 04 Apr", "Sun 05 Apr"),
    ]


def test_of_one_day_the_newest_is_kept() -> None:
    moments = {"morning": NOW - NOW % DAY_MS, "noon": NOW - NOW % DAY_MS + DAY_MS // 2}
    assert outdated(moments, keep_daily=7, keep_weekly=4) == ["morning"]


MOMENTS = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 400 * DAY_MS), max_size=60)


@given(MOMENTS, st.integers(1, 10), st.integers(0, 10))
def test_the_newest_is_always_kept_and_never_more_than_set(
    moments: dict[str, int], keep_daily: int, keep_weekly: int
) -> None:
    gone = outdated(moments, keep_daily=keep_daily, keep_weekly=keep_weekly)
    kept = set(moments) - set(gone)
    assert len(gone) == len(set(gone))
    assert len(kept) <= keep_daily + keep_weekly
    assert not moments or max(moments.values()) in {moments[name] for name in kept}


@given(MOMENTS, st.integers(1, 10), st.integers(0, 10))
def test_nothing_more_goes_when_it_is_asked_again(
    moments: dict[str, int], keep_daily: int, keep_weekly: int
) -> None:
    gone = outdated(moments, keep_daily=keep_daily, keep_weekly=keep_weekly)
    left = {name: moment for name, moment in moments.items() if name not in gone}
    assert outdated(left, keep_daily=keep_daily, keep_weekly=keep_weekly) == []
