"""choir status."""

import json

from msgspec.structs import replace

from tests.unit.cli.fake_client import STATUS, FakeClient, choir


def test_the_computer_is_shown_at_a_glance() -> None:
    out = choir("status").out
    assert "user       me\n" in out
    assert "events     7\n" in out
    assert "none waiting" in out
    assert "ready" in out


def test_what_waits_or_lags_is_told_with_the_way_out() -> None:
    out = choir("status", client=FakeClient(status=replace(STATUS, pending_approvals=2, state="behind"))).out
    assert "2 requests waiting: 'choir approvals'" in out
    assert "choir rebuild" in out


def test_json_is_the_answer_itself() -> None:
    assert json.loads(choir("status", "--json").out)["workspace"] == "main"
