"""choir diff."""

import json

import pytest

from choiros.cli.client import Difference
from choiros.cli.diff import in_words
from tests.unit.cli.fake_client import FakeClient, choir

TEXT = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


def test_diffs_are_printed_as_they_are() -> None:
    client = FakeClient(diff=[[Difference("x", "changed", None, TEXT), Difference("y", "mode", None, "")]])
    outcome = choir("diff", "3", "5", "--path", "notes/", client=client)
    assert outcome.out == TEXT + "mode of  y\n"
    assert client.called("diff") == [(3, 5, "notes")]
    assert client.opened == [(None, False)]


def test_until_now_means_that_edits_made_outside_count() -> None:
    client = FakeClient(diff=[[]])
    outcome = choir("diff", client=client)
    assert (outcome.out, outcome.err) == ("", "Nothing differs.\n")
    assert client.opened == [(None, True)]


def test_a_diff_has_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    client = FakeClient(diff=[[Difference("x", "changed", None, TEXT)]])
    assert "\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n" in choir("diff", client=client, terminal=True).out


def test_json_is_one_difference_a_line() -> None:
    client = FakeClient(diff=[[Difference("x", "changed", None, TEXT), Difference("y", "mode", None, "")]])
    lines = choir("diff", "--json", client=client).out.splitlines()
    assert [json.loads(line)["path"] for line in lines] == ["x", "y"]


def test_every_kind_of_change_has_words() -> None:
    assert in_words(Difference("a", "moved", "b", "")) == "moved    a to b"
    assert in_words(Difference("a", "removed", None, "")) == "removed  a"
