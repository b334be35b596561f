"""What is shown before it is done."""

import json

from choiros.kernel.errors import Conflict
from tests.unit.cli.fake_client import FakeClient, changed, choir, event, preview

DONE = changed(event(9, "took back the last change"))


def client(**answers: object) -> FakeClient:
    return FakeClient(preview_undo=preview(), undo=DONE, **answers)


def test_a_preview_changes_nothing() -> None:
    for words in (["--preview"], ["--preview", "--yes"]):
        known = client()
        outcome = choir("undo", *words, client=known)
        assert outcome.code == 0
        assert "remove    a.md" in outcome.out
        assert known.called("undo") == []


def test_a_preview_is_one_object_as_json() -> None:
    outcome = choir("undo", "--preview", "--json", client=client())
    assert json.loads(outcome.out)["changes"][0]["path"] == "a.md"


def test_yes_does_it() -> None:
    known = client()
    outcome = choir("undo", "--yes", client=known)
    assert (outcome.code, outcome.out) == (0, "     9  took back the last change\n")
    assert len(known.opened) == 1


def test_without_a_terminal_and_without_yes_nothing_happens() -> None:
    known = client()
    outcome = choir("undo", client=known, keys=b"y\n")
    assert outcome.code == 1
    assert "remove    a.md" in outcome.out
    assert "--yes" in outcome.err
    assert known.called("undo") == []


def test_without_a_terminal_json_is_one_object_with_the_preview() -> None:
    found = json.loads(choir("undo", "--json", client=client()).out)
    assert (found["error"]["code"], found["exit"]) == ("confirm.needed", 1)
    assert found["preview"]["changes"][0]["path"] == "a.md"


def test_on_a_terminal_a_yes_does_it() -> None:
    known = client()
    outcome = choir("undo", client=known, keys=b"y\n", terminal=True)
    assert outcome.code == 0
    assert len(known.called("undo")) == 1
    assert [write for _, write in known.opened] == [True, True]


def test_on_a_terminal_anything_else_does_nothing() -> None:
    for keys in (b"n\n", b"\n", b"", b"yse\n"):
        known = client()
        outcome = choir("undo", client=known, keys=keys, terminal=True)
        assert outcome.code == 1
        assert "Nothing was changed." in outcome.out
        assert known.called("undo") == []


def test_what_changed_while_the_question_stood_there_is_not_done() -> None:
    known = FakeClient(preview_undo=[preview(), preview(name="8")], undo=DONE)
    outcome = choir("undo", client=known, keys=b"y\n", terminal=True)
    assert outcome.code == 1
    assert "code: confirm.changed" in outcome.err
    assert known.called("undo") == []


def test_what_cannot_be_done_is_not_asked_for() -> None:
    known = FakeClient(preview_undo=preview(obstacles=["a.md: newer lines"]), undo=DONE)
    outcome = choir("undo", client=known, keys=b"y\n", terminal=True)
    assert outcome.code == 1
    assert "[y/N]" not in outcome.out
    assert "--except" in outcome.err
    assert known.called("undo") == []


def test_the_computer_is_not_held_while_the_question_stands() -> None:
    known = client()
    choir("undo", client=known, keys=b"y\n", terminal=True)
    order = [name for name, _, _ in known.calls]
    assert [name for name in order if name not in {"status", "workspaces"}] == [
        "preview_undo",
        "close",
        "preview_undo",
        "undo",
        "close",
    ]


def test_yes_meets_the_refusal_of_the_computer() -> None:
    known = FakeClient(
        preview_undo=preview(obstacles=["x"]), undo=Conflict("undo.conflict", "No.", fix="Look.")
    )
    assert choir("undo", "--yes", client=known).code == 1
