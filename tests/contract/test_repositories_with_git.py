"""A person's own git finds in the workspace an ordinary repository, and what they do with it is respected."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choiros.kernel.errors import Rejected
from choiros.testing.repository_contract import Shelf, Writer
from tests.contract.git_workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


pytestmark = pytest.mark.anyio


async def test_status_is_clean_and_the_log_shows_message_and_number(workspace: Workspace) -> None:
    workspace.write("notes/today.md", "text\n")
    workspace.write("dos.txt", "line\r\n")
    workspace.write("run.sh", "#!/bin/sh\n", 0o755)
    workspace.write("naïve café/\N{GRINNING FACE}", "x")
    workspace.write(".gitignore", "*.log\n")
    (workspace.folder / "link").symlink_to("notes")
    await workspace.checkpoint("Before the great change\n\nIt has a body.", seq=42)
    assert workspace.git("status", "--porcelain") == ""
    assert workspace.git("log", "--format=%an|%ae|%s|%b|%at") == (
        "Ada|ada@example.org|Before the great change|It has a body.\n\nChoir-Seq: 42\n|1700000000"
    )
    assert workspace.git("log", "--format=%(trailers:key=Choir-Seq,valueonly)") == "42"
    assert workspace.git("rev-parse", "--show-toplevel") == str(workspace.folder)
    workspace.assert_sound()


async def test_status_shows_what_changed_since_the_checkpoint(workspace: Workspace) -> None:
    for name in ("changed", "removed", "same"):
        workspace.write(name, "1")
    await workspace.checkpoint()
    workspace.write("changed", "2")
    workspace.write("new", "1")
    (workspace.folder / "removed").unlink()
    assert workspace.git("status", "--porcelain").split("\n") == ["M changed", " D removed", "?? new"]
    await workspace.checkpoint()
    assert workspace.git("status", "--porcelain") == ""


async def test_what_git_knows_of_unchanged_files_is_kept(workspace: Workspace) -> None:
    for name in ("changed", "same"):
        workspace.write(name, "1")
    await workspace.checkpoint()
    workspace.git("status")  # looks at the files and remembers their times
    workspace.write("changed", "2")
    await workspace.checkpoint()
    times = [line for line in workspace.git("ls-files", "--debug").split("\n") if "mtime" in line]
    assert [": 0:0" in line for line in times] == [True, False]


async def test_a_file_written_right_after_git_has_looked_is_not_taken_for_clean(workspace: Workspace) -> None:
    """Git trusts a time only if it is older than the index, so a rewritten index must not look younger."""
    workspace.write("a", "1")
    await workspace.checkpoint()
    workspace.git("config", "core.trustctime", "false")  # a time that this test cannot set
    index, file = workspace.git_dir / "index", workspace.folder / "a"
    os.utime(file, (1_600_000_000, 1_600_000_000))
    workspace.git("status")
    file.write_text("2")  # as long as before, and within the same tick of the clock
    for path in (index, file):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    await workspace.repository.commit(
        {"a": await workspace.shelf.file(b"1")}, workspace.shelf, message="m", author="A", timestamp=0, seq=9
    )
    assert workspace.git("status", "--porcelain") == "M a"


def looks(top: Path) -> dict[Path, tuple[int, ...]]:
    """Return what changes when something is written; the pipe below shows that nothing is read either."""
    found = {path: path.lstat() for path in (top, *top.rglob("*"))}
    return {
        path: (look.st_mode, look.st_ino, look.st_size, look.st_mtime_ns, look.st_ctime_ns)
        for path, look in found.items()
    }


@pytest.mark.parametrize("kind", ["folder", "file", "link", "pipe"])
async def test_what_the_person_has_at_dot_git_is_neither_touched_nor_read(
    workspace: Workspace, kind: str
) -> None:
    dot_git = workspace.folder / ".git"
    match kind:
        case "folder":
            workspace.git("init", "-q")
            (dot_git / "config").write_text("this is no configuration")
        case "file":
            dot_git.write_text("gitdir: /nonexistent\n")
        case "link":
            dot_git.symlink_to("/nonexistent")
        case _:
            os.mkfifo(dot_git)
    before = looks(dot_git)
    workspace.write("a", "1")
    made = await workspace.checkpoint()
    assert looks(dot_git) == before
    assert [commit.id for commit in await workspace.repository.log()] == [made]


async def test_a_gitfile_that_a_person_took_away_stays_away(workspace: Workspace) -> None:
    await workspace.checkpoint()
    (workspace.folder / ".git").unlink()
    await workspace.checkpoint()
    assert not (workspace.folder / ".git").exists()


async def test_what_was_staged_is_kept_before_the_index_is_written(workspace: Workspace) -> None:
    workspace.write("a", "1")
    head = await workspace.checkpoint()
    workspace.write("a", "staged")
    workspace.write("new", "staged too")
    workspace.git("add", ".")
    workspace.write("intended", "not yet")
    workspace.git("add", "-N", "intended")
    workspace.write("a", "2")
    await workspace.checkpoint(seq=7)
    assert workspace.git("show", "refs/choir/index/7:a") == "staged"
    assert workspace.git("show", "refs/choir/index/7:new") == "staged too"
    assert workspace.git("rev-parse", "refs/choir/index/7^") == head
    workspace.assert_sound()


async def test_without_anything_staged_no_reference_is_made(workspace: Workspace) -> None:
    for number in range(3):
        workspace.write("a", str(number))
        await workspace.checkpoint()
        workspace.git("status")
    assert workspace.git("for-each-ref", "refs/choir") == ""


async def test_what_was_staged_before_the_first_checkpoint_is_kept(workspace: Workspace) -> None:
    await workspace.checkpoint()
    workspace.git("update-ref", "-d", "HEAD")
    workspace.write("a", "staged")
    workspace.git("add", "a")
    await workspace.checkpoint(seq=3)
    assert workspace.git("show", "refs/choir/index/3:a") == "staged"


async def test_a_number_that_is_used_twice_loses_nothing(workspace: Workspace) -> None:
    await workspace.checkpoint()
    for text in ("first", "second"):
        workspace.write("a", text)
        workspace.git("add", "a")
        (workspace.folder / "a").unlink()
        await workspace.checkpoint(seq=5)
    assert workspace.git("show", "refs/choir/index/5:a") == "first"
    assert workspace.git("show", "refs/choir/index/5.2:a") == "second"


async def test_an_unfinished_merge_is_kept_with_all_its_sides(workspace: Workspace) -> None:
    workspace.write("a", "base")
    await workspace.checkpoint()
    workspace.git("checkout", "-q", "-b", "theirs")
    workspace.write("a", "theirs")
    workspace.git("commit", "-qam", "theirs")
    workspace.git("checkout", "-q", "main")
    workspace.write("a", "ours")
    workspace.git("commit", "-qam", "ours")
    workspace.git("merge", "-q", "theirs", check=False)
    await workspace.checkpoint(seq=8)
    sides = [workspace.git("show", f"refs/choir/index/8:a{side}") for side in ("~base", "", "~theirs")]
    assert sides == ["base", "ours", "theirs"]
    workspace.assert_sound()


async def test_an_index_that_cannot_be_read_is_kept_byte_for_byte(workspace: Workspace) -> None:
    workspace.write("a", "1")
    await workspace.checkpoint()
    (workspace.git_dir / "index").write_text("no index")
    await workspace.checkpoint(seq=4)
    assert workspace.git("show", "refs/choir/index/4:index") == "no index"
    workspace.assert_sound()


async def test_a_backup_keeps_what_is_staged(workspace: Workspace) -> None:
    workspace.write("a", "1")
    await workspace.checkpoint()
    workspace.write("a", "staged")
    workspace.git("add", "a")
    assert await workspace.repository.backup("now") == [
        "refs/choir/backup/now/head",
        "refs/choir/backup/now/index",
    ]
    assert workspace.git("show", "refs/choir/backup/now/index:a") == "staged"
    assert workspace.git("status", "--porcelain") == "M  a"
    for name in ("", "a b", "../up", "x.lock", "a\nb"):
        with pytest.raises(Rejected):
            await workspace.repository.backup(name)


async def test_a_commit_by_hand_is_followed_and_has_no_number(workspace: Workspace) -> None:
    workspace.write("a", "1")
    await workspace.checkpoint("By us")
    workspace.write("a", "2")
    workspace.git("commit", "-qam", "By hand\n\nChoir-Seq: 1")
    by_hand = workspace.git("rev-parse", "HEAD")
    workspace.write("a", "3")
    await workspace.checkpoint("By us again")
    log = await workspace.repository.log()
    assert [(commit.message, commit.seq) for commit in log] == [
        ("By us again", 2),
        ("By hand\n\nChoir-Seq: 1", None),
        ("By us", 1),
    ]
    assert log[0].parents == (by_hand,)
    workspace.assert_sound()


async def test_a_commit_of_ours_that_was_amended_is_no_longer_ours(workspace: Workspace) -> None:
    workspace.write("a", "1")
    await workspace.checkpoint()
    workspace.write("b", "1")
    workspace.git("add", "b")
    workspace.git("commit", "-q", "--amend", "--no-edit")
    head = await workspace.repository.head()
    assert head
    assert head.seq is None


async def test_the_commit_goes_to_what_head_points_to(workspace: Workspace) -> None:
    workspace.write("a", "1")
    first = await workspace.checkpoint()
    workspace.git("checkout", "-q", "-b", "feature/x")
    second = await workspace.checkpoint()
    workspace.git("checkout", "-q", "--detach")
    third = await workspace.checkpoint()
    workspace.git("symbolic-ref", "HEAD", "refs/heads/unborn/branch")
    fourth = await workspace.checkpoint()
    assert workspace.git("rev-parse", "main", "feature/x", "unborn/branch").split() == [first, second, fourth]
    assert workspace.git("rev-parse", f"{third}^", f"{second}^").split() == [second, first]
    assert workspace.git("log", "--format=%H", "unborn/branch") == fourth
    workspace.assert_sound()


async def test_branches_tags_and_full_references_name_commits(workspace: Workspace) -> None:
    workspace.write("a", "1")
    made = await workspace.checkpoint()
    workspace.git("tag", "light")
    workspace.git("tag", "-a", "-m", "m", "heavy")
    workspace.git("branch", "deadbeef")
    for name in ("main", "light", "heavy", "deadbeef", "refs/heads/main", made, made[:7]):
        assert list(await workspace.repository.files(name, Shelf())) == ["a"]
    for name in (workspace.git("rev-parse", "HEAD^{tree}"), "refs/heads", "refs/heads/none"):
        with pytest.raises(Rejected, match="No commit is called"):
            await workspace.repository.files(name, Shelf())


async def test_a_head_that_was_moved_without_the_index_loses_nothing(workspace: Workspace) -> None:
    workspace.write("a", "1")
    first = await workspace.checkpoint()
    workspace.write("b", "2")
    await workspace.checkpoint()
    workspace.git("update-ref", "HEAD", first)
    (workspace.folder / "b").unlink()
    await workspace.checkpoint(seq=9)
    assert workspace.git("show", "refs/choir/index/9:b") == "2"
    workspace.assert_sound()


async def test_content_that_git_has_thrown_away_is_brought_again(workspace: Workspace) -> None:
    workspace.write("kept", "1")
    first = await workspace.checkpoint()
    workspace.write("folder/content", "2")
    await workspace.checkpoint()
    workspace.git("update-ref", "HEAD", first)
    workspace.git("read-tree", first)
    workspace.git("reflog", "expire", "--expire=now", "--all")
    workspace.git("gc", "-q", "--prune=now")
    await workspace.checkpoint()
    assert workspace.git("show", "HEAD:folder/content") == "2"
    workspace.assert_sound()


async def test_packed_references_and_objects_are_understood(workspace: Workspace) -> None:
    workspace.write("a", "1")
    first = await workspace.checkpoint()
    workspace.git("gc", "-q")
    workspace.write("a", "2")
    await workspace.checkpoint()
    assert [commit.id for commit in await workspace.repository.log()][1] == first
    workspace.assert_sound()


async def test_a_folder_that_was_deleted_is_made_anew(workspace: Workspace) -> None:
    workspace.write("a", "1")
    made = await workspace.checkpoint(seq=1)
    shutil.rmtree(workspace.git_dir)
    assert await workspace.repository.log() == []
    assert await workspace.checkpoint(seq=1) == made
    workspace.assert_sound()


names = st.text(st.sampled_from("ab.-/0 é\N{GRINNING FACE}"), min_size=1, max_size=8)


def possible(paths: set[str]) -> list[str]:
    """Return the names that a folder can hold side by side."""
    plain = sorted(path for path in paths if not {"", ".", ".."} & set(path.split("/")))
    return [path for path in plain if not any(other.startswith(f"{path}/") for other in plain)]


def tree_by_git(workspace: Workspace, texts: dict[str, str]) -> str:
    """Return the tree that git itself makes of these files, through an index of its own."""
    index = workspace.git_dir / "model"
    index.unlink(missing_ok=True)
    oids = {text: workspace.git("hash-object", "-w", "--stdin", text=text) for text in set(texts.values())}
    listing = "".join(f"100644 {oids[text]}\t{path}\0" for path, text in texts.items())
    workspace.git("update-index", "-z", "--index-info", text=listing, index=str(index))
    return workspace.git("write-tree", index=str(index))


@settings(max_examples=20)
@given(several=st.lists(st.sets(names, max_size=12).map(possible), min_size=1, max_size=4))
def test_our_trees_are_those_that_git_writes(
    several: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The order of names, folders that come and go, files that become folders."""
    workspace = Workspace(tmp_path_factory.mktemp("trees"))
    writer = Writer(workspace.repository, workspace.shelf)
    for number, paths in enumerate(several):
        texts = {path: str(number) if index % 2 else "same" for index, path in enumerate(paths)}
        made = asyncio.run(writer.commit(texts))
        assert workspace.git("rev-parse", f"{made.id}^{{tree}}") == tree_by_git(workspace, texts)
        workspace.assert_sound()
