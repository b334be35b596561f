"""The verbs for checkpoints, on a real data directory with a real repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from choiros.cli.client import Asked
from choiros.kernel.errors import Rejected
from tests.unit.cli.direct.homes import Home, changed


def git(folder: Path, *words: str) -> str:
    """Run the git that everybody has."""
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_checkpoint_is_a_commit_that_git_reads_in_the_folder(home: Home) -> None:
    home.write("a.txt", b"1\n")
    seq = changed(home.do(lambda client: client.checkpoint("first"))).seqs[0]
    assert git(home.folder, "log", "--format=%s").split() == ["first"]
    assert f"Choir-Seq: {seq}" in git(home.folder, "log", "-1", "--format=%B")
    assert git(home.folder, "status", "--porcelain") == ""
    line = home.do(lambda client: client.checkpoints(5))[0]
    assert (line.seq, line.message, line.error) == (seq, "first", None)
    assert line.commit is not None


def test_secrets_and_what_can_be_made_again_stay_out_of_commits(home: Home) -> None:
    for path in (".env", "server.log", "keys/id_ed25519", "data/app.sqlite", "kept.txt"):
        home.write(path, b"1")
    (home.folder / "web/node_modules/x").mkdir(parents=True)
    (home.folder / "web/node_modules/x/index.js").write_bytes(b"1")
    home.do(lambda client: client.checkpoint("all"))
    assert git(home.folder, "ls-tree", "-r", "--name-only", "HEAD").split() == ["kept.txt"]
    assert ".env" in home.paths()


def test_the_state_tells_what_changed_since_the_checkpoint(home: Home) -> None:
    home.write("a.txt", b"1\n")
    home.do(lambda client: client.checkpoint("first"))
    assert home.do(lambda client: client.git_state()).changes == []
    (home.folder / "a.txt").write_bytes(b"by hand\n")
    state = home.do(lambda client: client.git_state())
    assert [(one.path, one.change) for one in state.changes] == [("a.txt", "changed")]
    assert state.last is not None
    assert state.head == state.last.commit


def test_a_preview_of_a_restore_lists_exactly_what_it_would_change_and_changes_nothing(home: Home) -> None:
    home.write("a.txt", b"1\n")
    point = changed(home.do(lambda client: client.checkpoint("first"))).seqs[0]
    home.write("a.txt", b"2\n")
    home.write("new.txt", b"3\n")
    before = home.do(lambda client: client.status()).events
    refs = git(home.folder, "for-each-ref")
    preview = home.do(lambda client: client.preview_restore(str(point)))
    assert [(one.path, one.change) for one in preview.changes] == [
        ("a.txt", "changed"),
        ("new.txt", "removed"),
    ]
    assert home.do(lambda client: client.status()).events == before
    assert git(home.folder, "for-each-ref") == refs


def test_a_restore_on_a_dirty_tree_loses_nothing_and_can_be_undone(home: Home) -> None:
    """C-08, C-27: head, index and hand edits are all there afterwards."""
    home.write("a.txt", b"1\n")
    point = changed(home.do(lambda client: client.checkpoint("first"))).seqs[0]
    home.write("a.txt", b"2\n")
    home.do(lambda client: client.checkpoint("second"))
    (home.folder / "a.txt").write_bytes(b"by hand\n")
    (home.folder / "staged.txt").write_bytes(b"staged\n")
    git(home.folder, "add", "staged.txt")
    head = git(home.folder, "rev-parse", "HEAD").strip()
    restored = changed(home.do(lambda client: client.restore(str(point))))
    assert (home.folder / "a.txt").read_bytes() == b"1\n"
    assert head in git(home.folder, "log", "--format=%H", "--all").split()
    assert "staged.txt" in "".join(
        git(home.folder, "ls-tree", "-r", "--name-only", ref)
        for ref in git(home.folder, "for-each-ref", "--format=%(refname)", "refs/choir").split()
    )
    home.undo(seq=next(line.seq for line in restored.lines if "a.txt" in line.sentence))
    assert (home.folder / "a.txt").read_bytes() == b"by hand\n"


def test_a_restore_by_commit_leaves_what_commits_never_hold(home: Home) -> None:
    home.write("a.txt", b"1\n")
    home.write(".env", b"SECRET=1\n")
    home.do(lambda client: client.checkpoint("first"))
    commit = git(home.folder, "rev-parse", "HEAD").strip()
    home.write("a.txt", b"2\n")
    home.do(lambda client: client.restore(commit))
    assert home.read("a.txt") == b"1\n"
    assert home.read(".env") == b"SECRET=1\n"


def test_an_unknown_commit_is_refused(home: Home) -> None:
    home.write("a.txt", b"1\n")
    home.do(lambda client: client.checkpoint("first"))
    with pytest.raises(Rejected):
        home.do(lambda client: client.preview_restore("no-such-commit"))
    for number in ("9" * 15, "9" * 30, "9" * 40):
        with pytest.raises(Rejected):
            home.do(lambda client, number=number: client.preview_restore(number))


def test_a_push_asks_first_and_arrives_when_allowed(home: Home, tmp_path: Path) -> None:
    home.write("a.txt", b"1\n")
    home.do(lambda client: client.checkpoint("first"))
    other = tmp_path / "other.git"
    subprocess.run(["git", "init", "-q", "--bare", str(other)], check=True)
    asked = home.do(lambda client: client.push(str(other), "main"))
    assert isinstance(asked, Asked)
    assert git(other, "for-each-ref") == ""
    home.do(lambda client: client.decide(asked.request, asked.digest, answer="allow", note=""))
    assert git(other, "log", "--format=%s", "main").split() == ["first"]


def test_a_push_that_fails_says_so(home: Home, tmp_path: Path) -> None:
    home.write("a.txt", b"1\n")
    home.do(lambda client: client.checkpoint("first"))
    asked = home.do(lambda client: client.push(str(tmp_path / "nowhere.git"), "main"))
    assert isinstance(asked, Asked)
    done = changed(
        home.do(lambda client: client.decide(asked.request, asked.digest, answer="allow", note=""))
    )
    assert len(done.warnings) == 1


def test_a_push_with_a_secret_is_refused_with_the_place(home: Home, tmp_path: Path) -> None:
    """C-29."""
    home.write("deploy.txt", b"key = AKIA" + b"QYLPMN5HFIQR7XYZ\n")
    home.do(lambda client: client.checkpoint("first"))
    with pytest.raises(Rejected, match=r"deploy\.txt:1"):
        home.do(lambda client: client.push(str(tmp_path / "other.git"), "main"))
