"""Nothing that lies in a repository, a workspace or a home is executed, and no hostile tree gets out."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from choiros.engines.repository.libgit import reading, trees
from choiros.kernel.errors import Rejected
from choiros.kernel.tree import Entry
from choiros.testing.repository_contract import Shelf
from tests.contract.git_workspace import ENVIRONMENT, Workspace

pytestmark = pytest.mark.anyio

HOOKS = [
    *(
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "post-index-change",
        "pre-push",
        "post-rewrite",
    ),
    *("reference-transaction", "pre-receive", "update", "post-receive", "post-update", "pre-auto-gc"),
    *("fsmonitor-watchman", "proc-receive", "sendemail-validate"),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Return the file that appears when any of the planted programs has run."""
    return tmp_path / "executed"


@pytest.fixture
def program(tmp_path: Path, marker: Path) -> Path:
    script = tmp_path / "program"
    script.write_text(f"#!/bin/sh\ntouch {marker}\n")
    script.chmod(0o755)
    return script


@pytest.fixture
def home_configuration() -> Iterator[Path]:
    """Return the configuration of the person who runs the tests: one of the test's own (conftest.py)."""
    path = Path(os.environ["HOME"], ".gitconfig")
    yield path
    path.unlink(missing_ok=True)


def hostile_configuration(program: Path, elsewhere: Path) -> str:
    return f"""
[core]
\trepositoryformatversion = 0
\tbare = false
\tfsmonitor = {program}
\thooksPath = {program.parent}/hooks
\tsshCommand = {program}
\teditor = {program}
\tpager = {program}
\tworktree = /
\taskPass = {program}
\tattributesFile = {program.parent}/attributes
[filter "evil"]
\tclean = {program}
\tsmudge = {program}
\tprocess = {program}
\trequired = true
[diff]
\texternal = {program}
[gpg]
\tprogram = {program}
[commit]
\tgpgSign = true
[credential]
\thelper = {program}
[gc]
\tauto = 1
[receive]
\tprocReceiveRefs = refs
[remote "origin"]
\turl = ext::{program}
\treceivepack = {program}
\tuploadpack = {program}
[url "{elsewhere}"]
\tinsteadOf = /
\tinsteadOf = file:///
\tpushInsteadOf = /
[protocol]
\tallow = always
"""


