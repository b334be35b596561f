"""What a repository does when it is held, damaged or taken away: it says so, and leaves nothing half done."""

import asyncio
import fcntl
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choiros.engines.repository.libgit import LibgitRepository
from choiros.engines.repository.libgit.store import Store
from choiros.engines.repository.libgit.wording import message_and_seq, message_with_seq, signed
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Corrupt, Unavailable
from choiros.testing.repository_contract import Shelf
from tests.contract.git_workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def everything(workspace: Workspace) -> tuple[str, bytes]:
    """Return the references and the index."""
    return workspace.git("for-each-ref"), (workspace.git_dir / "index").read_bytes()


@pytest.mark.parametrize("lock", ["index.lock", "refs/heads/main.lock"])
async def test_a_lock_of_another_program_is_waited_for_by_the_caller(workspace: Workspace, lock: str) -> None:
    workspace.write("a", "1")
    await workspace.checkpoint()
    before = everything(workspace)
    (workspace.git_dir / lock).touch()
    workspace.write("a", "2")
    with pytest.raises(Unavailable) as busy:
        await workspace.checkpoint()
    assert busy.value.code == "repository.busy"
    assert "lock" in busy.value.fix
    assert everything(workspace) == before
    (workspace.git_dir / lock).unlink()
    await workspace.checkpoint()
    workspace.assert_sound()


async def test_a_lock_of_ours_that_a_crash_left_is_taken_away(workspace: Workspace) -> None:
    await workspace.checkpoint()
    (workspace.git_dir / "index.lock").write_text("choir\n")
    await workspace.checkpoint()
    workspace.assert_sound()


async def test_the_lock_of_a_reference_that_the_same_crash_left_is_taken_away(workspace: Workspace) -> None:
    """C-18: after a kill the next checkpoint is made, and nobody has to remove files by hand."""
    await workspace.checkpoint()
    (workspace.git_dir / "index.lock").write_text("choir\n")
    (workspace.git_dir / "refs/heads/main.lock").touch()
    await workspace.checkpoint()
    workspace.assert_sound()


async def test_the_lock_of_a_reference_that_is_older_than_the_crash_is_somebody_elses(
    workspace: Workspace,
) -> None:
    await workspace.checkpoint()
    (workspace.git_dir / "index.lock").write_text("choir\n")
    lock = workspace.git_dir / "refs/heads/main.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    with pytest.raises(Unavailable) as busy:
        await workspace.checkpoint()
    assert (busy.value.code, lock.exists()) == ("repository.busy", True)


async def test_our_lock_has_its_name_only_when_it_can_be_recognised(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await workspace.checkpoint()
    found: list[bytes] = []
    link = Path.hardlink_to

    def linked(path: Path, target: Path) -> None:
        assert not path.exists()
        found.append(target.read_bytes())
        link(path, target)

    monkeypatch.setattr(Path, "hardlink_to", linked)
    await workspace.checkpoint()
    assert found == [b"choir\n"]


async def test_a_lock_of_another_choir_that_is_alive_is_respected(workspace: Workspace) -> None:
    await workspace.checkpoint()
    lock = workspace.git_dir / "index.lock"
    lock.write_text("choir\n")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Unavailable):
            await workspace.checkpoint()
    assert lock.exists()


async def test_a_half_written_object_of_a_crash_is_removed_and_a_young_one_left_alone(
    workspace: Workspace,
) -> None:
    await workspace.checkpoint()
    old, young = (workspace.git_dir / "objects" / f"tmp_object_git2_{name}" for name in ("old", "young"))
    for path in (old, young):
        path.write_bytes(b"half an object")
    os.utime(old, (0, 0))
    os.utime(young, (2_000_000_000, 2_000_000_000))
    await workspace.checkpoint()
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.parametrize("harm", [b"", b"half an object"])
async def test_objects_that_a_power_cut_left_without_content_are_written_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, harm: bytes
) -> None:
    """C-18: what has a name is not taken for written."""
    workspace.write("a", "1")
    await workspace.checkpoint()
    before = set((workspace.git_dir / "objects").glob("??/*"))
    workspace.write("d/b", "2")

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_sync", cut)
        with pytest.raises(KeyboardInterrupt):
            await workspace.checkpoint()
    left = set((workspace.git_dir / "objects").glob("??/*")) - before
    assert len(left) >= 3
    for path in left:
        path.chmod(0o600)
        path.write_bytes(harm)
    workspace.reopen()
    await workspace.checkpoint()
    workspace.assert_sound()
    assert workspace.git("show", "HEAD:d/b") == "2"


