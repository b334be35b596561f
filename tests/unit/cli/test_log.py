"""choir log and choir show."""

import asyncio
import json
from typing import cast

import pytest

from choiros.cli import log
from choiros.cli.client import EventDetail, LogQuery
from choiros.kernel.errors import Unavailable
from tests.unit.cli.fake_client import FakeClient, choir, event

AWAY = Unavailable("lock.held", "Somebody is at it.", fix="Wait.")


def queries(client: FakeClient, name: str = "log") -> list[LogQuery]:
    return [cast("LogQuery", args[0]) for args in client.called(name)]


def test_the_newest_twenty_are_listed() -> None:
    client = FakeClient(log=[[event(3, "changed a.md"), event(4, "removed b.md", source="agent")]])
    lines = choir("log", client=client).out.splitlines()
    assert lines[0].startswith("     3  20")
    assert lines[0].endswith("user    changed a.md")
    assert lines[1].endswith("agent   removed b.md")
    assert queries(client) == [LogQuery(limit=20, newest=True)]


def test_the_run_and_an_undo_are_marked() -> None:
    client = FakeClient(log=[[event(3, run_id="r1", undone_by=9)]])
    assert choir("log", client=client).out.endswith("changed a.md  [r1]  (undone by 9)\n")


def test_every_filter_reaches_the_computer() -> None:
    client = FakeClient(log=[[]])
    choir("log", "--until", "9", "--type", "file.*", "--source", "agent", "--run", "r", client=client)
    choir("log", "--session", "s", "--path", "./a", "-n", "3", client=client)
    assert queries(client) == [
        LogQuery(until=9, event_type="file.*", source="agent", run="r"),
        LogQuery(session="s", path="a", limit=3),
    ]


def test_behind_an_event_all_are_listed_page_by_page() -> None:
    pages = [[event(seq) for seq in range(5, 505)], [event(seq) for seq in range(505, 508)]]
    client = FakeClient(log=[*pages])
    assert len(choir("log", "--after", "4", client=client).out.splitlines()) == 503
    assert [(query.after, query.newest) for query in queries(client)] == [(4, False), (504, False)]


def test_behind_an_event_a_number_of_them_can_be_wanted() -> None:
    client = FakeClient(log=[[event(5), event(6)]])
    assert len(choir("log", "--after", "4", "-n", "2", client=client).out.splitlines()) == 2
    assert [query.limit for query in queries(client)] == [2]


def test_nothing_is_said_aside() -> None:
    outcome = choir("log", client=FakeClient(log=[[]]))
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "No event matches.\n")


def test_json_is_one_object_a_line() -> None:
    lines = choir("log", "--json", client=FakeClient(log=[[event(3), event(4)]])).out.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [3, 4]


def test_following_goes_on_where_the_list_ends_and_ctrl_c_ends_it() -> None:
    client = FakeClient(log=[[event(6)]], follow=(event(8), event(9), KeyboardInterrupt()))
    outcome = choir("log", "--follow", "--type", "file.write", client=client)
    assert outcome.code == 130
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["6", "8", "9"]
    assert queries(client)[0].until == 7
    assert (queries(client, "follow")[0].after, queries(client, "follow")[0].event_type) == (7, "file.write")


def test_following_survives_that_the_computer_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def no_wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", no_wait)
    answers: list[object] = [(event(8), AWAY), AWAY, AWAY, (event(9), KeyboardInterrupt())]
    client = FakeClient(log=[[]], follow=answers)
    outcome = choir("log", "-f", client=client)
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["8", "9"]
    assert outcome.err.count("Waiting") == 1
    assert [query.after for query in queries(client, "follow")] == [7, 8, 8, 8]
    assert waited == [log.RETRY_S] * 3


def test_following_can_have_an_end() -> None:
    client = FakeClient(log=[[]], follow=(event(8), event(9), event(10)))
    outcome = choir("log", "--follow", "--until", "9", client=client)
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 2


def test_an_event_is_shown_with_its_causes_and_consequences() -> None:
    detail = EventDetail(event(5, run_id="r"), "reversible", [event(2, "why")], [event(6, "then")], "+x\n")
    out = choir("show", "5", client=FakeClient(show=detail)).out
    assert out.startswith("Event 5: changed a.md\n")
    for part in ("run   ", "Because of\n     2  why", "Led to\n     6  then", "Changed\n+x\n", "reversible"):
        assert part in out
    assert "session" not in out
    undone = EventDetail(event(5, undone_by=9), "reversible", [], [], "")
    assert "undone by event 9" in choir("show", "5", client=FakeClient(show=undone)).out
    assert json.loads(choir("show", "5", "--json", client=FakeClient(show=detail)).out)["diff"] == "+x\n"
