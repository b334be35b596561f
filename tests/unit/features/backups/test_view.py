"""Which backups were made, tried and missed."""

from msgspec import Struct

from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone, HistoryImported
from choiros.features.backups.view import Attempt, BackupsProjector, BackupsView, Drill
from tests.places import empty_tables, events_of


def seen(*payloads: Struct) -> BackupsView:
    projector = BackupsProjector()
    tables = empty_tables(projector)
    projector.apply(tables, events_of(*payloads))
    return BackupsView(tables)


MADE = BackupMade("/disk/one.tar", "ab", 10, 5, "cd")


def test_there_is_nothing_at_first() -> None:
    view = seen(HistoryImported("/disk/one.tar", 5, "cd", 1))
    assert (view.newest(), view.made(), view.drills()) == (None, {}, {})


def test_the_newest_attempt_is_told_whether_it_was_made_or_not() -> None:
    assert seen(MADE).newest() == Attempt(1, 1, "/disk/one.tar", "ab", "")
    assert seen(MADE, BackupFailed("full")).newest() == Attempt(2, 2, "", "", "full")


def test_backups_are_found_by_the_name_of_their_file() -> None:
    view = seen(MADE, BackupFailed("full"), BackupMade("/disk/two.tar", "ef", 10, 5, "cd"))
    assert {name: one.sha256 for name, one in view.made().items()} == {"one.tar": "ab", "two.tar": "ef"}


def test_the_newest_drill_of_each_counts() -> None:
    view = seen(
        DrillDone("/disk/one.tar", 5, ok=True),
        DrillDone("/disk/one.tar", 5, ok=False, reason="cut"),
        DrillDone("/disk/two.tar", 5, ok=False),
    )
    assert view.drills() == {
        "one.tar": Drill(2, 2, "/disk/one.tar", "cut"),
        "two.tar": Drill(3, 3, "/disk/two.tar", "unknown"),
    }
