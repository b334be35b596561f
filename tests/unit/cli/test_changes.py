"""choir write, edit, mkdir, ln, chmod, mv, rm."""

from pathlib import Path

from tests.unit.cli.fake_client import FakeClient, choir


def test_what_is_piped_in_is_written() -> None:
    client = FakeClient()
    words = ["--mode", "755", "--run", "r", "--base", "7"]
    assert choir("write", "notes/a.md", *words, client=client, keys=b"x\x00\xff").code == 0
    assert client.content == b"x\x00\xff"
    assert client.called("write") == [("notes/a.md", 0o755, "r", 7)]


def test_a_file_can_be_the_source(tmp_path: Path) -> None:
    source = tmp_path / "draft"
    source.write_bytes(b"z" * 3_000_000)
    client = FakeClient()
    choir("write", "a.md", "--from", str(source), client=client)
    assert client.content == b"z" * 3_000_000


def test_a_source_that_is_not_there_opens_nothing(tmp_path: Path) -> None:
    client = FakeClient()
    outcome = choir("write", "a.md", "--from", str(tmp_path / "none"), client=client)
    assert outcome.code == 1
    assert "code: write.no_source" in outcome.err
    assert client.opened == []


def test_text_is_replaced() -> None:
    client = FakeClient()
    choir("edit", "a.md", "--old", "- x", "--new=-y", "--all", client=client)
    assert client.called("edit") == [("a.md", "- x", "-y", True, None)]


def test_directories_links_and_modes_are_set() -> None:
    client = FakeClient()
    choir("mkdir", "notes/2027/", "--run", "r", client=client)
    choir("ln", "../else/where", "latest", client=client)
    choir("chmod", "600", "a.md", client=client)
    assert client.called("make_directory") == [("notes/2027", "r")]
    assert client.called("make_link") == [("latest", "../else/where", None)]
    assert client.called("set_mode") == [("a.md", 0o600, None)]


def test_a_move_into_a_directory_keeps_the_name() -> None:
    client = FakeClient()
    choir("mv", "a.md", "notes/", client=client)
    choir("mv", "old/", "new", client=client)
    assert client.called("move") == [("a.md", "notes/a.md", None), ("old", "new", None)]


def test_several_things_are_removed_at_once() -> None:
    client = FakeClient()
    choir("rm", "-r", "a.md", "old/", "--", "-b", client=client)
    assert client.called("remove") == [(["a.md", "old", "-b"], True, None)]


def test_nothing_outside_the_workspace_is_touched() -> None:
    client = FakeClient()
    for words in (
        ["rm", "../x"],
        ["mv", "a", "/etc/x"],
        ["write", "/tmp/x"],
        ["mkdir", ""],
        ["chmod", "644", "/"],
    ):
        assert choir(*words, client=client).code == 1
    assert {name for name, _, _ in client.calls} <= {"status", "workspaces", "close"}
