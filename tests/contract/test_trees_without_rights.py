"""A folder in which we may not do everything: what is refused is said, and nothing else suffers."""

import asyncio
import os
import shutil
import stat
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.tree.disk import DiskTree
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Rejected
from choiros.kernel.path import TEMPORARY
from choiros.kernel.tree import Step
from choiros.testing.tree_contract import (
    check,
    file,
    folder,
    fulfil,
    link,
    nothing_skipped,
    prepared,
    wish,
)

OLD, NEW = b"old content", b"the new content"


def as_nobody(
    test: Callable[[Path], Coroutine[object, object, None]], prepare: Callable[[Path], None]
) -> None:
    """Run a test without any special rights, in a forked child when we have them."""
    home = Path(tempfile.mkdtemp(prefix="choiros-nobody-"))
    root = home / "workspace"
    try:
        home.chmod(0o755)
        root.mkdir()
        prepare(root)
        if os.geteuid() != 0:
            asyncio.run(test(root))
            return
        for path in [root, *root.rglob("*")]:
            os.chown(path, 65534, 65534, follow_symlinks=False)
        child = os.fork()
        if child == 0:
            os._exit(_run_as_nobody(test, root))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", home], check=True)
        shutil.rmtree(home)


def _run_as_nobody(test: Callable[[Path], Coroutine[object, object, None]], root: Path) -> int:
    try:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        asyncio.run(test(root))
    except BaseException:  # noqa: BLE001 - the child tells its parent by its exit code
        traceback.print_exc()
        return 1
    return 0


class TestWithoutRights:
    def test_what_may_not_be_read_is_named_and_not_taken(self) -> None:
        def prepare(root: Path) -> None:
            (root / "secret").write_bytes(OLD)
            (root / "secret").chmod(0o000)
            (root / "write-only").write_bytes(OLD)
            (root / "write-only").chmod(0o222)
            (root / "fine").write_bytes(OLD)
            (root / "fine").chmod(0o400)
            (root / "closed").mkdir()
            (root / "closed" / "inner").write_bytes(OLD)
            (root / "closed").chmod(0o000)

        async def test(root: Path) -> None:
            tree, blobs = DiskTree(root, InlineWorker()), MemoryBlobs()
            found, odd = await tree.scan(nothing_skipped)
            assert set(found) == {"secret", "write-only", "fine", "closed"}
            assert set(odd) == {"secret", "write-only", "closed"}
            for path in ("secret", "write-only", "closed/inner"):
                with pytest.raises(Rejected) as raised:
                    await tree.take(path, blobs)
                assert raised.value.code == "tree.not_kept"
            looks = await tree.look(["closed/inner", "closed/none"])
            # Whether there is anything cannot be known: it is not reported as nothing.
            assert {look.kind for look in looks.values() if look is not None} == {"other"}

        as_nobody(test, prepare)

    def test_where_we_may_not_write_steps_diverge_with_the_reason(self) -> None:
        def prepare(root: Path) -> None:
            (root / "shut").mkdir()
            (root / "shut" / "a").write_bytes(OLD)
            (root / "shut").chmod(0o555)
            (root / "closed").mkdir()
            (root / "closed").chmod(0o000)

        async def test(root: Path) -> None:
            tree, blobs = DiskTree(root, InlineWorker()), MemoryBlobs()
            await prepared(blobs, NEW)
            steps = await wish(tree, {"shut/a": file(NEW), "shut/b": folder(), "shut/l": link("x")})
            steps += await wish(tree, {"fine": file(NEW)})
            steps.append(Step("closed/a", file(NEW), None))
            done = await tree.apply(steps, blobs)
            assert [path for path, one in done.items() if not one.diverged] == ["fine"]
            assert "Permission denied" in done["shut/a"].diverged
            assert (root / "shut" / "a").read_bytes() == OLD
            assert [path.name for path in (root / "shut").iterdir()] == ["a"]
            gone = await tree.apply(await wish(tree, {"shut/a": None}), blobs)
            assert "Permission denied" in gone["shut/a"].diverged
            assert not any(TEMPORARY in name for name in os.listdir(root))  # noqa: PTH208

        as_nobody(test, prepare)

    def test_read_only_directories_of_ours_can_be_changed_with_their_own_step(self) -> None:
        def prepare(root: Path) -> None:
            (root / "old" / "deep").mkdir(parents=True)
            (root / "old" / "deep" / "a").write_bytes(OLD)
            (root / "old" / "deep").chmod(0o555)
            (root / "old").chmod(0o555)

        async def test(root: Path) -> None:
            tree, blobs = DiskTree(root, InlineWorker()), MemoryBlobs()
            await prepared(blobs, NEW)
            await fulfil(tree, blobs, dict.fromkeys(["old", "old/deep", "old/deep/a"]))
            await fulfil(tree, blobs, {"d": folder(0o555), "d/e": folder(0o500), "d/e/a": file(NEW, 0o400)})
            await fulfil(tree, blobs, {"d": folder(0o755), "d/e": folder(0o700), "d/e/a": file(NEW, 0o444)})
            for wishes in (
                {"d/e": folder(0o311), "d/e/b": file(NEW)},
                dict.fromkeys(["d/e", "d/e/a", "d/e/b"]),
            ):
                done = await tree.apply(await wish(tree, wishes), blobs)
                assert {one.diverged for one in done.values()} == {""}
                assert await tree.look(done) == {path: one.stat for path, one in done.items()}

        as_nobody(test, prepare)

    def test_a_read_only_directory_that_must_stay_is_read_only_again(self) -> None:
        def prepare(root: Path) -> None:
            (root / "d").mkdir()
            (root / "d" / "ignored").write_bytes(OLD)
            (root / "d").chmod(0o555)

        async def test(root: Path) -> None:
            tree, blobs = DiskTree(root, InlineWorker()), MemoryBlobs()
            done = await tree.apply(await wish(tree, {"d": None}), blobs)
            assert "still holds something: ignored" in done["d"].diverged
            assert stat.S_IMODE((root / "d").stat().st_mode) == 0o555
            await check(tree, blobs, done)

        as_nobody(test, prepare)
