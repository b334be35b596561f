"""choir why."""

import json

import pytest
from msgspec.structs import replace

from choiros.cli.client import Blamed, EventDetail, Why
from choiros.cli.why import split
from tests.unit.cli.fake_client import FakeClient, choir, event

FOUND = Why(
    "a.md",
    [Blamed(1, "bread", 3), Blamed(2, "\tmilk", 12), Blamed(3, "old", 0)],
    {3: event(3, "created a.md"), 12: event(12, source="agent", run_id="r"), 14: event(14)},
    [event(14), event(12), event(3)],
)


def test_each_line_has_its_writer() -> None:
    lines = choir("why", "a.md", client=FakeClient(why=FOUND)).out.splitlines()
    assert lines[0].startswith("u  3 20")
    assert lines[0].endswith(" 1 | bread")
    assert lines[1].startswith("a 12 20")
    assert lines[1].endswith(" 2 |     milk")
    assert lines[2].startswith("?    ")
    assert lines[2].endswith(" 3 | old")
    assert len(lines[0].split("|")[0]) == len(lines[2].split("|")[0])
    assert [line.split()[0] for line in lines[5:]] == ["3", "12"]


def test_each_writer_has_its_run_and_what_led_to_it() -> None:
    """Who wrote each line, when, in which run, caused by what."""
    found = replace(FOUND, causes={12: event(9, "took back the run breakfast")})
    out = choir("why", "a.md", client=FakeClient(why=found)).out
    assert "[r]\n        because of 9: took back the run breakfast\n" in out
    assert json.loads(choir("why", "a.md", "--json", client=FakeClient(why=found)).out)["causes"]["12"]


def test_one_line_tells_its_whole_story() -> None:
    detail = EventDetail(event(12, "changed a.md", run_id="r"), "reversible", [event(11, "asked")], [], "+x")
    client = FakeClient(why=FOUND, show=detail)
    out = choir("why", "a.md:2", client=client).out
    assert "a.md:2      milk\nEvent 12: changed a.md" in out
    assert "Because of\n    11  asked" in out
    assert "+x" not in out
    assert json.loads(choir("why", "a.md:2", "--json", client=client).out)["line"]["seq"] == 12


def test_a_line_that_history_does_not_tell_about_is_no_error() -> None:
    assert "does not tell" in choir("why", "a.md:3", client=FakeClient(why=FOUND)).out


@pytest.mark.parametrize("number", [0, 4])
def test_a_line_that_is_not_there_is_refused(number: int) -> None:
    outcome = choir("why", f"a.md:{number}", client=FakeClient(why=FOUND))
    assert outcome.code == 1
    assert "from 1 to 3" in outcome.err


def test_a_file_that_is_no_text_shows_its_changes() -> None:
    client = FakeClient(why=Why("a.png", [], {3: event(3)}, [event(12), event(3)]))
    lines = choir("why", "a.png", client=client).out.splitlines()
    assert [line.split()[0] for line in lines] == ["12", "3"]


def test_json_is_the_answer_itself() -> None:
    assert len(json.loads(choir("why", "a.md", "--json", client=FakeClient(why=FOUND)).out)["lines"]) == 3


def test_a_line_number_is_told_from_a_name() -> None:
    assert split("a.md:12") == ("a.md", 12)
    assert split("a:b") == ("a:b", None)
    assert split("a.md") == ("a.md", None)
    assert split(":3") == (":3", None)
    assert split("a.md:" + "9" * 20) == ("a.md:" + "9" * 20, None)