def plant(git_dir: Path, program: Path) -> None:
    for folder in (git_dir / "hooks", program.parent / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            (folder / hook).unlink(missing_ok=True)
            (folder / hook).symlink_to(program)
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info/attributes").write_text("* filter=evil diff=evil\n")
    (program.parent / "attributes").write_text("* filter=evil\n")


def write(path: Path, text: str) -> None:
    path.write_text(text)


def has_run(marker: Path) -> bool:
    """Return whether a planted program has run since the last time."""
    found = marker.exists()
    marker.unlink(missing_ok=True)
    return found


async def test_nothing_that_is_planted_is_executed_or_believed(
    workspace: Workspace, tmp_path: Path, *, marker: Path, program: Path, home_configuration: Path
) -> None:
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    for repository in (place, elsewhere):
        workspace.git("init", "-q", "--bare", str(repository))
    workspace.write("a", "1")
    workspace.write(".gitattributes", "* filter=evil text eol=crlf ident\n")
    workspace.write("crlf", "$Id$ 1\r\n2\n")
    await workspace.checkpoint()

    configuration = hostile_configuration(program, elsewhere)
    write(home_configuration, configuration)
    write(workspace.git_dir / "config", configuration)
    for git_dir in (workspace.git_dir, place):
        plant(git_dir, program)
    # The planted programs do run where git itself is at work: else this test would prove nothing.
    workspace.git("--git-dir", str(workspace.git_dir), "--work-tree", str(tmp_path), "status", check=False)
    assert has_run(marker)

    workspace.reopen()
    workspace.write("b", "2")
    made = await workspace.checkpoint()
    await workspace.repository.backup("x")
    shelf = Shelf()
    files = await workspace.repository.files(made, shelf)
    assert shelf.contents[files["crlf"].content] == b"$Id$ 1\r\n2\n"
    assert await workspace.repository.push(str(place), "main") == made
    assert not has_run(marker)
    assert workspace.git("--git-dir", str(place), "-c", "core.fsmonitor=", "rev-parse", "main") == made
    assert workspace.git("--git-dir", str(elsewhere), "for-each-ref") == ""


@pytest.mark.parametrize(
    "name",
    [
        "git~1",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/config",
        ".git ./config",
        "a/.git./b",
        ".gIt",
        "\u200d.git",
    ],
)
async def test_a_name_that_some_system_takes_for_git_is_refused(workspace: Workspace, name: str) -> None:
    with pytest.raises(Rejected) as refused:
        await workspace.repository.commit(
            {name: await workspace.shelf.file(b"x")},
            workspace.shelf,
            message="m",
            author="A",
            timestamp=0,
            seq=1,
        )
    assert refused.value.code == "repository.path_refused"


async def test_a_link_called_gitmodules_is_refused(workspace: Workspace) -> None:
    link = Entry("link", 0o777, target="elsewhere")
    with pytest.raises(Rejected, match=r"\.gitmodules"):
        await workspace.repository.commit(
            {"a/.gitmodules": link}, workspace.shelf, message="m", author="A", timestamp=0, seq=1
        )


async def test_a_name_in_a_message_is_safe_to_show(workspace: Workspace) -> None:
    with pytest.raises(Rejected) as refused:
        await workspace.repository.commit(
            {".git/\x1b]0;title\x07\n": await workspace.shelf.file(b"x")},
            workspace.shelf,
            message="m",
            author="A",
            timestamp=0,
            seq=1,
        )
    assert refused.value.message.isprintable()


def tree(workspace: Workspace, *lines: tuple[str, str, str]) -> str:
    """Write a tree object without any of the checks that git makes."""
    raw = b"".join(
        f"{mode} {name}\0".encode("utf-8", "surrogateescape") + bytes.fromhex(oid)
        for mode, name, oid in lines
    )
    (workspace.git_dir / "raw").write_bytes(raw)
    return workspace.git("hash-object", "-t", "tree", "-w", "--literally", str(workspace.git_dir / "raw"))


def commit(workspace: Workspace, root: str) -> str:
    return workspace.git("commit-tree", "-m", "hostile", root)


async def prepared(workspace: Workspace) -> str:
    """Make the repository and return the id of a blob in it."""
    workspace.write("a", "x")
    await workspace.checkpoint()
    return workspace.git("rev-parse", "HEAD:a")


@pytest.mark.parametrize(
    "name",
    [
        "..",
        ".",
        ".git",
        ".GIT",
        ".g\u200cit",
        "a/b",
        "/etc",
        "../x",
        "a\udcff",
        ".choir",
        ".choir-tmp-1",
        "x" * 256,
    ],
)
@pytest.mark.parametrize("mode", ["100644", "120000", "40000"])
async def test_a_commit_with_a_hostile_name_is_refused(workspace: Workspace, name: str, mode: str) -> None:
    blob = await prepared(workspace)
    inside = tree(workspace, ("100644", "inside", blob)) if mode == "40000" else blob
    for root in (
        tree(workspace, (mode, name, inside)),
        tree(workspace, ("40000", "d", tree(workspace, (mode, name, inside)))),
    ):
        shelf = Shelf()
        with pytest.raises(Rejected) as refused:
            await workspace.repository.files(commit(workspace, root), shelf)
        assert refused.value.code in {"repository.path_refused"} | {
            f"path.{reason}" for reason in ("not_plain", "not_utf8", "reserved", "too_long", "absolute")
        }
        assert refused.value.fields["path"]
        assert shelf.contents == {}


async def test_a_name_that_is_both_a_file_and_a_folder_is_refused(workspace: Workspace) -> None:
    blob = await prepared(workspace)
    inside = tree(workspace, ("100644", "x", blob))
    for lines in (
        [("100644", "a", blob), ("40000", "a", inside)],
        [("120000", "a", blob), ("40000", "a", inside)],
        [("100644", "a", blob), ("100755", "a", blob)],
    ):
        with pytest.raises(Rejected, match="twice"):
            await workspace.repository.files(commit(workspace, tree(workspace, *lines)), Shelf())


async def test_submodules_are_left_out_and_named(workspace: Workspace) -> None:
    blob = await prepared(workspace)
    root = tree(
        workspace,
        ("100644", "a", blob),
        ("40000", "libs", tree(workspace, ("160000", "theirs", "1" * 40), ("100755", "ours", blob))),
    )
    made = commit(workspace, root)
    assert {
        path: oct(entry.mode) for path, entry in (await workspace.repository.files(made, Shelf())).items()
    } == {
        "a": "0o644",
        "libs/ours": "0o755",
    }
    left_out = await workspace.repository.left_out(made)
    assert list(left_out) == ["libs/theirs"]
    assert left_out["libs/theirs"].endswith(".")


async def test_few_objects_that_stand_for_a_huge_tree_are_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "FILES_MAX", 10_000)
    root = tree(workspace, ("100644", "f", await prepared(workspace)))
    for _ in range(10):
        root = tree(workspace, *(("40000", f"d{number}", root) for number in range(10)))
    with pytest.raises(Rejected) as refused:
        await workspace.repository.files(commit(workspace, root), Shelf())
    assert refused.value.code == "repository.too_large"


async def test_a_content_that_would_fill_the_memory_is_refused_unread(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CONTENT_BYTES_MAX", 1000)
    workspace.write("small", "x" * 1000)
    workspace.write("zeros", "\0" * 1001)
    await workspace.checkpoint()
    shelf = Shelf()
    with pytest.raises(Rejected) as refused:
        await workspace.repository.files("main", shelf)
    assert refused.value.code == "blob.too_large"


@pytest.mark.parametrize("target", [b"", b"a\0b", b"\xff", b"x" * 5000])
async def test_a_link_to_what_cannot_exist_is_refused(workspace: Workspace, target: bytes) -> None:
    await prepared(workspace)
    (workspace.git_dir / "raw").write_bytes(target)
    blob = workspace.git("hash-object", "-w", str(workspace.git_dir / "raw"))
    with pytest.raises(Rejected) as refused:
        await workspace.repository.files(commit(workspace, tree(workspace, ("120000", "l", blob))), Shelf())
    assert refused.value.code == "repository.path_refused"


async def test_no_variable_of_the_environment_leads_to_another_repository(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.git("init", "-q", "--bare", str(tmp_path / "other"))
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path / "other"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.worktree")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "/")
    workspace.write("a", "1")
    made = await workspace.checkpoint()
    assert "GIT_DIR" not in ENVIRONMENT
    assert workspace.git("rev-parse", "HEAD") == made
    assert not list((tmp_path / "other/objects").glob("??"))
