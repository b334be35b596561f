"""choir workspaces."""

import json
from pathlib import Path

import pytest

from choiros.cli.client import WorkspaceLine
from tests.unit.cli.fake_client import MAIN, FakeClient, changed, choir, event

OLD = WorkspaceLine("w2", "old garden", "/w/old", "archived", current=False, files=3)


def test_workspaces_are_listed_with_the_one_in_use() -> None:
    client = FakeClient(workspaces=[[MAIN, OLD]])
    first, second = choir("workspaces", client=client).out.splitlines()
    assert first.startswith("* main")
    assert second.endswith("3 paths  /w/old  (archived)")
    assert json.loads(choir("workspaces", "--json", client=client).out.splitlines()[1])["state"] == "archived"


@pytest.mark.parametrize("act", ["new", "use", "archive", "open"])
def test_an_act_needs_only_a_name(act: str) -> None:
    client = FakeClient(change_workspace=changed(event(4)))
    assert choir("workspaces", act, "garden", client=client).code == 0
    assert client.called("change_workspace") == [(act, "garden", None)]


def test_a_folder_is_added_under_its_own_name_or_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    monkeypatch.chdir(tmp_path)
    client = FakeClient()
    choir("workspaces", "add", "site", client=client)
    choir("workspaces", "add", "./site/", "--name", "web", client=client)
    folder = str(tmp_path / "site")
    assert client.called("change_workspace") == [("add", "site", folder), ("add", "web", folder)]
    assert choir("workspaces", "add", "nowhere", client=client).code == 1


def test_a_workspace_gets_another_name() -> None:
    client = FakeClient()
    choir("workspaces", "rename", "a", "b", client=client)
    assert client.called("change_workspace") == [("rename", "a", "b")]


def test_a_removal_is_shown_before_it_is_done() -> None:
    client = FakeClient(workspaces=[[MAIN, OLD]])
    outcome = choir("workspaces", "rm", "old garden", client=client)
    assert outcome.code == 1
    assert "'old garden' with 3 paths" in outcome.out
    assert client.called("change_workspace") == []
    choir("workspaces", "rm", "old garden", "--yes", client=client)
    assert client.called("change_workspace") == [("rm", "old garden", None)]


def test_an_unknown_workspace_is_answered_with_the_nearest() -> None:
    outcome = choir("workspaces", "rm", "mian", "--yes", client=FakeClient())
    assert outcome.code == 1
    assert "Did you mean 'main'?" in outcome.err
