"""What is said of kept views that are older, newer, behind, ahead, or of other content."""

import pytest

from choiros.kernel.event import Point
from choiros.wiring.doctor.views import Kept, compare

HEAD = Point(5, b"h")


@pytest.mark.parametrize(
    ("kept", "codes"),
    [
        (Kept(1, HEAD, "same"), []),
        (Kept(1, HEAD, "other"), ["projections.differs"]),
        (Kept(1, Point(4, b"g"), "other"), ["projections.behind"]),
        (Kept(1, Point(6, b"i"), "same"), ["projections.ahead"]),
        (Kept(1, Point(5, b"x"), "same"), ["projections.ahead"]),
        (Kept(0, HEAD, "same"), ["projections.older"]),
        (Kept(2, HEAD, "same"), ["versions.newer_state"]),
    ],
)
def test_a_view_is_compared_with_the_log(kept: Kept, codes: list[str]) -> None:
    found = compare({"files": kept}, {"files": 1}, head=HEAD, digests={"files": "same"}, where="state")
    assert [one.code for one in found] == codes


def test_a_view_that_is_not_there_is_named() -> None:
    (found,) = compare({}, {"files": 1}, head=HEAD, digests={}, where="state")
    assert (found.code, found.what) == ("projections.older", "The view 'files' is not there.")


def test_without_a_log_only_the_versions_are_compared() -> None:
    kept = {"files": Kept(1, Point(9, b"x"), "same")}
    assert compare(kept, {"files": 1}, head=None, digests={}, where="state") == []
