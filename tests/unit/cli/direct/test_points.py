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
    """C-76."""
    home.write("a.txt", b"1\n")
    seq = changed(home.do(lambda client: client.checkpoint("first"))).seqs[0]
    assert git(home.folder, "log", "--format=%s").split() == ["first"]
    assert f"Choir-Seq: {seq}" in git(home.folder, "log", "-1", "--format=%B")
    assert git(home.folder, "status", "--porcelain") == ""
    line = home.do(lambda client: client.checkpoints(5))[0]
    assert (line.seq, line.message, line.error) == (seq, "first", None)
    assert line.commit is not None


def test_secrets_and_what_can_be_made_again_stay_out_of_commits(home: Home) -> None:
    """C-28."""
    for path in (".env", "server.log", "keys/id_ed25519", "data/app.sqlite", "kept.txt"):
        home.write(path, b"1")
    (home.folder / "web/node_modules/x").mkdir(parents=True)
    (home.folder / "web/node_modules/x/index.js").write_bytes(b"1")
    home.do(lambda client: client.checkpoint("all"))
    assert git(home.folder, "ls-tree", "-r", "--name-only", "HEAD").split() == ["kept.txt"]
    assert ".env" in home.paths()


def test_the_persons_own_git_neither_adds_nor_cleans_away_what_commits_leave_out(home: Home) -> None:
    """C-28: what git takes for untracked, 'git add -A' would commit and 'git clean' delete."""
    for path in (".env", "data/app.sqlite", "kept.txt"):
        home.write(path, b"1")
    home.do(lambda client: client.checkpoint("all"))
    (home.folder / "new.txt").write_bytes(b"1")
    assert git(home.folder, "status", "--porcelain", "-uall") == "?? new.txt\n"
    git(home.folder, "clean", "-fdq")
    assert (home.folder / ".env").exists()
    assert (home.folder / "data/app.sqlite").exists()


def test_the_ignore_file_says_what_commits_leave_out_and_take_back(home: Home) -> None:
    """C-28: also what was committed before the rule came."""
    for path in ("later.txt", "server.log", "kept.txt"):
        home.write(path, b"1")
    home.do(lambda client: client.checkpoint("before"))
    home.write(".choirignore", b"later.txt\n!server.log\n")
    home.do(lambda client: client.checkpoint("after"))
    tree = ("ls-tree", "-r", "--name-only")
    assert git(home.folder, *tree, "HEAD~1").split() == ["kept.txt", "later.txt"]
    assert git(home.folder, *tree, "HEAD").split() == [".choirignore", "kept.txt", "server.log"]
    assert "later.txt" in home.paths()


def test_the_state_tells_what_changed_since_the_checkpoint(home: Home) -> None:
    """C-76."""
    home.write("a.txt", b"1\n")
    home.do(lambda client: client.checkpoint("first"))
    assert home.do(lambda client: client.git_state()).changes == []
    (home.folder / "a.txt").write_bytes(b"by hand\n")
    state = home.do(lambda client: client.git_state())
    assert [(one.path, one.change) for one in state.changes] == [("a.txt", "changed")]
    assert state.last is not None
    assert state.head == state.last.commit


def test_a_preview_of_a_restore_lists_exactly_what_it_would_change_and_changes_nothing(home: Home) -> None:
    """C-27."""
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


def test_a_restore_that_was_broken_off_after_its_backup_is_carried_out_the_next_time(home: Home) -> None:
    """C-08: both backups stay."""
    home.write("a.txt", b"1\n")
    point = changed(home.do(lambda client: client.checkpoint("first"))).seqs[0]
    home.write("a.txt", b"2\n")
    event = home.do(lambda client: client.status()).events
    git(home.folder, "update-ref", f"refs/choir/backup/before-{event}/head", "HEAD")
    home.do(lambda client: client.restore(str(point)))
    assert (home.folder / "a.txt").read_bytes() == b"1\n"
    kept = git(home.folder, "for-each-ref", "--format=%(refname)", "refs/choir/backup").split()
    assert f"refs/choir/backup/before-{event}/head" in kept
    assert f"refs/choir/backup/before-{event}.2/head" in kept


def test_a_restore_whose_checkpoint_got_no_commit_says_so(home: Home) -> None:
    """C-27: the log has it all, but whoever looks for the commit must know."""
    home.write("a.txt", b"1\n")
    point = changed(home.do(lambda client: client.checkpoint("first"))).seqs[0]
    home.write("a.txt", b"2\n")
    lock = Path(git(home.folder, "rev-parse", "--git-dir").strip()) / "index.lock"
    lock.touch()
    restored = changed(home.do(lambda client: client.restore(str(point))))
    assert any("Another program is changing the git repository" in one for one in restored.warnings)
    assert home.read("a.txt") == b"1\n"


def test_a_restore_by_commit_keeps_the_permissions_that_git_does_not_know(home: Home) -> None:
    home.write("a.txt", b"1\n")
    home.write("run.sh", b"1\n")
    (home.folder / "a.txt").chmod(0o600)
    home.do(lambda client: client.checkpoint("first"))
    commit = git(home.folder, "rev-parse", "HEAD").strip()
    assert home.do(lambda client: client.preview_restore(commit)).changes == []
    home.write("a.txt", b"2\n")
    (home.folder / "a.txt").chmod(0o600)
    (home.folder / "run.sh").chmod(0o755)
    home.do(lambda client: client.restore(commit))
    assert (home.folder / "a.txt").read_bytes() == b"1\n"
    assert (home.folder / "a.txt").stat().st_mode & 0o777 == 0o600
    assert (home.folder / "run.sh").stat().st_mode & 0o777 == 0o644


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


def test_a_secret_on_a_merged_branch_is_found_though_newer_commits_have_arrived(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-29."""
    other = tmp_path / "other.git"
    subprocess.run(["git", "init", "-q", "--bare", str(other)], check=True)
    home.write("a.txt", b"1\n")
    home.do(lambda client: client.checkpoint("first"))
    git(home.folder, "branch", "side")
    tree = tmp_path / "tree"
    git(home.folder, "worktree", "add", str(tree), "side")
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
    for content in ("key = AKIA" + "QYLPMN5HFIQR7XYZ\n", "clean\n"):
        (tree / "deploy.txt").write_text(content)
        git(tree, "add", ".")
        git(tree, *person, "commit", "-qm", "side")
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    asked = home.do(lambda client: client.push(str(other), "main"))
    assert isinstance(asked, Asked)
    home.do(lambda client: client.decide(asked.request, asked.digest, answer="allow", note=""))
    git(home.folder, *person, "merge", "-q", "--no-ff", "-m", "merged", "side")
    with pytest.raises(Rejected, match=r"deploy\.txt:1"):
        home.do(lambda client: client.push(str(other), "main"))
