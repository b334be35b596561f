"""What only a real folder can show: links out, second names, rights, strange names, size, leftovers."""

import os
import resource
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.tree.disk import DiskTree, renames, temporary
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Corrupt, Rejected, Unavailable
from choiros.kernel.path import TEMPORARY
from choiros.kernel.tree import Step
from choiros.testing.tree_contract import (
    file,
    folder,
    fulfil,
    link,
    nothing_skipped,
    prepared,
    seen,
    wish,
)

OLD, NEW = b"old content", b"the new content"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_bytes(OLD)
    return tmp_path / "outside"


@pytest.fixture
def tree(root: Path) -> DiskTree:
    return DiskTree(root, InlineWorker())


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture(params=["careful", "plain"])
def _renames(request, monkeypatch):
    """With the renames of Linux, and as on a file system that lacks them."""

    def missing(*_spots, **_options):
        raise OSError(38, "Function not implemented")

    if request.param == "plain":
        monkeypatch.setattr(renames, "renameat2", missing)


@pytest.mark.anyio
@pytest.mark.usefixtures("_renames")
class TestNothingLeavesTheFolder:
    async def test_a_link_out_is_replaced_and_removed_but_not_followed(
        self, tree, root, blobs, outside
    ) -> None:
        await prepared(blobs, NEW)
        for name in ("file", "dir", "gone"):
            (root / name).symlink_to(outside / "a" if name == "file" else outside)
        await fulfil(tree, blobs, {"file": file(NEW, 0o600), "dir": folder(0o711), "gone": None})
        assert [path.name for path in outside.iterdir()] == ["a"]
        assert (outside / "a").read_bytes() == OLD
        assert stat.S_IMODE((outside / "a").stat().st_mode) == 0o644

    async def test_a_directory_that_became_a_link_out_leads_nowhere(self, tree, root, blobs, outside) -> None:
        (root / "d").mkdir()
        (root / "d" / "a").write_bytes(OLD)
        await prepared(blobs, NEW)
        steps = await wish(tree, {"d/a": file(NEW), "d/b": file(NEW), "d/c": folder(), "d/l": link("x")})
        shutil.rmtree(root / "d")
        (root / "d").symlink_to(outside)
        before = outside.stat()
        done = await tree.apply(steps, blobs)
        assert all(one.diverged for one in done.values())
        removed = await tree.apply([Step("d/a", None, steps[0].expect), Step("d", None, None)], blobs)
        assert removed["d"].diverged
        assert [path.name for path in outside.iterdir()] == ["a"]
        assert (outside / "a").read_bytes() == OLD
        assert outside.stat().st_mtime_ns == before.st_mtime_ns

    async def test_a_second_name_outside_is_not_written_through(self, tree, root, blobs, outside) -> None:
        await prepared(blobs, NEW)
        for name in ("replaced", "chmodded", "gone"):
            os.link(outside / "a", root / name)
        wishes = {"replaced": file(NEW, 0o600), "chmodded": file(OLD, 0o600), "gone": None}
        await prepared(blobs, OLD)
        await fulfil(tree, blobs, wishes)
        look = (outside / "a").stat()
        assert (outside / "a").read_bytes() == OLD
        assert (stat.S_IMODE(look.st_mode), look.st_nlink) == (0o644, 1)

    async def test_the_folder_may_be_reached_by_a_link_but_not_become_one(
        self, tmp_path, root, blobs, outside
    ) -> None:
        await prepared(blobs, NEW)
        (tmp_path / "alias").symlink_to(root)
        tree = DiskTree(tmp_path / "alias", InlineWorker())
        await fulfil(tree, blobs, {"b": file(NEW)})
        assert (root / "b").read_bytes() == NEW
        root.rename(tmp_path / "moved")
        root.symlink_to(outside)
        with pytest.raises(Unavailable):
            await tree.apply([Step("b", file(NEW), None)], blobs)
        with pytest.raises(Unavailable):
            await seen(tree)
        assert [path.name for path in outside.iterdir()] == ["a"]


