"""Every watcher keeps the promises of the port, and the real one notices what real programs do to files."""

import asyncio
import ctypes
import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choiros.engines.watch.inotify import InotifyWatcher, directories
from choiros.engines.watch.memory import MemoryWatcher
from choiros.kernel.errors import Unavailable
from choiros.kernel.watch import Watcher
from choiros.testing.watch_contract import PATIENCE_S, Listener, Touch, WatchContract, covers

pytestmark = pytest.mark.anyio


class TestMemoryWatcher(WatchContract):
    @pytest.fixture
    def watcher(self) -> MemoryWatcher:
        return MemoryWatcher()

    @pytest.fixture
    def touch(self, watcher: MemoryWatcher) -> Touch:
        return watcher.poke

    async def test_anything_hides_the_rest(self, watcher: MemoryWatcher) -> None:
        async with Listener(watcher) as listener:
            watcher.poke("a", "", "b")
            await listener.next()
            assert listener.items == [frozenset({""})]


class TestInotifyWatcher(WatchContract):
    @pytest.fixture
    def watcher(self, folder: Path) -> Watcher:
        return InotifyWatcher(folder)

    @pytest.fixture
    def touch(self, folder: Path) -> Touch:
        return lambda path: (folder / path).touch()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a folder in it."""
    (tmp_path / "root/folder").mkdir(parents=True)
    return tmp_path / "root"


def run(folder: Path, script: str) -> None:
    """Let another program work in the folder."""
    subprocess.run(["bash", "-euc", script], cwd=folder, check=True)


# What editors were seen to do (strace), as calls of the shell.
SAVES = {
    "vim with a backup": "echo 2 > 4913; rm 4913; mv file file~; echo new > file; chmod 644 file; rm file~",
    "a new file renamed over": "echo new > .file.swp; mv .file.swp file",
    "in place": ": > file; echo new >> file",
    "in place, of the same size": "printf %s 1 | dd of=file conv=notrunc status=none",
    "through a hard link": "ln file other; echo new >> file; rm other",
    "a link that is turned": "ln -s elsewhere new; mv -T new file",
    "the bits only": "chmod +x file",
}


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("where", ["", "folder"])
async def test_a_save_is_noticed_however_an_editor_does_it(folder: Path, save: str, where: str) -> None:
    (folder / where / "file").write_text("0")
    path = f"{where}/file" if where else "file"
    async with Listener(InotifyWatcher(folder)) as listener:
        run(folder / where, SAVES[save])
        assert "" not in await listener.until(path)


async def test_a_save_through_a_mapping_is_noticed(folder: Path) -> None:
    (folder / "file").write_text("0123")
    code = "import mmap; f = open('file', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0:1] = b'x'"
    async with Listener(InotifyWatcher(folder)) as listener:
        run(folder, f'{sys.executable} -c "{code}"')
        await listener.until("file")


@pytest.mark.skipif(not shutil.which("vim"), reason="allowed: vim is not installed")
async def test_a_save_by_vim_itself_is_noticed(folder: Path) -> None:
    (folder / "file").write_text("0\n")
    async with Listener(InotifyWatcher(folder)) as listener:
        run(folder, "vim -u NONE -es -c 'set backup backupdir=.' -c '%s/0/1/' -c wq file < /dev/null")
        await listener.until("file")


async def test_a_file_in_new_nested_folders_is_noticed(folder: Path) -> None:
    async with Listener(InotifyWatcher(folder)) as listener:
        run(folder, "mkdir -p a/b/c/d; echo 1 > a/b/c/d/file")
        await listener.until("a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/file")
        listener.items.clear()
        run(folder, "echo 2 > a/b/c/d/file; echo 1 > a/b/other")
        assert await listener.until("a/b/c/d/file", "a/b/other") == {"a/b/c/d/file", "a/b/other"}


async def test_a_burst_of_five_hundred_files_is_noticed_whole(folder: Path) -> None:
    """As a checkout does it: each file removed and written anew, some folders gone, some new."""
    names = [f"{kind}/{number // 20}/{number}" for kind in ("kept", "gone") for number in range(250)]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1")
    new = [name.replace("gone", "new") for name in names]
    async with Listener(InotifyWatcher(folder), settle_ms=50) as listener:
        run(folder, "mv gone new; for f in kept/*/* new/*/*; do rm $f; echo 2 > $f; done")
        seen = await listener.until(*new)
        assert all(covers(seen, name) for name in names)
        assert "gone" in seen
        assert "" not in seen


async def test_a_moved_folder_is_watched_under_its_new_name(folder: Path) -> None:
    (folder / "folder/deep").mkdir()
    (folder / "folder/deep/file").touch()
    async with Listener(InotifyWatcher(folder)) as listener:
        run(folder, "mv folder moved")
        await listener.until("folder", "moved", "moved/deep", "moved/deep/file")
        listener.items.clear()
        run(folder, "echo 1 > moved/deep/file; mkdir folder; echo 1 > folder/new")
        assert await listener.until("moved/deep/file", "folder/new") == {
            "moved/deep/file",
            "folder",
            "folder/new",
        }


def exchange(one: Path, two: Path) -> None:
    """Let two folders change places at once."""
    here, at_once = -100, 2
    assert ctypes.CDLL(None).renameat2(here, bytes(one), here, bytes(two), at_once) == 0


def through_a_third(one: Path, two: Path) -> None:
    run(one.parent, f"mv {one} x; mv {two} {one}; mv x {two}")


@pytest.mark.parametrize("change", [exchange, through_a_third])
async def test_two_folders_that_change_places_are_both_watched(
    folder: Path, change: Callable[[Path, Path], None]
) -> None:
    for name in ("one/in_one", "two/in_two"):
        (folder / name).mkdir(parents=True)
    async with Listener(InotifyWatcher(folder)) as listener:
        change(folder / "one", folder / "two")
        run(folder, "touch last")
        await listener.until("last")
        listener.items.clear()
        run(folder, "touch one/in_two/a two/in_one/b")
        assert await listener.until("one/in_two/a", "two/in_one/b") == {"one/in_two/a", "two/in_one/b"}


async def test_a_folder_that_was_moved_away_is_not_watched_any_more(folder: Path, tmp_path: Path) -> None:
    (folder / "folder/deep").mkdir()
    async with Listener(InotifyWatcher(folder)) as listener:
        run(folder, "mv folder ../away")
        await listener.until("folder")
        listener.items.clear()
        run(folder, "touch ../away/a ../away/deep/b; mv ../away back; touch back/deep/c")
        moved_back = {"back", "back/a", "back/deep", "back/deep/b", "back/deep/c"}
        assert await listener.until("back/deep/c") <= moved_back


async def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside/deep").mkdir(parents=True)
    (folder / "before").symlink_to(tmp_path / "outside")
    async with Listener(InotifyWatcher(folder)) as listener:
        run(folder, "ln -s ../outside during; rmdir folder; ln -s ../outside folder")
        await listener.until("during", "folder")
        listener.items.clear()
        run(folder, "touch ../outside/a ../outside/deep/b; touch last")
        assert await listener.until("last") == {"last"}


@pytest.mark.parametrize("where", ["", "folder"])
async def test_a_name_that_is_not_utf_8_is_hinted_at_by_its_folder(folder: Path, where: str) -> None:
    async with Listener(InotifyWatcher(folder)) as listener:
        run(folder / where, r"mkdir $'\xff'")
        await listener.until(where)
        listener.items.clear()
        run(folder / where, r"touch $'\xff/file'; mv $'\xff' valid")  # no path of ours can name the first
        seen = await listener.until(where, *[f"{where}/valid", f"{where}/valid/file"] if where else [])
        assert covers(seen, f"{where}/valid/file")


async def test_what_is_skipped_is_neither_watched_nor_hinted_at(folder: Path) -> None:
    (folder / "node_modules/deep").mkdir(parents=True)

    def skip(path: str, is_directory: bool) -> bool:
        return (is_directory and path.endswith("node_modules")) or path.endswith(".log")

    async with Listener(InotifyWatcher(folder, skip)) as listener:
        run(folder, "touch node_modules/a node_modules/deep/b x.log; mkdir -p new/node_modules/c")
        run(folder, "touch folder/node_modules last")
        assert await listener.until("last") == {"new", "folder/node_modules", "last"}


async def test_lost_events_mean_anything_and_nothing_is_missed_afterwards(folder: Path) -> None:
    """The queue of the kernel is filled while the watcher has no chance to read it."""
    async with Listener(InotifyWatcher(folder)) as listener:
        fill_the_queue(folder)
        (folder / "while/lost").mkdir(parents=True)
        await listener.until("")
        listener.items.clear()
        (folder / "while/lost/file").touch()
        await listener.until("while/lost/file")


def fill_the_queue(folder: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(limit // 2 + 1):
        descriptor = os.open(folder / str(number % 2), os.O_CREAT | os.O_WRONLY)
        os.fchmod(descriptor, 0o600 + (number // 2) % 2)
        os.close(descriptor)


@pytest.mark.parametrize("end", ["rm -r root", "mv root away"])
async def test_the_end_of_the_folder_is_told(folder: Path, end: str) -> None:
    watcher = InotifyWatcher(folder)
    async with Listener(watcher) as listener:
        run(folder.parent, end)
        with pytest.raises(Unavailable) as failed:
            await listener.until("never")
        assert "" in listener.items[-1]
        assert failed.value.code == "watch.no_folder"
    with pytest.raises(Unavailable, match="is not there"):
        await Listener(watcher).next()


async def test_a_folder_above_that_moves_is_told_at_the_next_new_folder(folder: Path, tmp_path: Path) -> None:
    async with Listener(InotifyWatcher(folder)) as listener:
        run(
            tmp_path.parent, f"mv {tmp_path.name} {tmp_path.name}-moved; mkdir {tmp_path.name}-moved/root/new"
        )
        await listener.until("")


def full(_queue: int, _directory: int) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def no_queue() -> int:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.parametrize(
    ("name", "failing", "limit"),
    [
        ("add_watch", full, "fs.inotify.max_user_watches"),
        ("open_queue", no_queue, "fs.inotify.max_user_instances"),
    ],
)
async def test_without_watches_anything_is_hinted_at_again_and_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, name: str, failing: Callable[..., int], limit: str
) -> None:
    monkeypatch.setattr(directories, name, failing)
    watcher = InotifyWatcher(folder, poll_s=0.01)
    async with Listener(watcher) as listener:
        assert watcher.trouble
        assert limit in watcher.trouble.fix
        await listener.next()
        await listener.next()
        assert listener.seen == {""}


async def test_watches_that_run_out_later_are_told_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = InotifyWatcher(folder, poll_s=0.01)
    async with Listener(watcher) as listener:
        assert watcher.trouble is None
        monkeypatch.setattr(directories, "add_watch", full)
        run(folder, "mkdir -p new/folder; touch new/folder/file")
        await listener.until("")
        assert watcher.trouble
        monkeypatch.undo()
        run(folder, "touch folder/file")
        await listener.until("folder/file")  # what is watched already is still noticed at once


async def test_a_folder_that_becomes_readable_is_watched_from_then_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = directories.add_watch
    (folder / "secret").mkdir()
    hidden = (folder / "secret").stat().st_ino

    def refused(queue: int, directory: int) -> int:
        if os.fstat(directory).st_ino == hidden:
            raise PermissionError(errno.EACCES, "no")
        return real(queue, directory)

    monkeypatch.setattr(directories, "add_watch", refused)
    async with Listener(InotifyWatcher(folder)) as listener:
        monkeypatch.undo()
        (folder / "secret/file").touch()
        (folder / "secret").chmod(0o700)
        await listener.until("secret/file")
        listener.items.clear()
        (folder / "secret/file").write_text("x")
        await listener.until("secret/file")


async def test_a_file_that_is_written_without_end_does_not_hold_hints_back(folder: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", "while true; do echo 1 >> log; done", cwd=folder
    )
    try:
        async with Listener(InotifyWatcher(folder), settle_ms=10_000) as listener:
            await listener.next()
            assert covers(listener.seen, "log")  # by "anything" if this machine is too slow for the writer
    finally:
        process.kill()
        await process.wait()


async def test_a_cancelled_listener_waits_for_its_thread(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the thread would go on with a descriptor that may by then be that of another file."""
    started, released, order = threading.Event(), threading.Event(), list[str]()

    def slowly(_: directories.Directories) -> None:
        started.set()
        released.wait(PATIENCE_S)
        order.append("thread")

    monkeypatch.setattr(directories.Directories, "start", slowly)
    monkeypatch.setattr(directories.Directories, "close", lambda _: order.append("closed"))
    task = asyncio.ensure_future(Listener(InotifyWatcher(folder)).next())
    await asyncio.to_thread(started.wait, PATIENCE_S)
    task.cancel()
    asyncio.get_running_loop().call_later(0.05, released.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert order == ["thread", "closed"]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_nothing_is_left_open(folder: Path) -> None:
    before = open_files()
    for _ in range(5):
        watcher = InotifyWatcher(folder)
        async with Listener(watcher) as listener:
            (folder / "a").write_text("1")
            await listener.until("a")
        await watcher.close()
    assert open_files() == before


Look = dict[str, tuple[int, ...]]


def look(folder: Path) -> Look:
    """Return how everything below the folder looks; the model of the tests below."""
    found: Look = {}
    for path in folder.rglob("*"):
        seen = path.lstat()
        written = () if stat.S_ISDIR(seen.st_mode) else (seen.st_mtime_ns, seen.st_ino, seen.st_size)
        found[str(path.relative_to(folder))] = (seen.st_mode, *written)
    return found


places = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
SCRIPTS = [
    "mkdir -p {0}",
    "mkdir -p $(dirname {0}); echo $RANDOM > {0}",
    "echo $RANDOM >> {0}",
    "rm -rf {0}",
    "mv -T {0} {1}",
    "mkdir -p $(dirname {1}); mv -T {0} {1}",
    "cp -r {0} {1}",
    "ln -s {0} {1}",
    "ln {0} {1}",
    "chmod 700 {0}",
    "rm -rf {1}; mv -T {0} {1}; mkdir {0}; echo 1 > {0}/x",
    "mv -T {0} ../away; mv -T ../away {1}; rm -rf ../away",
]
steps = st.lists(st.tuples(st.sampled_from(SCRIPTS), places, places), min_size=1, max_size=12)


@settings(max_examples=25)
@given(rounds=st.lists(steps, min_size=1, max_size=3), late=st.booleans())
def test_no_change_is_ever_left_out(
    rounds: list[list[tuple[str, str, str]]], late: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After any work of other programs each difference is covered by a hint, and every folder is watched."""
    folder = tmp_path_factory.mktemp("watched")
    asyncio.run(watch_rounds(folder, rounds, late=late))


async def watch_rounds(folder: Path, rounds: list[list[tuple[str, str, str]]], *, late: bool) -> None:
    async with Listener(InotifyWatcher(folder)) as listener:
        for number, round_ in enumerate(rounds):
            before = look(folder)
            script = "\n".join(f"({line.format(*places)}) 2>/dev/null || true" for line, *places in round_)
            if late:
                run(folder, script)  # nothing is noticed before all of it has happened
            else:
                process = await asyncio.create_subprocess_exec("bash", "-c", script, cwd=folder)
                async with asyncio.timeout(PATIENCE_S):
                    await process.wait()
            (folder / f"end-{number}").touch()
            seen = await listener.until(f"end-{number}")
            after = look(folder)
            changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
            assert [path for path in sorted(changed) if not covers(seen, path)] == []
            listener.items.clear()
            watched = [f"{path}/probe" for path, (mode, *_) in after.items() if stat.S_ISDIR(mode)]
            for path in watched:
                (folder / path).touch()
            assert "" not in await listener.until(*watched)
            listener.items.clear()
