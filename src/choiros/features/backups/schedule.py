"""When a backup is due, and which older ones are still kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MONDAY = 3
"""The first day of all, 1 January 1970, was the fourth day of its week."""


def is_due(now_ms: int, last_ms: int | None, *, failed: bool, every_hours: int) -> bool:
    """Return whether an automatic backup is due; after one that failed it is tried again within the hour.

    A clock that was set back must not put the next one off for ever.
    """
    if every_hours == 0:
        return False
    pause_ms = min(every_hours, 1 if failed else every_hours) * HOUR_MS
    return last_ms is None or now_ms - last_ms >= pause_ms or now_ms < last_ms


def outdated(moments: Mapping[str, int], *, keep_daily: int, keep_weekly: int) -> list[str]:
    """Return the names that are no longer kept: `moments` tells when each backup was made, in milliseconds.

    Kept are the newest of each of the newest days that have one, and likewise of weeks, which begin on Monday;
    days are those of universal time. The newest of all is always kept.
    """
    newest_first = sorted(moments, key=lambda name: (moments[name], name), reverse=True)
    days: dict[int, str] = {}
    weeks: dict[int, str] = {}
    for name in newest_first:
        day = moments[name] // DAY_MS
        days.setdefault(day, name)
        weeks.setdefault((day + MONDAY) // 7, name)
    kept = {*newest_first[:1], *list(days.values())[:keep_daily], *list(weeks.values())[:keep_weekly]}
    return [name for name in reversed(newest_first) if name not in kept]
