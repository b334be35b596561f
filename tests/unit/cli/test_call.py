"""What every verb shares: the settings, the client, and what a wish led to."""

import json

import pytest

from choiros.cli.arguments import Arguments, WrongUsage
from choiros.cli.call import flags_of
from choiros.cli.client import Asked, WorkspaceLine
from choiros.kernel.errors import Corrupt, Rejected, Unavailable
from tests.unit.cli.fake_client import MAIN, FakeClient, changed, choir, event

ASKED = Asked("req-1234", "ab" * 32, "It leaves the machine.", ['["PushRequested",{"url":"x","n":1}]', "odd"])
HELD = Unavailable("lock.held", "Somebody else is at it.", fix="Wait.")


def test_flags_become_settings() -> None:
    given = Arguments({"set": ["files.size_bytes_max=5", "user=bob"], "user": "ann", "home": "/x"})
    assert flags_of(given) == {"files.size_bytes_max": "5", "user": "ann", "home": "/x"}


@pytest.mark.parametrize("pair", ["x", "=1", "home=/x", ""])
def test_a_setting_without_a_value_is_wrong_usage(pair: str) -> None:
    with pytest.raises(WrongUsage):
        flags_of(Arguments({"set": [pair]}))


def test_the_named_workspace_and_user_reach_the_computer() -> None:
    client = FakeClient()
    choir("--user", "ann", "status", "--workspace", "garden", client=client)
    assert client.opened == [("garden", False)]
    assert client.resolved[0].settings.user == "ann"


def test_the_computer_is_let_go_of_after_an_error() -> None:
    client = FakeClient(show=Rejected("log.unknown_event", "No.", fix="Look."))
    assert choir("show", "9", client=client).code == 1
    assert client.called("close")


def test_what_happened_is_listed_with_numbers() -> None:
    client = FakeClient(make_directory=changed(event(4, "made the directory a"), event(5, "more")))
    assert choir("mkdir", "a", client=client).out == "     4  made the directory a\n     5  more\n"


def test_many_changes_are_summed_up() -> None:
    client = FakeClient(remove=changed(*[event(seq) for seq in range(1, 101)]))
    lines = choir("rm", "a", client=client).out.splitlines()
    assert len(lines) == 12
    assert lines[-1].strip() == "and 89 more: 'choir log --after 11 --until 100'"


def test_no_change_is_said() -> None:
    assert "it is so already" in choir("mkdir", "a").out


def test_a_conflict_is_done_and_told() -> None:
    client = FakeClient(write=changed(event(4), conflicts=["a (2).md"]))
    outcome = choir("write", "a.md", client=client)
    assert outcome.code == 0
    assert "kept beside as a (2).md" in outcome.err


def test_what_could_not_be_carried_out_is_a_failure() -> None:
    client = FakeClient(checkpoints=[[]], checkpoint=changed(event(4), warnings=["The commit failed."]))
    assert choir("checkpoint", client=client).code == 1
    outcome = choir("checkpoint", "--json", client=client)
    assert outcome.code == 1
    assert json.loads(outcome.out)["warnings"] == ["The commit failed."]


def test_without_a_terminal_a_question_waits_with_exit_code_3() -> None:
    client = FakeClient(push=ASKED)
    outcome = choir("checkpoints", "push", "x", client=client)
    assert outcome.code == 3
    assert "choir approvals allow req-1234" in outcome.err
    assert "PushRequested: url x, n 1" in outcome.out
    outcome = choir("checkpoints", "push", "x", "--json", client=client)
    assert (outcome.code, json.loads(outcome.out)["request"]) == (3, "req-1234")


def test_on_a_terminal_the_person_allows_at_once() -> None:
    client = FakeClient(push=ASKED, decide=changed(event(9, "sent it")))
    outcome = choir("checkpoints", "push", "x", client=client, keys=b"y\n", terminal=True)
    assert (outcome.code, client.called("decide")) == (0, [("req-1234", "ab" * 32, "allow", "")])
    assert "sent it" in outcome.out


def test_on_a_terminal_the_person_denies_or_leaves_it_open() -> None:
    client = FakeClient(push=ASKED)
    assert choir("checkpoints", "push", "x", client=client, keys=b"n\n", terminal=True).code == 1
    assert client.called("decide") == [("req-1234", "ab" * 32, "deny", "")]
    client = FakeClient(push=ASKED)
    for keys in (b"\n", b"", b"perhaps\n"):
        outcome = choir("checkpoints", "push", "x", client=client, keys=keys, terminal=True)
        assert outcome.code == 3
        assert "choir approvals allow req-1234" in outcome.out
    assert client.called("decide") == []


def test_yes_never_answers_for_a_person() -> None:
    client = FakeClient(restore=ASKED)
    assert choir("checkpoints", "restore", "5", "--yes", client=client).code == 3
    assert client.called("decide") == []


def test_who_only_looks_is_not_kept_out_by_others() -> None:
    client = FakeClient(connect=[HELD, None], diff=[[]])
    outcome = choir("diff", client=client)
    assert outcome.code == 0
    assert "newest edits may be missing" in outcome.err
    assert client.opened == [(None, True), (None, False)]
    assert client.resolved[0].settings.lock_timeout_s == 2


def test_who_only_looks_may_look_where_nothing_can_be_written() -> None:
    fixed = Unavailable("lock.unavailable", "The disk is read-only.", fix="Check it.")
    outcome = choir("diff", client=FakeClient(connect=[fixed, None], diff=[[]]))
    assert outcome.code == 0
    assert "nothing can be written there now" in outcome.err


def test_who_changes_waits_and_is_told() -> None:
    assert choir("rm", "a", client=FakeClient(connect=HELD)).code == 1


def test_other_trouble_is_not_taken_for_a_busy_neighbour() -> None:
    for trouble in (Corrupt("log.damaged", "No.", fix="Ask."), Unavailable("disk.gone", "No.", fix="Ask.")):
        client = FakeClient(connect=trouble)
        assert choir("diff", client=client).err.endswith(f"code: {trouble.code}\n")
        assert len(client.opened) == 1


def test_standing_in_the_folder_of_another_workspace_is_an_error(
    tmp_path: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    other = WorkspaceLine("w2", "garden", str(tmp_path), "open", current=False, files=0)
    client = FakeClient(workspaces=[[MAIN, other]])
    outcome = choir("rm", "a", client=client)
    assert outcome.code == 1
    assert "--workspace garden" in outcome.err
    assert client.called("remove") == []
    assert choir("rm", "a", "--workspace", "main", client=client).code == 0
