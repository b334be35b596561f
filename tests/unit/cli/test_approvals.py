"""choir approvals."""

import json

import pytest

from choiros.cli.client import ApprovalLine
from tests.unit.cli.fake_client import FakeClient, changed, choir, event

ONE = ApprovalLine("0198aaaa-1", 17, "checkpoints.push", "d1", "It leaves the machine.", "open", ['["X",{}]'])
TWO = ApprovalLine("0198bbbb-2", 19, "checkpoints.push", "d2", "It leaves the machine.", "open", [])


def known() -> FakeClient:
    return FakeClient(approvals=[[ONE, TWO]], decide=changed(event(20)))


def test_what_waits_is_listed() -> None:
    outcome = choir("approvals", client=known())
    assert "17  0198aaaa-1  checkpoints.push" in outcome.out
    assert "choir approvals allow ID" in outcome.err
    assert json.loads(choir("approvals", "--json", client=known()).out.splitlines()[1])["seq"] == 19
    assert choir("approvals", client=FakeClient(approvals=[[]])).err == "Nothing waits for you.\n"


@pytest.mark.parametrize("text", ["17", "0198aaaa-1", "0198aa"])
def test_a_request_is_named_by_id_beginning_or_number(text: str) -> None:
    client = known()
    assert choir("approvals", "allow", text, "--note", "fine", client=client).code == 0
    assert client.called("decide") == [("0198aaaa-1", "d1", "allow", "fine")]


@pytest.mark.parametrize("text", ["18", "0198", "nonsense", ""])
def test_what_names_no_single_request_is_refused(text: str) -> None:
    client = known()
    assert choir("approvals", "deny", text, client=client).code == 1
    assert client.called("decide") == []


def test_a_beginning_that_fits_two_is_refused() -> None:
    two = FakeClient(approvals=[[ONE, ApprovalLine("0198aaaa-9", 18, "x", "d", "", "open", [])]])
    assert "more than one" in choir("approvals", "allow", "0198aaaa", client=two).err


def test_a_request_is_denied() -> None:
    client = known()
    assert choir("approvals", "deny", "19", client=client).code == 0
    assert client.called("decide") == [("0198bbbb-2", "d2", "deny", "")]


def test_a_request_is_shown_exactly() -> None:
    out = choir("approvals", "show", "17", client=known()).out
    assert "checkpoints.push" in out
    assert "It leaves the machine." in out
    assert "X: " in out
    assert json.loads(choir("approvals", "show", "17", "--json", client=known()).out)["digest"] == "d1"
