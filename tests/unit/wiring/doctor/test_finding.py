"""What a finding says, how an area stands after its findings, and what is promised without a log."""

import pytest

from choiros.wiring.doctor import checkup, found
from choiros.wiring.doctor.finding import Area, area


def test_a_finding_takes_everything_from_its_kind_but_the_place() -> None:
    one = found("disk.permissions", "Its permissions are 755.", where="/data of mine")
    assert (one.area, one.severity, one.mends) == ("disk", "warning", False)
    assert one.fix == "chmod 700 '/data of mine'"


def test_the_fix_names_the_workspace_that_it_is_about() -> None:
    assert found("workspaces.unrecorded", "", workspace="my own").fix == "choir files --workspace 'my own'"


def test_what_cannot_be_mended_this_time_says_what_else_to_do() -> None:
    mended, other = (found("blobs.missing", "", where="ab/abc", mends=mends) for mends in (True, False))
    assert (mended.mends, mended.fix) == (True, "choir doctor --fix")
    assert not other.mends
    assert "ab/abc back from a backup" in other.fix


@pytest.mark.parametrize(
    ("codes", "state"),
    [
        ([], "ok"),
        (["blobs.garbage"], "note"),
        (["projections.differs"], "ok"),
        (["blobs.missing", "blobs.garbage"], "broken"),
    ],
)
def test_an_area_stands_as_its_worst_finding(codes: list[str], state: str) -> None:
    assert area("blobs", [found(code, "") for code in codes], summary="three").state == state


def test_only_what_is_broken_makes_a_computer_unsound() -> None:
    assert checkup([], [found("blobs.garbage", ""), found("disk.space", "")], is_log_whole=True).is_sound
    assert not checkup([], [found("projections.differs", "")], is_log_whole=True).is_sound


def test_without_a_whole_log_nothing_is_promised_that_is_made_from_it() -> None:
    codes = ["projections.damaged", "leftovers.left", "blobs.missing", "git.missing"]
    seen = checkup([], [found(code, "") for code in codes], is_log_whole=False)
    assert [one.mends for one in seen.findings] == [False, True, True, False]
    assert "backup" in seen.findings[0].fix


def test_an_area_that_was_left_out_stays_so() -> None:
    assert checkup([Area("git", "skipped", "why")], [], is_log_whole=True).areas[0].state == "skipped"