@pytest.mark.anyio
class TestWhatIsWritten:
    async def test_no_descriptor_is_left_open(self, tree, root, blobs, outside) -> None:
        await prepared(blobs, NEW)
        os.mkfifo(root / "pipe")
        (root / "out").symlink_to(outside)

        async def everything() -> None:
            done = await tree.apply(
                await wish(tree, {"a": file(NEW), "d": folder(), "d/b": link("x")}), blobs
            )
            await tree.apply(await wish(tree, dict.fromkeys(done)), blobs)
            await tree.apply([Step("out/a", file(NEW), None), Step("pipe", file(NEW), None)], blobs)
            await tree.scan(nothing_skipped)
            for path in ("pipe", "out/a", "none"):
                with pytest.raises(Rejected):
                    await tree.take(path, blobs)
            with pytest.raises(Corrupt):
                await tree.apply([Step("c", file(b"never put"), None)], blobs)
            with pytest.raises(Rejected):
                await tree.apply([Step("..", None, None)], blobs)
            await tree.sweep()

        await everything()
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        await everything()
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208

    async def test_zeros_take_no_room(self, tree, root, blobs) -> None:
        content = bytes(1 << 20) + b"island" + bytes(3 << 20)
        await prepared(blobs, content)
        await fulfil(tree, blobs, {"a": file(content)})
        assert (root / "a").stat().st_blocks * 512 <= 2 << 16
        assert (root / "a").read_bytes() == content

    async def test_dangerous_bits_are_dropped_and_those_of_directories_kept(self, tree, root, blobs) -> None:
        await prepared(blobs, NEW)
        (root / "a").write_bytes(OLD)
        (root / "a").chmod(0o4755)
        (root / "d").mkdir()
        (root / "d").chmod(0o2775)
        assert (await tree.take("a", blobs))[0].mode == 0o755
        await fulfil(tree, blobs, {"a": file(NEW, 0o755), "d": folder(0o750), "d/e": folder(0o700)})
        assert stat.S_IMODE((root / "a").stat().st_mode) == 0o755
        assert stat.S_IMODE((root / "d").stat().st_mode) == 0o2750
        assert stat.S_IMODE((root / "d" / "e").stat().st_mode) == 0o2700

    async def test_the_usual_mask_changes_no_mode(self, tree, blobs) -> None:
        await prepared(blobs, NEW)
        before = os.umask(0o077)
        try:
            await fulfil(tree, blobs, {"d": folder(0o777), "d/a": file(NEW, 0o666)})
        finally:
            os.umask(before)

    async def test_nobody_sees_half_a_file(self, tree, root, blobs) -> None:
        """While content is staged it stands under a temporary name that only the owner may read."""
        chunk = b"x" * (1 << 20)
        await prepared(blobs, chunk * 2)
        looks = []

        class Watching(MemoryBlobs):
            async def read(self, digest):
                async for part in blobs.read(digest):
                    yield part
                    looks.extend((path.name, stat.S_IMODE(path.stat().st_mode)) for path in root.iterdir())

        await tree.apply([Step("a", file(chunk * 2), None)], Watching())
        assert looks
        assert all(name.startswith(TEMPORARY) and mode == 0o600 for name, mode in looks)
        assert [path.name for path in root.iterdir()] == ["a"]

    async def test_a_fifo_in_the_way_stalls_nobody(self, tree, root, blobs) -> None:
        os.mkfifo(root / "pipe")
        with pytest.raises(Rejected) as raised:
            await tree.take("pipe", blobs)
        assert raised.value.code == "tree.not_kept"
        await prepared(blobs, NEW)
        done = await tree.apply([Step("pipe", file(NEW), None)], blobs)
        assert done["pipe"].diverged
        await fulfil(tree, blobs, {"pipe": file(NEW)})


def make_unnamed(place: Path) -> None:
    place.mkdir(parents=True)
    (place / "inner").touch()


