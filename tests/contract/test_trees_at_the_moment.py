"""Somebody else writes just between two of our calls: what he wrote is there afterwards."""

import mmap
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.tree.disk import DiskTree, placing, renames
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Rejected
from choiros.kernel.path import TEMPORARY
from choiros.kernel.tree import Step
from choiros.testing.tree_contract import Meddling, check, file, folder, link, prepared, wish

OLD, NEW, THEIRS = b"old content", b"the new content", b"their own content"


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


def leftovers(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if TEMPORARY in path.name]


class Moments:
    """Lets somebody act just before or just after one of our renames."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._acts: dict[tuple[str, int], Callable[[], None]] = {}
        self._count = 0
        self._real = renames.renameat2
        patch.setattr(renames, "renameat2", self._renameat2)

    def let(self, act: Callable[[], None], when: str, number: int = 1) -> None:
        self._acts[when, number] = act

    def _renameat2(self, source, target, *, flags) -> None:
        self._count += 1
        self._acts.get(("before", self._count), lambda: None)()
        self._real(source, target, flags=flags)
        self._acts.get(("after", self._count), lambda: None)()


@pytest.fixture
def moments(monkeypatch) -> Moments:
    return Moments(monkeypatch)


def in_place(path: Path) -> None:
    with path.open("r+b") as opened:
        opened.write(THEIRS)
        opened.truncate()


def truncating(path: Path) -> None:
    path.write_bytes(THEIRS)


def by_rename(path: Path) -> None:
    beside = path.with_name("beside")
    beside.write_bytes(THEIRS)
    beside.rename(path)


def made_new(path: Path) -> None:
    path.unlink()
    path.write_bytes(THEIRS)


def same_length_with_the_time_set_back(path: Path) -> None:
    before = path.stat()
    path.write_bytes(b"OLD content")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


WRITES = [in_place, truncating, by_rename, made_new]
EVERY_WRITE = pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)


@pytest.mark.anyio
class TestAtTheMoment:
    """The outside write comes exactly between two of our calls."""

    @EVERY_WRITE
    @pytest.mark.parametrize("entry", [file(NEW), link("x"), folder()], ids=lambda entry: entry.kind)
    async def test_a_write_just_before_the_exchange_is_kept(
        self, tree, root, blobs, moments, write, entry
    ) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {"a": entry})
        moments.let(partial(write, root / "a"), "before")
        done = await tree.apply(steps, blobs)
        assert done["a"].diverged
        assert (root / "a").read_bytes() == THEIRS
        assert leftovers(root) == []
        await check(tree, blobs, done)

    @EVERY_WRITE
    async def test_a_write_just_after_the_exchange_is_kept(self, tree, root, blobs, moments, write) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {"a": file(NEW)})
        moments.let(partial(write, root / "a"), "after")
        done = await tree.apply(steps, blobs)
        # Ours was in place for a moment; that it was written over must not be taken for ours.
        assert done["a"].diverged
        assert (root / "a").read_bytes() == THEIRS
        assert leftovers(root) == []
        await check(tree, blobs, done)

    @EVERY_WRITE
    async def test_a_write_just_before_a_removal_is_kept(self, tree, root, blobs, moments, write) -> None:
        (root / "a").write_bytes(OLD)
        steps = await wish(tree, {"a": None})
        moments.let(partial(write, root / "a"), "before")
        done = await tree.apply(steps, blobs)
        assert done["a"].diverged
        assert (root / "a").read_bytes() == THEIRS
        assert leftovers(root) == []
        await check(tree, blobs, done)

    async def test_what_is_made_during_a_removal_is_kept(self, tree, root, blobs, moments) -> None:
        (root / "a").write_bytes(OLD)
        steps = await wish(tree, {"a": None})
        moments.let(partial(in_place, root / "a"), "before")
        moments.let(lambda: (root / "a").write_bytes(b"newer"), "after")
        done = await tree.apply(steps, blobs)
        assert done["a"].diverged
        assert (root / "a").read_bytes() == b"newer"
        assert leftovers(root) == []

    async def test_what_is_made_just_before_a_new_file_is_kept(self, tree, root, blobs, moments) -> None:
        await prepared(blobs, NEW)
        moments.let(lambda: (root / "a").write_bytes(THEIRS), "before")
        done = await tree.apply([Step("a", file(NEW), None)], blobs)
        assert done["a"].diverged
        assert (root / "a").read_bytes() == THEIRS
        assert leftovers(root) == []
        await check(tree, blobs, done)

    async def test_a_second_write_while_the_first_goes_back_stands(self, tree, root, blobs, moments) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {"a": file(NEW)})
        moments.let(partial(by_rename, root / "a"), "before", 1)

        def again() -> None:
            (root / "newer").write_bytes(b"newer")
            (root / "newer").rename(root / "a")

        moments.let(again, "before", 2)
        done = await tree.apply(steps, blobs)
        assert done["a"].diverged
        assert (root / "a").read_bytes() == b"newer"
        assert leftovers(root) == []

    async def test_a_third_write_stands_too(self, tree, root, blobs, moments) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {"a": file(NEW)})

        def again(content: bytes) -> Callable[[], None]:
            def act() -> None:
                (root / "newer").write_bytes(content)
                (root / "newer").rename(root / "a")

            return act

        for number in (1, 2, 3):
            moments.let(again(b"%d" % number), "before", number)
        await tree.apply(steps, blobs)
        assert (root / "a").read_bytes() == b"3"
        assert leftovers(root) == []

    async def test_what_is_removed_while_it_goes_back_comes_back(self, tree, root, blobs, moments) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {"a": file(NEW)})
        moments.let(partial(by_rename, root / "a"), "before", 1)
        moments.let((root / "a").unlink, "before", 2)
        done = await tree.apply(steps, blobs)
        assert done["a"].diverged
        assert (root / "a").read_bytes() == THEIRS
        assert leftovers(root) == []

    async def test_a_name_that_never_rests_ends_in_an_error_and_loses_nothing(
        self, tree, root, blobs, monkeypatch
    ) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {"a": file(NEW)})
        turns = iter(range(1000))
        real = renames.renameat2

        def contested(source, target, *, flags):
            (root / "newer").write_bytes(b"%d" % next(turns))
            (root / "newer").rename(root / "a")
            real(source, target, flags=flags)

        monkeypatch.setattr(renames, "renameat2", contested)
        done = await tree.apply(steps, blobs)
        assert "replaced all the time" in done["a"].diverged or done["a"].diverged
        kept = [path.read_bytes() for path in [root / "a", *leftovers(root)]]
        assert b"%d" % (next(turns) - 1) in kept

    async def test_a_removal_meanwhile_leaves_nothing_of_ours(self, tree, root, blobs, moments) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {"a": file(NEW)})
        moments.let((root / "a").unlink, "before")
        done = await tree.apply(steps, blobs)
        assert done["a"].diverged
        assert list(root.iterdir()) == []

    async def test_a_file_that_appears_in_a_directory_being_replaced_brings_it_back(
        self, tree, root, blobs, moments
    ) -> None:
        (root / "d").mkdir()
        await prepared(blobs, NEW)
        steps = await wish(tree, {"d": file(NEW)})
        moments.let(lambda: (root / "d" / "theirs").write_bytes(THEIRS), "before")
        done = await tree.apply(steps, blobs)
        assert "still holds something: theirs" in done["d"].diverged
        assert (root / "d" / "theirs").read_bytes() == THEIRS
        assert leftovers(root) == []
        await check(tree, blobs, done)

    async def test_a_directory_that_is_moved_away_at_the_last_moment_is_noticed(
        self, tree, root, blobs, moments
    ) -> None:
        (root / "d").mkdir()
        await prepared(blobs, NEW)
        moments.let(lambda: (root / "d").rename(root / "e"), "before")
        done = await tree.apply([Step("d/a", file(NEW), None)], blobs)
        assert done["d/a"].diverged
        await check(tree, blobs, done)

    async def test_a_directory_that_is_replaced_at_the_last_moment_is_noticed(
        self, tree, root, blobs, moments
    ) -> None:
        (root / "d").mkdir()
        await prepared(blobs, NEW)

        def replace() -> None:
            (root / "d").rename(root / "e")
            (root / "d").mkdir()

        moments.let(replace, "before")
        done = await tree.apply([Step("d/a", file(NEW), None)], blobs)
        assert "moved" in done["d/a"].diverged
        await check(tree, blobs, done)

    async def test_a_directory_that_is_moved_away_while_a_file_in_it_is_read_is_noticed(
        self, tree, root, blobs
    ) -> None:
        (root / "d").mkdir()
        (root / "d" / "a").write_bytes(OLD)
        with pytest.raises(Rejected) as raised:
            await tree.take("d/a", Meddling(blobs, lambda: (root / "d").rename(root / "e")))
        assert raised.value.code == "tree.not_found"

    async def test_a_link_that_is_swapped_in_just_before_the_open_is_not_even_opened(
        self, tree, root, blobs, tmp_path, monkeypatch
    ) -> None:
        (tmp_path / "secret").write_bytes(b"secret")
        (root / "a").write_bytes(OLD)
        real, opened = os.open, []

        def late(name, flags, *rest, **options):
            if name == "a":
                (root / "a").unlink()
                (root / "a").symlink_to(tmp_path / "secret")
            descriptor = real(name, flags, *rest, **options)
            opened.append(name)
            return descriptor

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", late)
            entry, _look = await tree.take("a", blobs)
        assert entry == link(str(tmp_path / "secret"))
        assert "a" not in opened

    async def test_a_time_that_was_set_back_hides_no_write(self, tree, root, blobs) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        for entry in (file(NEW), None):
            steps = await wish(tree, {"a": entry})
            same_length_with_the_time_set_back(root / "a")
            done = await tree.apply(steps, blobs)
            assert done["a"].diverged
            assert (root / "a").read_bytes() == b"OLD content"


@pytest.mark.anyio
class TestOpenFiles:
    """Who has the old file open would write where nobody finds it."""

    @pytest.mark.parametrize("entry", [file(NEW), link("x"), None])
    async def test_a_file_that_is_open_for_writing_is_left_alone(self, tree, root, blobs, entry) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        inode = (root / "a").stat().st_ino
        with (root / "a").open("r+b") as opened:
            done = await tree.apply(await wish(tree, {"a": entry}), blobs)
            assert "open for writing" in done["a"].diverged
            assert (root / "a").stat().st_ino == inode
            opened.write(THEIRS)
        assert (root / "a").read_bytes() == THEIRS
        await check(tree, blobs, done | {"a": (await tree.apply([Step("a", None, None)], blobs))["a"]})

    async def test_a_file_that_is_mapped_for_writing_is_left_alone(self, tree, root, blobs) -> None:
        (root / "a").write_bytes(OLD)
        with (root / "a").open("r+b") as opened:
            mapped = mmap.mmap(opened.fileno(), 0)
        done = await tree.apply(await wish(tree, {"a": None}), blobs)
        assert done["a"].diverged
        mapped[:3] = b"OLD"
        mapped.close()
        assert (root / "a").read_bytes() == b"OLD content"

    async def test_a_file_that_is_opened_for_writing_at_the_last_moment_goes_back(
        self, tree, root, blobs, moments
    ) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        opened = []
        moments.let(lambda: opened.append((root / "a").open("r+b")), "before")
        done = await tree.apply(await wish(tree, {"a": file(NEW)}), blobs)
        assert "open for writing" in done["a"].diverged
        with opened[0] as late:
            late.write(THEIRS)
        assert (root / "a").read_bytes() == THEIRS
        assert leftovers(root) == []

    async def test_readers_are_no_obstacle(self, tree, root, blobs) -> None:
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        with (root / "a").open("rb") as opened:
            done = await tree.apply(await wish(tree, {"a": file(NEW)}), blobs)
            assert done["a"].diverged == ""
            assert opened.read() == OLD

    async def test_without_leases_the_look_decides(self, tree, root, blobs, monkeypatch) -> None:
        def refused(*_args):
            raise OSError(22, "Invalid argument")

        monkeypatch.setattr(placing.fcntl, "fcntl", refused)
        (root / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        done = await tree.apply(await wish(tree, {"a": file(NEW)}), blobs)
        assert done["a"].diverged == ""
