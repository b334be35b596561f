"""choir doctor: what a person and a program are shown, and that nothing is mended without a yes."""

from __future__ import annotations

import json

import pytest

from choiros.cli.direct.doctor import DirectDoctor
from choiros.cli.doctor import SHOWN_MAX, AreaProgress
from choiros.wiring.doctor import Checkup, Finding, checkup, found
from choiros.wiring.doctor.finding import Area
from tests.unit.cli.fake_client import Outcome, choir

AREAS = [
    Area("blobs", "ok", "contents: 3"),
    Area("git", "ok", "checkpoints: 1"),
    Area("log", "skipped", "why"),
]
SOUND = checkup(AREAS, [], is_log_whole=True)
GARBAGE = found("blobs.garbage", "3 contents are named by no event.", where="/data/blobs")
LOST = found("git.missing", "The commit of checkpoint 3 is not there.", where="/data/git/main.git")
BROKEN = checkup(AREAS, [GARBAGE, LOST], is_log_whole=True)


class Doctors:
    """Answers what a test tells, one look after the other, and counts what it is asked to mend."""

    def __init__(self, patch: pytest.MonkeyPatch, *looks: Checkup) -> None:
        self.looks = list(looks)
        self.deep: list[bool] = []
        self.mended = 0
        patch.setattr(DirectDoctor, "examine", self.examine)
        patch.setattr(DirectDoctor, "mend", self.mend)

    async def examine(self, *, deep: bool, progress: AreaProgress) -> Checkup:
        self.deep.append(deep)
        progress("chain", 1000, 2000)
        return self.looks.pop(0)

    async def mend(self, seen: Checkup) -> list[str]:
        self.mended += 1
        return ["Done: make missing commits again."]


def test_a_sound_computer_is_one_quiet_line_for_each_area(monkeypatch: pytest.MonkeyPatch) -> None:
    doctors = Doctors(monkeypatch, SOUND)
    assert choir("doctor") == Outcome(
        0,
        "ok      blobs        contents: 3\n"
        "ok      git          checkpoints: 1\n"
        "skipped log          why\n"
        "Everything is as it should be.\n",
        "",
    )
    assert doctors.deep == [False]


def test_what_is_wrong_is_named_with_place_fix_and_code_and_the_call_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    doctors = Doctors(monkeypatch, BROKEN)
    outcome = choir("doctor", "--deep")
    assert outcome.code == 1
    assert (
        "broken  git          checkpoints: 1\n"
        "  broken: The commit of checkpoint 3 is not there.\n"
        "    where: /data/git/main.git\n"
        "    fix:   choir doctor --fix\n"
        "    code:  git.missing\n"
    ) in outcome.out
    assert "note    blobs" in outcome.out
    assert "Found: 1 broken, 1 note.\n" in outcome.out
    assert "'choir doctor --fix' mends some of it" in outcome.out
    assert (doctors.deep, doctors.mended) == ([True], 0)


def test_notes_alone_do_not_make_the_call_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    Doctors(monkeypatch, checkup(AREAS, [GARBAGE], is_log_whole=True))
    outcome = choir("doctor")
    assert (outcome.code, "--fix" in outcome.out) == (0, False)


def test_json_is_one_object_with_every_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    Doctors(monkeypatch, BROKEN)
    outcome = choir("doctor", "--json")
    told = json.loads(outcome.out)
    assert (outcome.code, told["is_sound"]) == (1, False)
    assert [one["code"] for one in told["findings"]] == ["blobs.garbage", "git.missing"]
    assert set(told["findings"][1]) >= {"area", "severity", "what", "where", "fix", "mends"}


def test_many_findings_of_a_kind_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    Doctors(monkeypatch, checkup(AREAS, [LOST] * (SHOWN_MAX + 3), is_log_whole=True))
    outcome = choir("doctor")
    assert outcome.out.count("The commit of checkpoint") == SHOWN_MAX
    assert "and 3 more of git.missing; --json tells all of them" in outcome.out


def test_a_finding_outside_of_every_area_is_shown_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    failed: Finding = found("doctor.failed", "The area 'git' could not be looked at.", where="git")
    Doctors(monkeypatch, checkup(AREAS, [failed], is_log_whole=True))
    assert "could not be looked at" in choir("doctor").out


def test_mending_says_what_it_will_do_asks_and_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    doctors = Doctors(monkeypatch, BROKEN, SOUND)
    outcome = choir("doctor", "--fix", terminal=True, keys=b"y\n")
    assert outcome.code == 0
    before, _, after = outcome.out.partition("Do it? [y/N]")
    assert "make missing commits again (1 finding)" in before
    assert "Done: make missing commits again." in after
    assert "Everything is as it should be." in after
    assert doctors.mended == 1
    assert "chain: 1,000 of 2,000" in outcome.err


def test_without_a_yes_nothing_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    doctors = Doctors(monkeypatch, BROKEN, BROKEN, BROKEN)
    assert choir("doctor", "--fix", terminal=True, keys=b"n\n").code == 1
    unasked = choir("doctor", "--fix")
    assert (unasked.code, "code: confirm.needed" in unasked.err) == (1, True)
    told = json.loads(choir("doctor", "--fix", "--json").out)
    assert (told["error"]["code"], len(told["checkup"]["findings"])) == ("confirm.needed", 2)
    assert doctors.mended == 0


def test_with_yes_it_is_mended_at_once_and_what_is_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    Doctors(monkeypatch, BROKEN, checkup(AREAS, [LOST], is_log_whole=False))
    outcome = choir("doctor", "--fix", "--yes", "--json")
    told = json.loads(outcome.out)
    assert (outcome.code, told["mended"]) == (1, ["Done: make missing commits again."])
    assert "backup" in told["findings"][0]["fix"]


def test_where_nothing_can_be_mended_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    doctors = Doctors(monkeypatch, checkup(AREAS, [GARBAGE], is_log_whole=True))
    outcome = choir("doctor", "--fix", terminal=True)
    assert (outcome.code, doctors.mended) == (0, 0)
    assert "nothing here that --fix could mend" in outcome.out
