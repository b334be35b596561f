"""choir checkpoint and choir checkpoints."""

import json
from pathlib import Path

import pytest

from choiros.cli.client import CheckpointLine, Difference, GitState, RestorePreview
from tests.unit.cli.fake_client import FakeClient, changed, choir, event

LINE = CheckpointLine(
    5, 1_700_000_000_000, "Before the move", automatic=True, commit="4f3a2b1c" * 5, error=None
)
FAILED = CheckpointLine(3, 1_700_000_000_000, "x", automatic=False, commit=None, error="disk full")
CHANGE = Difference("a.md", "changed", None, "+x\n")


def test_a_checkpoint_is_made_with_its_message() -> None:
    client = FakeClient(checkpoint=changed(event(5, "made the checkpoint 'x'")), checkpoints=[[LINE]])
    assert choir("checkpoint", "Before the move", client=client).out.endswith(f"commit {LINE.commit}\n")
    choir("checkpoint", client=client)
    assert client.called("checkpoint") == [("Before the move",), ("Checkpoint",)]


def test_checkpoints_are_listed_with_their_commits() -> None:
    client = FakeClient(checkpoints=[[LINE, FAILED]])
    first, second = choir("checkpoints", "-n", "3", client=client).out.splitlines()
    assert first.endswith("4f3a2b1c4f  Before the move  (automatic)")
    assert second.endswith("-           x  no commit: disk full")
    assert client.called("checkpoints") == [(3,)]
    assert json.loads(choir("checkpoints", "--json", client=client).out.splitlines()[0])["seq"] == 5


def test_no_checkpoints_are_said_aside() -> None:
    assert "choir checkpoint MESSAGE" in choir("checkpoints", client=FakeClient(checkpoints=[[]])).err


def test_the_state_names_what_changed_since() -> None:
    state = GitState("main", LINE, "ab", [CHANGE], {"big.iso": "too large"})
    outcome = choir("checkpoints", "status", client=FakeClient(git_state=state))
    assert "Before the move" in outcome.out
    assert "1 path changed since then:\n  changed  a.md" in outcome.out
    assert "not kept: big.iso" in outcome.err
    fresh = GitState("main", None, None, [], {})
    assert "no checkpoint yet" in choir("checkpoints", "status", client=FakeClient(git_state=fresh)).out
    assert json.loads(choir("checkpoints", "status", "--json", client=FakeClient(git_state=fresh)).out)


def test_a_diff_begins_at_the_checkpoint() -> None:
    client = FakeClient(diff=[[CHANGE]])
    assert choir("checkpoints", "diff", "5", client=client).out == "+x\n"
    assert client.called("diff") == [(5, None, None)]
    assert "Nothing differs" in choir("checkpoints", "diff", "5", client=FakeClient(diff=[[]])).err


def test_a_restore_shows_exactly_what_it_would_change() -> None:
    client = FakeClient(preview_restore=RestorePreview("4f3a", [CHANGE]))
    outcome = choir("checkpoints", "restore", "5", client=client)
    assert outcome.code == 1
    assert "Restoring 4f3a changes 1 path:\n  changed  a.md" in outcome.out
    assert client.called("restore") == []
    choir("checkpoints", "restore", "5", "--yes", client=client)
    assert client.called("restore") == [("5",)]
    same = FakeClient(preview_restore=RestorePreview("4f3a", []))
    assert "just as in this checkpoint" in choir("checkpoints", "restore", "5", "--preview", client=same).out


def test_a_push_names_address_and_branch() -> None:
    client = FakeClient()
    url = "https://example.org/x.git"
    choir("checkpoints", "push", url, client=client)
    choir("checkpoints", "push", url, "--branch", "b", client=client)
    assert client.called("push") == [(url, "main"), (url, "b")]


def test_a_push_to_a_folder_means_it_from_where_the_person_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here" / "in.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    client = FakeClient()
    for address in ("../x.git", "in.git", "git@example.org:me/x.git"):
        choir("checkpoints", "push", address, client=client)
    wanted = [str(tmp_path / "x.git"), str(tmp_path / "here" / "in.git"), "git@example.org:me/x.git"]
    assert [url for url, _ in client.called("push")] == wanted
