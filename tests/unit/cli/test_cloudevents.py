"""Events as CloudEvents: in the form that the specification demands, and with nothing lost."""

import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from choiros.cli.client import EventLine
from choiros.cli.cloudevents import as_cloudevent
from choiros.cli.show import as_json
from choiros.kernel.event import GENESIS, Draft, Event, Labels, Point, open_records, seal
from tests.golden.record import recorded
from tests.unit.cli.fake_client import FakeClient, choir

START = Point(0, GENESIS)
CORE = {"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data"}


def cloud(event: bytes) -> dict[str, object]:
    return json.loads(as_json(as_cloudevent(Raw(event))))


def back(one: dict[str, object]) -> dict[str, object]:
    """Return our JSON again, from what the CloudEvent says and nothing else."""
    moment = one.get("time")
    if isinstance(moment, str):
        since = datetime.fromisoformat(moment) - datetime(1970, 1, 1, tzinfo=UTC)
        timestamp = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    else:
        timestamp = int(str(one["timestamp"]))
    return {
        "id": one["id"],
        "seq": int(str(one["seq"])),
        "timestamp": timestamp,
        "user_id": one["userid"],
        "source": one["actor"],
        "event_type": str(one["type"]).removeprefix("choiros."),
        "payload": one.get("data"),
        "session_id": one.get("sessionid"),
        "run_id": one.get("runid"),
        "cause": one.get("cause"),
        "labels": {"origin": json.loads(str(one["origin"])), "private": one["private"]},
        "v": one["schema"],
        "prev": one["prev"],
        "hash": one["hash"],
    }


def golden() -> list[bytes]:
    records = recorded("0.1")
    prevs = [GENESIS, *(record.hash for record in records)]
    heads = open_records(records, START)
    return [
        Event(head, None, record, prev).as_json()
        for head, record, prev in zip(heads, records, prevs, strict=False)
    ]


@pytest.mark.parametrize("event", golden(), ids=lambda event: json.loads(event)["event_type"])
def test_every_kind_of_event_comes_back_as_it_was(event: bytes) -> None:
    assert back(cloud(event)) == json.loads(event)


TEXT = st.none() | st.text(st.characters(codec="utf-8"), max_size=20)


@given(
    timestamp=st.integers(-(2**53), 2**53),
    session=TEXT,
    run=TEXT,
    cause=TEXT,
    origin=st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=4),
    private=st.booleans(),
    v=st.integers(1, 1000),
    payload=st.none() | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=9), st.integers()),
)
def test_any_event_comes_back_as_it_was(
    *,
    timestamp: int,
    session: str | None,
    run: str | None,
    cause: str | None,
    origin: list[str],
    private: bool,
    v: int,
    payload: dict[str, int] | None,
) -> None:
    labels = Labels(tuple(origin), private)
    draft = Draft("e1", timestamp, "me", "agent", "x.y", b"{}", bytes(16), session, run, cause, labels, v)
    record = seal(draft, START)
    (head,) = open_records([record], START)
    stored = None if payload is None else json.dumps(payload).encode()
    event = Event(head, None, record._replace(payload=stored), GENESIS).as_json()
    found = cloud(event)
    assert back(found) == json.loads(event)
    assert_valid(found)


def assert_valid(one: dict[str, object]) -> None:
    """Check the rules of CloudEvents 1.0 for attributes."""
    assert one["specversion"] == "1.0"
    assert {"id", "source", "type"} <= one.keys()
    for name, value in one.items():
        assert re.fullmatch(r"[a-z0-9]{1,20}", name)
        if name != "data":
            assert isinstance(value, str | bool | int)
            assert not isinstance(value, int) or -(2**31) <= value < 2**31
    assert one.get("subject") != ""
    assert ("data" in one) == ("datacontenttype" in one)


def test_the_form_is_that_of_the_specification() -> None:
    for event in golden():
        found = cloud(event)
        assert_valid(found)
        assert found["source"] == "/users/me"
        if "time" in found:
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(found["time"]))


def test_the_subject_is_what_the_payload_is_about() -> None:
    subjects = {str(found["type"]): found.get("subject") for found in map(cloud, golden())}
    assert subjects["choiros.workspace.create"] == "added"
    assert str(subjects["choiros.file.write"]).startswith(("main/", "work/", "added/"))
    assert subjects["choiros.policy.verdict"] is None


def test_the_log_is_printed_as_cloudevents_with_the_answers_of_the_gate() -> None:
    event = golden()[0]
    line = EventLine(1, "e", 1, "user", "note", None, None, None, None, "a note", Raw(event))
    client = FakeClient(log=[[line]])
    outcome = choir("log", "--cloudevents", client=client)
    assert [json.loads(one) for one in outcome.out.splitlines()] == [cloud(event)]
    (query,) = client.called("log")[0]
    assert query.routine  # pyright: ignore[reportAttributeAccessIssue]
    choir("log", client=client)
    assert not client.called("log")[1][0].routine  # pyright: ignore[reportAttributeAccessIssue]