def make_deep(place: Path, name: str, *, depth: int) -> None:
    """Make directories in directories, deeper than a path can tell."""
    here = os.open(place, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def remove_deep(root: Path) -> None:
    """Remove what pytest's own cleaning could not."""
    subprocess.run(["rm", "-rf", root], check=True)


@pytest.mark.anyio
class TestNames:
    def test_a_program_that_would_misspell_names_does_not_start(self, root, monkeypatch) -> None:
        monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso-8859-1")
        with pytest.raises(Unavailable, match="UTF-8"):
            DiskTree(root, InlineWorker())

    @pytest.mark.parametrize("name", [b"latin-1 \xe9", b"\xff", b"half \xf0\x9f\x98", b"\xed\xa0\x80"])
    async def test_a_name_that_is_not_utf8_is_named_and_not_entered(self, tree, root, name) -> None:
        make_unnamed(root / "d" / os.fsdecode(name))
        found, odd = await tree.scan(nothing_skipped)
        assert set(found) == {"d"}
        ((shown, reason),) = odd.items()
        shown.encode()
        assert shown.startswith("d/")
        assert "\\x" in shown
        assert "UTF-8" in reason

    async def test_a_link_to_a_name_that_is_not_utf8_is_named(self, tree, root, blobs) -> None:
        (root / "l").symlink_to(os.fsdecode(b"\xff"))
        found, odd = await tree.scan(nothing_skipped)
        assert found["l"].kind == "link"
        assert "UTF-8" in odd["l"]
        with pytest.raises(Rejected) as raised:
            await tree.take("l", blobs)
        assert raised.value.code == "tree.not_kept"

    async def test_a_path_that_is_too_long_is_named_and_not_entered(self, tree, root) -> None:
        make_deep(root, "x" * 250, depth=20)
        found, odd = await tree.scan(nothing_skipped)
        assert len(found) == 15
        ((shown, reason),) = odd.items()
        assert len(shown) == 16 * 251 - 1
        assert "longer" in reason
        remove_deep(root)

    async def test_a_very_deep_path_needs_few_descriptors(self, tree, root, blobs) -> None:
        depth = 600
        paths = ["/".join("d" * length) for length in range(1, depth + 1)]
        await prepared(blobs, NEW)
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
        try:
            await fulfil(tree, blobs, {paths[0]: folder(), "a": file(NEW)})
            make_deep(root / "d", "d", depth=depth - 1)
            assert set(await seen(tree)) == {*paths, "a"}
            deep = f"{paths[-1]}/a"
            await fulfil(tree, blobs, {deep: file(NEW)})
            assert await tree.sweep() == 0
            await fulfil(tree, blobs, dict.fromkeys([*paths[580:], deep]))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        remove_deep(root)


STAGE_AND_WAIT = """
    import asyncio, os, sys
    from pathlib import Path
    from choiros.engines.blob.memory import MemoryBlobs
    from choiros.engines.tree.disk import DiskTree
    from choiros.engines.worker.inline import InlineWorker
    from choiros.kernel.tree import Step
    from choiros.testing.tree_contract import file

    class Stalling(MemoryBlobs):
        async def read(self, digest):
            yield b"x" * (1 << 20)
            yield b"x" * (1 << 20)
            print("staged", flush=True)
            if sys.argv[2] == "wait":
                sys.stdin.read()
            os._exit(9)

    tree = DiskTree(Path(sys.argv[1]), InlineWorker())
    asyncio.run(tree.apply([Step("d/a", file(b"x"), None)], Stalling()))
"""


def other_process(root: Path, how: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", textwrap.dedent(STAGE_AND_WAIT), str(root), how]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"staged\n"
    return process


@pytest.mark.anyio
class TestLeftovers:
    async def test_what_a_killed_process_left_is_swept(self, tree, root) -> None:
        (root / "d").mkdir()
        with other_process(root, "die") as process:
            process.wait()
        assert len(list((root / "d").iterdir())) == 1
        assert await tree.sweep() == 1
        assert list((root / "d").iterdir()) == []

    async def test_a_scan_takes_away_what_nobody_noted_to_be_left(self, tree, root) -> None:
        """C-18: after a power cut the note that a change was broken off may be missing."""
        (root / "d").mkdir()
        with other_process(root, "die") as process:
            process.wait()
        assert set(await seen(tree)) == {"d"}
        assert list((root / "d").iterdir()) == []

    async def test_what_a_living_process_is_writing_is_left_alone(self, tree, root) -> None:
        (root / "d").mkdir()
        with other_process(root, "wait") as process:
            assert await tree.sweep() == 0
            await seen(tree)
            assert len(list((root / "d").iterdir())) == 1
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
        assert await tree.sweep() == 1

    async def test_what_this_process_is_writing_is_left_alone(self, tree, root) -> None:
        (root / temporary.new_name()).touch()
        assert await tree.sweep() == 0

    async def test_a_temporary_directory_that_holds_something_is_left_alone(self, tree, root) -> None:
        (root / f"{TEMPORARY}1").mkdir()
        (root / f"{TEMPORARY}1" / "theirs").touch()
        (root / f"{TEMPORARY}2").mkdir()
        assert await tree.sweep() == 1
        assert (root / f"{TEMPORARY}1" / "theirs").exists()

    async def test_nothing_outside_is_swept(self, tree, root, outside) -> None:
        (outside / f"{TEMPORARY}1").touch()
        (root / "l").symlink_to(outside)
        (root / f"{TEMPORARY}2").symlink_to(outside)
        assert await tree.sweep() == 1
        assert {path.name for path in outside.iterdir()} == {"a", f"{TEMPORARY}1"}

    @pytest.mark.parametrize("rest", ["", "x", "1-2", "{pid}-1-1", "99999999-5-1", "-5-1"])
    def test_a_name_without_a_living_owner_is_left_over(self, rest) -> None:
        assert temporary.is_left_over(TEMPORARY + rest.format(pid=os.getpid()))


ONE_GIGABYTE = """
    import asyncio, os, resource, sys
    from pathlib import Path
    from choiros.engines.blob.disk import DiskBlobs
    from choiros.engines.tree.disk import DiskTree
    from choiros.engines.worker.thread import ThreadWorker
    from choiros.kernel.tree import Step

    async def main():
        home, worker = Path(sys.argv[1]), ThreadWorker("test")
        root = home / "workspace"
        root.mkdir()
        blobs, tree = DiskBlobs(home / "blobs", worker), DiskTree(root, worker)
        for name, size in (("small", 3 << 20), ("large", 1 << 30)):
            with (root / name).open("wb") as opened:
                opened.truncate(size)
                opened.seek(size // 2)
                opened.write(b"island")
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            entry, look = await tree.take(name, blobs)
            await blobs.flush()
            done = await tree.apply([Step(name + "-copy", entry, None)], blobs)
            assert not done[name + "-copy"].diverged
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        copy = (root / "large-copy").stat()
        print(copy.st_size, copy.st_blocks * 512, grown)

    asyncio.run(main())
"""


class TestSize:
    def test_a_gigabyte_needs_neither_memory_nor_when_sparse_disk(self, tmp_path) -> None:
        command = [sys.executable, "-c", textwrap.dedent(ONE_GIGABYTE), str(tmp_path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        size, on_disk, grown_kib = map(int, done.stdout.split())
        assert size == 1 << 30
        assert on_disk <= 1 << 20
        assert grown_kib < 16 * 1024
