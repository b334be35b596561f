"""choir undo and choir redo."""

import pytest

from choiros.cli.client import Difference
from tests.unit.cli.fake_client import FakeClient, choir, event, preview


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ([], (None, None, None)),
        (["12"], (None, 12, None)),
        (["breakfast"], ("breakfast", None, None)),
        (["--run", "12"], ("12", None, None)),
        (["--to", "12"], (None, None, 12)),
    ],
)
def test_what_is_meant_reaches_the_computer(words: list[str], meant: tuple[object, ...]) -> None:
    client = FakeClient(preview_undo=preview())
    choir("undo", *words, "--yes", client=client)
    assert client.called("undo") == [(*meant, [])]


@pytest.mark.parametrize("words", [["12", "--to", "3"], ["r", "--run", "r"]])
def test_only_one_thing_is_taken_back(words: list[str]) -> None:
    assert choir("undo", *words).code == 2


def test_paths_can_be_left_as_they_are() -> None:
    client = FakeClient(preview_undo=preview(), preview_redo=preview())
    choir("undo", "12", "--except", "./a", "b/", "--except", "c", "--yes", client=client)
    choir("redo", "--except", "d", "--yes", client=client)
    assert client.called("undo") == [(None, 12, None, ["a", "b", "c"])]
    assert client.called("redo") == [(["d"],)]


def test_the_preview_tells_all_that_matters() -> None:
    found = preview(
        events=[event(seq) for seq in range(1, 31)],
        changes=[Difference(f"f{n}", "added", None, "") for n in range(50)],
        irreversible=[event(31, "sent a mail")],
        notes=["a.md: merged"],
        obstacles=["b.md: newer lines"],
    )
    out = choir("undo", "--preview", client=FakeClient(preview_undo=found)).out
    for part in ("takes back 30 events", "and 20 before these", "restore   f0", "and 10 more files"):
        assert part in out
    assert "cannot be taken back" in out
    assert "sent a mail" in out
    assert "note: a.md: merged" in out
    assert "in the way: b.md: newer lines" in out


def test_a_redo_is_told_as_one() -> None:
    client = FakeClient(preview_redo=preview(target="redo", name="9"))
    assert "brings back what event 9 took" in choir("redo", "--preview", client=client).out


def test_a_move_names_both_ends() -> None:
    found = preview(changes=[Difference("a", "moved", "b", "")])
    assert "move      a to b" in choir("undo", "--preview", client=FakeClient(preview_undo=found)).out


def test_a_number_too_long_for_an_event_is_refused_and_never_shortened() -> None:
    client = FakeClient(preview_undo=preview())
    outcome = choir("undo", "9" * 20, "--yes", client=client)
    assert outcome.code == 2
    assert "9" * 20 in outcome.err
    assert "--run RUN" in outcome.err
    assert client.called("undo") == []