async def test_a_first_reference_that_a_power_cut_left_empty_is_written_again(workspace: Workspace) -> None:
    """C-18."""
    workspace.write("a", "1")
    await workspace.checkpoint()
    (workspace.git_dir / "choir/writing").touch()
    (workspace.git_dir / "refs/heads/main").write_bytes(b"")
    workspace.reopen()
    await workspace.checkpoint()
    workspace.assert_sound()


async def test_a_new_repository_is_on_the_disk_before_it_has_its_name(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-18: a power cut leaves no repository without its HEAD."""
    done: list[str] = []
    sync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        sync(descriptor)
        done.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def renamed(path: Path, target: Path) -> Path:
        done.append("renamed")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    await workspace.checkpoint()
    before, after = done[: done.index("renamed")], done[done.index("renamed") :]
    assert {"HEAD", "config", "exclude", "info", ".git"} <= set(before)
    assert workspace.git_dir.parent.name in after


async def test_git_waits_while_we_commit(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.write("a", "1")
    await workspace.checkpoint()
    said: list[str] = []
    advance = Store._advance

    def with_a_person(store: Store, *arguments: object, **named: object) -> None:
        said.append(workspace.git("add", "-A", check=False))
        assert (workspace.git_dir / "index.lock").exists()
        advance(store, *arguments, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Store, "_advance", with_a_person)
    workspace.write("b", "1")
    await workspace.checkpoint()
    assert said == [""]
    workspace.assert_sound()


async def test_a_head_that_moves_during_the_commit_wins(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await workspace.checkpoint()
    theirs = workspace.git("commit-tree", "-p", "HEAD", "-m", "theirs", "HEAD^{tree}")
    advance = Store._advance

    def after_a_person(store: Store, *arguments: object, **named: object) -> None:
        workspace.git("update-ref", "HEAD", theirs)
        advance(store, *arguments, **named)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_advance", after_a_person)
        with pytest.raises(Unavailable) as busy:
            await workspace.checkpoint()
    assert busy.value.code == "repository.busy"
    assert workspace.git("rev-parse", "HEAD") == theirs
    await workspace.checkpoint()
    workspace.assert_sound()


def no_head(git_dir: Path) -> None:
    (git_dir / "HEAD").unlink()


def empty_head(git_dir: Path) -> None:
    (git_dir / "HEAD").write_text("")


def circular_head(git_dir: Path) -> None:
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
    (git_dir / "refs/heads/main").write_text("ref: refs/heads/main\n")


def head_to_nothing(git_dir: Path) -> None:
    (git_dir / "refs/heads/main").write_text("1" * 40 + "\n")


def lost_head(git_dir: Path) -> None:
    head = (git_dir / "refs/heads/main").read_text().strip()
    (git_dir / "objects" / head[:2] / head[2:]).unlink()


def broken_configuration(git_dir: Path) -> None:
    (git_dir / "config").write_text("[core\n")


def unknown_format(git_dir: Path) -> None:
    (git_dir / "config").write_text("[core]\n\trepositoryformatversion = 7\n")


def no_objects(git_dir: Path) -> None:
    for path in (git_dir / "objects").glob("??/*"):
        path.unlink()


def zeroed_objects(git_dir: Path) -> None:
    """What a power cut leaves of files that were not waited for."""
    for path in (git_dir / "objects").glob("??/*"):
        path.chmod(0o600)
        path.write_bytes(b"")


@pytest.mark.parametrize(
    "harm",
    [
        no_head,
        empty_head,
        circular_head,
        head_to_nothing,
        lost_head,
        broken_configuration,
        unknown_format,
        no_objects,
        zeroed_objects,
    ],
)
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_damaged_repository_is_named_and_left_as_it_is(
    workspace: Workspace, harm: Callable[[Path], None], *, restarted: bool
) -> None:
    workspace.write("a", "1")
    await workspace.checkpoint()
    harm(workspace.git_dir)
    if restarted:
        workspace.reopen()
    for call in (workspace.checkpoint(), workspace.repository.log()):
        with pytest.raises(Corrupt) as failed:
            await call
        assert failed.value.code == "repository.damaged"
        assert str(workspace.git_dir) in failed.value.fix


@pytest.mark.parametrize("harm", [no_objects, zeroed_objects])
async def test_files_that_are_damaged_are_not_given_out(
    workspace: Workspace, harm: Callable[[Path], None]
) -> None:
    workspace.write("a", "1")
    await workspace.checkpoint()
    harm(workspace.git_dir)
    with pytest.raises(Corrupt):
        await workspace.repository.files("main", Shelf())


async def test_a_repository_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "in-the-way").touch()
    repository = LibgitRepository(tmp_path / "in-the-way/git", InlineWorker())
    with pytest.raises(Unavailable) as failed:
        await repository.commit({}, Shelf(), message="m", author="A", timestamp=0, seq=1)
    assert failed.value.code == "repository.unavailable"


async def test_a_folder_that_is_no_repository_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "git").mkdir()
    (tmp_path / "git/letter.txt").touch()
    repository = LibgitRepository(tmp_path / "git", InlineWorker())
    with pytest.raises(Corrupt):
        await repository.commit({}, Shelf(), message="m", author="A", timestamp=0, seq=1)
    assert [path.name for path in (tmp_path / "git").iterdir()] == ["letter.txt"]


async def test_what_a_crash_left_while_it_was_made_is_cleared(workspace: Workspace) -> None:
    left = workspace.git_dir.with_name("workspace.new-abc")
    (left / "objects").mkdir(parents=True)
    workspace.git_dir.mkdir()  # made by an installer, for instance
    await workspace.checkpoint()
    assert not left.exists()
    assert workspace.git_dir.stat().st_mode & 0o777 == 0o700


class Counting(Shelf):
    """A store that tells what was read of it."""

    def __init__(self) -> None:
        super().__init__()
        self.read_digests: list[str] = []

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        self.read_digests.append(digest)
        async for chunk in super().read(digest):
            yield chunk


async def test_unchanged_content_is_not_read_again_not_even_after_a_restart(workspace: Workspace) -> None:
    workspace.shelf = counting = Counting()
    for number in range(50):
        workspace.write(f"folder/{number}", str(number))
    await workspace.checkpoint()
    assert len(counting.read_digests) == 50
    workspace.reopen()
    workspace.write("folder/1", "changed")
    await workspace.checkpoint()
    assert len(counting.read_digests) == 51
    workspace.assert_sound()


class Receiving(Shelf):
    """A store that counts what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0

    async def put(self, chunks: AsyncIterator[bytes] | bytes) -> str:
        self.puts += 1
        return await super().put(chunks)


async def test_what_the_next_commit_holds_as_well_is_not_read_again(workspace: Workspace) -> None:
    for number in range(50):
        workspace.write(f"folder/{number}", str(number))
    first = await workspace.checkpoint()
    workspace.write("folder/1", "changed")
    workspace.write("folder/2", "2", 0o755)
    second = await workspace.checkpoint()
    receiving = Receiving()
    before = await workspace.repository.files(first, receiving)
    assert receiving.puts == 50
    after = await workspace.repository.files(second, receiving)
    assert receiving.puts == 51
    assert {path for path, entry in after.items() if before[path] != entry} == {"folder/1", "folder/2"}
    assert after["folder/2"].mode == 0o755
    other = Receiving()
    assert await workspace.repository.files(second, other) == after
    assert other.puts == 50


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "only the beginning": lambda whole: whole[:13],
    "zeros": lambda whole: bytes(len(whole)),
    "cut": lambda whole: whole[:-1],
    "a wrong id": lambda whole: whole[:70] + bytes(9) + whole[79:],
    "twice": lambda whole: whole + whole,
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_memory_of_what_git_holds_costs_nothing_but_time(
    workspace: Workspace, damage: str
) -> None:
    for number in range(50):
        workspace.write(f"folder/{number}", str(number))
    await workspace.checkpoint()
    memory = workspace.git_dir / "choir/oids"
    memory.write_bytes(DAMAGES[damage](memory.read_bytes()))
    workspace.reopen()
    workspace.write("folder/new", "new")
    await workspace.checkpoint()
    workspace.assert_sound()


PATHS = ["a", "b", "c/d", "c/e/f", "g"]
STEPS = ["build", "keep_index", "prepare", "_sync", "_advance", None]


@settings(max_examples=25)
@given(
    plan=st.lists(
        st.tuples(st.sets(st.sampled_from(["a", "b", "c/d", "c/e/f", "g"])), st.sampled_from(STEPS)),
        max_size=6,
    )
)
def test_after_any_failure_the_next_commit_is_whole(
    plan: list[tuple[set[str], str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A failure leaves head and index as they were; what follows is exactly what was asked for."""
    workspace = Workspace(tmp_path_factory.mktemp("failures"))
    asyncio.run(workspace.checkpoint())
    for number, (paths, step) in enumerate(plan):
        files = {path: asyncio.run(workspace.shelf.file(f"{path} {number}".encode())) for path in paths}
        before = everything(workspace)
        commit = workspace.repository.commit(
            files, workspace.shelf, message="m", author="A", timestamp=number, seq=number
        )
        if step is None or step == "keep_index":  # nothing is staged, so there is nothing to keep
            made = asyncio.run(commit)
            assert workspace.git("ls-tree", "-r", "--name-only", made.id).split() == sorted(paths)
            workspace.assert_sound()
            continue
        with pytest.MonkeyPatch.context() as patch:
            fail_at(patch, workspace, step)
            with pytest.raises(Unavailable, match="planted"):
                asyncio.run(commit)
        assert everything(workspace) == before


def fail_at(patch: pytest.MonkeyPatch, workspace: Workspace, step: str) -> None:
    store = workspace.repository._git
    assert store
    owner = {"build": store._trees, "prepare": store.index}.get(step, store)
    real = getattr(owner, step)

    def failing(*arguments: object, **named: object) -> None:
        if step != "_advance":
            real(*arguments, **named)
        raise Planted("planted")

    patch.setattr(owner, step, failing)


class Planted(OSError):
    pass


async def test_the_module_is_imported_without_pygit2() -> None:
    code = "import sys, choiros.engines.repository.libgit; print('pygit2' in sys.modules)"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=subprocess.PIPE)
    assert (await process.communicate())[0] == b"False\n"


@pytest.mark.parametrize(
    ("author", "line"),
    [
        ("Ada <ada@example.org>", "Ada <ada@example.org>"),
        ("Ada", "Ada <>"),
        ("", "unknown <>"),
        ("<x@y>", "unknown <x@y>"),
        ("Ada\ncommitter Eve <e@e> 0 +0000\n\nforged", "Ada committer Eve e@e 0 +0000 forged <>"),
        ("Ada <a@b\n>", "Ada a@b <>"),
        ("A\0da", "Ada <>"),
        ("\ud800", "? <>"),
    ],
)
def test_an_author_stays_on_their_line(author: str, line: str) -> None:
    assert signed(author) == line


@given(st.text(max_size=80), st.integers(0, 10**9))
def test_a_message_and_its_number_come_back(message: str, seq: int) -> None:
    stored = message_with_seq(message, seq)
    plain = message.replace("\r\n", "\n").replace("\0", "").strip()
    assert message_and_seq(stored, "ChoirOS <choiros@localhost>") == (plain, seq)
    assert message_and_seq(stored, "Ada <ada@example.org>") == (stored.strip(), None)
