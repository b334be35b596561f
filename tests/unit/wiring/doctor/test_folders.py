"""How a path in a folder differs from what the log says, told from what was last seen there."""

import pytest

from choiros.features.files.view import Shown
from choiros.kernel.tree import Entry, Stat
from choiros.wiring.doctor.folders import WORDS, Spot, drift

OLD, NEW, OTHER = (Entry("file", 0o644, 1, letter * 64) for letter in "abc")
LOOK = Stat("file", 0o644, 1, 10, 10, 7)
LATER = Stat("file", 0o644, 1, 99, 99, 7)


def seen(entry: Entry | None) -> Shown | None:
    return None if entry is None else Shown(entry, LOOK, 10**12)


@pytest.mark.parametrize(
    ("wanted", "last", "look", "there", "expected"),
    [
        (NEW, NEW, LOOK, NEW, ""),
        (NEW, None, LOOK, NEW, ""),
        (None, NEW, None, None, ""),
        (NEW, None, None, None, "lacking"),
        (NEW, NEW, None, None, "unrecorded"),
        (NEW, OLD, LOOK, OLD, "behind"),
        (NEW, OLD, LATER, OLD, "behind"),
        (None, OLD, LOOK, OLD, "behind"),
        (NEW, NEW, LATER, OTHER, "unrecorded"),
        (NEW, OLD, LATER, OTHER, "unrecorded"),
        (None, None, LOOK, OTHER, "unrecorded"),
        (NEW, None, LOOK, OTHER, "unrecorded"),
        (NEW, NEW, LOOK, OTHER, "unseen"),
    ],
)
def test_what_a_path_shows_is_told_apart(
    wanted: Entry | None, last: Entry | None, look: Stat | None, there: Entry | None, expected: str
) -> None:
    assert drift(Spot(wanted, seen(last), look=look, found=there)) == expected


def test_every_drift_has_its_words() -> None:
    assert set(WORDS) == {"lacking", "behind", "unrecorded", "unseen"}
