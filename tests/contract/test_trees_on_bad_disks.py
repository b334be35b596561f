"""Whatever fails at whatever moment: a path is as it was or as wished, and a second try brings the rest."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import pytest

from choiros.engines.blob.disk import DiskBlobs
from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.tree.disk import DiskTree, renames, syncing, temporary
from choiros.engines.tree.disk.descriptors import HIDDEN
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Corrupt, Unavailable
from choiros.kernel.path import TEMPORARY
from choiros.kernel.tree import Done, Entry, Step
from choiros.testing.tree_contract import file, folder, fulfil, link, prepared, wish

OLD, NEW = b"old content", b"the new content"
SEAMS = [
    *("open", "write", "fsync", "ftruncate", "fchmod", "fstat", "stat", "lseek", "scandir"),
    *("mkdir", "rmdir", "unlink", "symlink", "readlink", "renameat2", "lease"),
]


class Crash(BaseException):
    """The process is killed: nothing that comes later happens, cleaning up included."""


class Seams:
    """Counts the calls into the operating system and lets one of them fail, or all from one on."""

    def __init__(self, patch: pytest.MonkeyPatch, names: list[str]) -> None:
        self.calls: list[str] = []
        self._fails: Callable[[int], BaseException | None] = lambda _number: None
        places = {"renameat2": (renames, "renameat2"), "lease": (fcntl, "fcntl")}
        # Nothing here depends on what a sync does, and a thousand of them take their time.
        patch.setattr(os, "fsync", lambda _descriptor: None)
        for name in names:
            where, attribute = places.get(name, (os, name))
            patch.setattr(where, attribute, self._counted(name, getattr(where, attribute)))

    @contextlib.contextmanager
    def failing(self, number: int, error: BaseException) -> Generator[None]:
        yield from self._with(lambda now: error if now == number else None)

    @contextlib.contextmanager
    def crashing(self, number: int) -> Generator[None]:
        yield from self._with(lambda now: Crash() if now >= number else None)

    def _with(self, fails: Callable[[int], BaseException | None]) -> Generator[None]:
        self.calls.clear()
        self._fails = fails
        try:
            yield
        finally:
            self._fails = lambda _number: None

    def _counted(self, name: str, call: Callable) -> Callable:
        def counted(*args, **options):
            error = self._fails(len(self.calls))
            self.calls.append(name)
            if error is not None:
                raise error
            return call(*args, **options)

        return counted


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def tree(root: Path) -> DiskTree:
    return DiskTree(root, InlineWorker())


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


BEFORE: Mapping[str, Entry | None] = {
    "replaced": file(OLD),
    "gone": file(OLD),
    "dir": folder(),
    "dir/inner": file(OLD),
    "link": link("old"),
    "tight": folder(0o500),
    "swap": folder(),
    "swap/inner": file(OLD),
    "back": file(OLD),
}
AFTER: Mapping[str, Entry | None] = {
    "replaced": file(NEW, 0o600),
    "gone": None,
    "dir": None,
    "dir/inner": None,
    "link": link("new"),
    "tight": folder(0o755),
    "swap": file(NEW),
    "swap/inner": None,
    "back": folder(0o500),
    "back/inner": file(NEW),
    "new": file(NEW),
    "fresh": folder(),
    "fresh/link": link("x"),
}


def build(root: Path) -> None:
    """Make BEFORE as somebody outside would."""
    for path, entry in BEFORE.items():
        place = root / path
        match entry:
            case Entry(kind="dir"):
                place.mkdir()
                place.chmod(entry.mode)
            case Entry(kind="link"):
                place.symlink_to(entry.target)
            case _:
                place.write_bytes(OLD)
                place.chmod(0o644)


def found(root: Path) -> dict[str, object]:
    """What stands below the root, told so that it can be compared with entries."""
    shown: dict[str, object] = {}
    for place in sorted(root.rglob("*")):
        path = str(place.relative_to(root))
        if place.is_symlink():
            shown[path] = link(str(place.readlink()))
        elif place.is_dir():
            shown[path] = folder(place.stat().st_mode & 0o777)
        else:
            shown[path] = file(place.read_bytes(), place.stat().st_mode & 0o777)
    return shown


def is_whole(path: str, entry: object) -> bool:
    """Whether it is as before or as wished; a directory may still have the rights in which we work."""
    wanted = [BEFORE.get(path), AFTER.get(path)]
    if isinstance(entry, Entry) and entry.kind == "dir":
        wanted += [folder(one.mode | 0o700) for one in wanted if one is not None and one.kind == "dir"]
    return entry in wanted


def wholes(root: Path) -> None:
    now = found(root)
    for path in {*BEFORE, *AFTER}:
        assert is_whole(path, now.get(path)), (path, now.get(path))


TARGET = {path: entry for path, entry in AFTER.items() if entry is not None}


async def applied(
    tree: DiskTree, steps: list[Step], blobs: MemoryBlobs
) -> Mapping[str, Done] | BaseException:
    try:
        return await tree.apply(steps, blobs)
    except (Unavailable, Crash) as error:
        return error


@pytest.mark.anyio
class TestEveryMoment:
    """One change of every kind, with a failure at each of its calls into the operating system in turn."""

    @pytest.fixture
    def scene(self, tmp_path, monkeypatch):
        """Return what makes the same folder anew, and the seams."""
        made = []

        async def scene(blobs: MemoryBlobs):
            root = tmp_path / f"workspace-{len(made)}"
            made.append(root)
            root.mkdir()
            build(root)
            await prepared(blobs, NEW)
            tree = DiskTree(root, InlineWorker())
            return root, tree, await wish(tree, AFTER)

        return scene, Seams(monkeypatch, SEAMS)

    async def count(self, scene, seams, blobs) -> int:
        root, tree, steps = await scene(blobs)
        temporary.owner(os.getpid())  # looked up once per process
        seams.calls.clear()
        done = await tree.apply(steps, blobs)
        calls = list(seams.calls)
        assert not [one for one in done.values() if one.diverged]
        assert found(root) == TARGET
        assert {"open", "write", "fsync", "renameat2", "unlink", "rmdir", "symlink", "lease"} < set(calls)
        return len(calls)

    @pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
    async def test_an_error_at_any_call_leaves_every_path_whole(self, scene, blobs, number) -> None:
        scene, seams = scene
        for call in range(await self.count(scene, seams, blobs)):
            root, tree, steps = await scene(blobs)
            with seams.failing(call, OSError(number, os.strerror(number))):
                outcome = await applied(tree, steps, blobs)
            wholes(root)
            if isinstance(outcome, Unavailable):
                assert outcome.code == "tree.unavailable"
                assert outcome.fields["errno"] == number
            else:
                # Then the error was one step's own, or one that has a way round.
                assert not isinstance(outcome, BaseException)
                looks = await tree.look(AFTER)
                told = {path: one.stat for path, one in outcome.items() if one.stat != HIDDEN}
                assert told == {path: looks[path] for path in told}
            again = await tree.apply(await wish(tree, AFTER), blobs)
            left = {path: one.diverged for path, one in again.items() if one.diverged}
            assert (call, seams.calls[call], left) == (call, seams.calls[call], {})
            assert found(root) == TARGET

    async def test_after_a_crash_at_any_call_a_new_process_brings_the_rest(
        self, scene, blobs, monkeypatch
    ) -> None:
        scene, seams = scene
        for call in range(await self.count(scene, seams, blobs)):
            root, tree, steps = await scene(blobs)
            with monkeypatch.context() as patch:
                patch.setattr(temporary, "owner", lambda _pid: "1-another")
                with seams.crashing(call):
                    outcome = await applied(tree, steps, blobs)
            assert isinstance(outcome, Crash)
            after = DiskTree(root, InlineWorker())
            left = [name for name in found(root) if TEMPORARY in name]
            assert await after.sweep() == len(left)
            wholes(root)
            again = await after.apply(steps, blobs)
            diverged = {path: one.diverged for path, one in again.items() if one.diverged}
            assert (call, seams.calls[call], diverged) == (call, seams.calls[call], {})
            assert found(root) == TARGET


def path_of(descriptor: int) -> str:
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


@pytest.mark.anyio
class TestOrderOfTheDisk:
    @pytest.fixture
    def order(self, root, monkeypatch):
        """What happened to the disk, in order; temporary names are 'tmp'."""
        steps: list[str] = []
        real_fsync, real_rename, real_syncfs = os.fsync, renames.renameat2, syncing.syncfs

        def shown(path: str) -> str:
            relative = Path(path).relative_to(root)
            return str(relative.with_name("tmp") if TEMPORARY in relative.name else relative)

        def fsync(descriptor):
            steps.append(f"fsync {shown(path_of(descriptor))}")
            real_fsync(descriptor)

        def renameat2(source, target, *, flags):
            names = [shown(f"{path_of(spot.directory)}/{spot.name}") for spot in (source, target)]
            steps.append(f"rename {' '.join(names)}")
            real_rename(source, target, flags=flags)

        def syncfs(descriptor):
            steps.append("syncfs")
            real_syncfs(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(renames, "renameat2", renameat2)
        monkeypatch.setattr(syncing, "syncfs", syncfs)
        return steps

    async def test_content_is_on_disk_before_its_name_and_names_before_the_return(
        self, tree, blobs, order
    ) -> None:
        await prepared(blobs, NEW)
        await tree.apply(
            [
                Step("d/a", file(NEW), None),
                Step("d", folder(), None),
                Step("b", file(NEW), None),
            ],
            blobs,
        )
        assert order[:2] == ["fsync tmp", "fsync tmp"]
        assert order[2:5] == ["rename tmp d", "rename tmp b", "rename tmp d/a"]
        assert sorted(order[5:]) == ["fsync .", "fsync d"]

    async def test_a_removal_is_on_disk_before_the_return(self, tree, root, blobs, order) -> None:
        (root / "d").mkdir()
        (root / "d" / "a").write_bytes(OLD)
        await tree.apply(await wish(tree, {"d/a": None}), blobs)
        assert order == ["rename d/a d/tmp", "fsync d"]

    async def test_what_is_done_already_is_synced_all_the_same(self, tree, root, blobs, order) -> None:
        (root / "a").write_bytes(NEW)
        (root / "a").chmod(0o644)
        await tree.apply([Step("a", file(NEW), None), Step("b", None, None)], blobs)
        assert order == ["fsync a", "fsync ."]

    async def test_each_directory_is_synced_once(self, tree, blobs, order) -> None:
        await prepared(blobs, NEW)
        await fulfil(tree, blobs, {f"d/{number}": file(NEW) for number in range(20)} | {"d": folder()})
        assert [step for step in order if "tmp" not in step] == ["fsync .", "fsync d"]

    async def test_many_files_are_synced_at_once(self, tree, blobs, order) -> None:
        await prepared(blobs, NEW)
        await tree.apply([Step(f"{number}", file(NEW), None) for number in range(100)], blobs)
        assert order[0] == "syncfs"
        assert len(order) == 102
        assert order[-1] == "fsync ."

    async def test_many_directories_are_synced_at_once(self, tree, blobs, order) -> None:
        await tree.apply([Step(f"{number}", folder(), None) for number in range(100)], blobs)
        assert order[-1] == "syncfs"

    async def test_without_syncfs_each_is_synced(self, tree, blobs, order, monkeypatch) -> None:
        monkeypatch.setattr(syncing, "can_syncfs", lambda: False)
        await prepared(blobs, NEW)
        await tree.apply([Step(f"{number}", file(NEW), None) for number in range(100)], blobs)
        assert order[:100] == ["fsync tmp"] * 100
        assert order[-1] == "fsync ."

    def test_old_kernels_that_hide_errors_of_syncfs_do_not_use_it(self, monkeypatch) -> None:
        for release, expected in [
            ("5.7.19", False),
            ("5.8.0", True),
            ("6.18.44-x", True),
            ("strange", False),
        ]:
            monkeypatch.setattr(os, "uname", lambda r=release: os.uname_result(("Linux", "h", r, "v", "m")))
            assert syncing.can_syncfs.__wrapped__() is expected


@pytest.mark.anyio
class TestFailingDisk:
    async def test_after_a_failed_sync_what_seems_done_is_written_again(
        self, tree, root, blobs, monkeypatch
    ) -> None:
        await prepared(blobs, NEW)
        steps = [Step("a", file(NEW), None)]
        real = os.fsync

        def fails(descriptor):
            if path_of(descriptor) == str(root):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            real(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fails)
            with pytest.raises(Unavailable):
                await tree.apply(steps, blobs)
        first = (await tree.look(["a"]))["a"]
        # The name is there and the page cache says that all is well: it is not believed.
        done = await tree.apply(steps, blobs)
        assert done["a"].diverged == ""
        assert done["a"].stat is not None
        assert first is not None
        assert done["a"].stat.inode != first.inode

    async def test_a_failing_syncfs_changes_nothing(self, tree, root, blobs, monkeypatch) -> None:
        def fails(_descriptor):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        (root / "0").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {f"{number}": file(NEW) for number in range(100)})
        monkeypatch.setattr(syncing, "syncfs", fails)
        with pytest.raises(Unavailable):
            await tree.apply(steps, blobs)
        assert [path.name for path in root.iterdir()] == ["0"]
        assert (root / "0").read_bytes() == OLD

    async def test_a_full_disk_is_told_with_its_fix(self, tree, root, blobs, monkeypatch) -> None:
        def full(*_args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        await prepared(blobs, NEW)
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(Unavailable, match="No space") as raised:
            await tree.apply([Step("a", file(NEW), None), Step("d", folder(), None)], blobs)
        assert "space" in raised.value.fix
        assert list(root.iterdir()) == []

    async def test_partial_writes_are_carried_on(self, tree, root, blobs, monkeypatch) -> None:
        real = os.write
        content = bytes(range(256)) * 1000
        await prepared(blobs, content)
        monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[: max(1, len(data) // 2)]))
        await tree.apply([Step("a", file(content), None)], blobs)
        assert (root / "a").read_bytes() == content

    async def test_content_damaged_on_disk_is_refused_and_the_target_untouched(
        self, tree, root, tmp_path
    ) -> None:
        blobs = DiskBlobs(tmp_path / "blobs", InlineWorker())
        digest = await blobs.put(NEW)
        await blobs.flush()
        (tmp_path / "blobs" / digest[:2] / digest).write_bytes(b"x" + NEW[1:])
        (root / "a").write_bytes(OLD)
        with pytest.raises(Corrupt, match=digest):
            await tree.apply(await wish(tree, {"a": file(NEW), "b": folder()}), blobs)
        assert [path.name for path in root.iterdir()] == ["a"]
        assert (root / "a").read_bytes() == OLD

    async def test_a_missing_folder_is_unavailable(self, tree, root, blobs) -> None:
        root.rmdir()
        await prepared(blobs, NEW)
        for call in (
            lambda: tree.scan(lambda _path, _is_directory: False),
            lambda: tree.look(["a"]),
            lambda: tree.take("a", blobs),
            lambda: tree.apply([Step("a", file(NEW), None)], blobs),
            tree.sweep,
        ):
            with pytest.raises(Unavailable) as raised:
                await call()
            assert raised.value.code == "tree.unavailable"

    async def test_a_folder_that_is_made_again_is_used_again(self, tree, root, blobs) -> None:
        root.rmdir()
        root.mkdir()
        await prepared(blobs, NEW)
        await fulfil(tree, blobs, {"a": file(NEW)})
