"""The store on disk confirms nothing that a power cut or a failing disk could take: order, and refusal."""

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from choiros.engines.blob.disk import DiskBlobs, syncing
from choiros.engines.worker.inline import InlineWorker
from choiros.engines.worker.thread import ThreadWorker
from choiros.kernel.errors import Corrupt, Unavailable
from choiros.testing.blob_contract import (
    CONTENTS,
    LIMIT,
    MIB,
    collect,
    digest_of,
    listed,
    stream,
)


def named(root: Path, digest: str) -> Path:
    return root / digest[:2] / digest


def files(root: Path) -> list[str]:
    """Everything below the root but directories."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "blobs"


@pytest.fixture
def blobs(root: Path) -> DiskBlobs:
    return DiskBlobs(root, InlineWorker(), size_bytes_max=LIMIT)


def path_of(where: int | str | Path) -> Path:
    return Path(f"/proc/self/fd/{where}").readlink() if isinstance(where, int) else Path(where)


class Recorder:
    """Writes down, in order, what was written, synced and renamed, by paths below the root."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.steps: list[str] = []
        self._root = root
        for name in ("fsync", "rename", "write", "unlink"):
            patch.setattr(os, name, self._recorded(name, getattr(os, name)))
        patch.setattr(syncing, "syncfs", self._recorded("syncfs", syncing.syncfs))

    def _recorded(self, name: str, call: Callable) -> Callable:
        def recorded(*args, **options):
            shown = " ".join(self._show(arg) for arg in args if not isinstance(arg, memoryview))
            self.steps.append(f"{name} {shown}")
            return call(*args, **options)

        return recorded

    def _show(self, arg: int | str | Path) -> str:
        path = path_of(arg)
        if self._root not in [path, *path.parents]:
            return "above" if path in self._root.parents else "elsewhere"
        shown = str(path.relative_to(self._root))
        return "tmp" if shown.startswith("tmp/") else shown


@pytest.fixture
def recorder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder(root, monkeypatch)


@contextlib.contextmanager
def failing(
    patch: pytest.MonkeyPatch, name: str, number: int, when: Callable[[str], bool]
) -> Generator[None]:
    """Let os.<name> fail on the descriptors or paths that `when` picks."""
    real = getattr(os, name)

    def fails(what, *rest, **options):
        if when(str(path_of(what))):
            raise OSError(number, os.strerror(number))
        return real(what, *rest, **options)

    with patch.context() as context:
        context.setattr(os, name, fails)
        yield


def in_tmp(path: str) -> bool:
    return "/tmp/" in path.partition("/data/blobs")[2]


@pytest.mark.anyio
class TestOrderOfTheDisk:
    """A power cut keeps what was synced and nothing else: so the order is the promise."""

    async def test_content_then_name_then_directories(self, blobs, recorder) -> None:
        digest = await blobs.put(b"content")
        # The first use makes the root durable in the directories above it.
        assert recorder.steps == ["fsync above", "fsync above", "write tmp"]
        recorder.steps.clear()
        await blobs.flush()
        # The first rename finds no fan-out directory, so the second one does it.
        assert recorder.steps == [
            "fsync tmp",
            f"rename tmp {digest[:2]}/{digest}",
            f"rename tmp {digest[:2]}/{digest}",
            f"fsync {digest[:2]}",
            "fsync .",
        ]

    async def test_a_known_fan_out_directory_needs_no_sync_of_the_root(self, blobs, recorder) -> None:
        first, second = same_fan_out(2)
        await blobs.put(first)
        await blobs.flush()
        recorder.steps.clear()
        digest = await blobs.put(second)
        await blobs.flush()
        named = f"{digest[:2]}/{digest}"
        assert recorder.steps == ["write tmp", "fsync tmp", f"rename tmp {named}", f"fsync {digest[:2]}"]

    async def test_putting_what_is_durable_touches_nothing(self, blobs, recorder) -> None:
        await blobs.put(b"known")
        await blobs.flush()
        recorder.steps.clear()
        await blobs.put(b"known")
        await blobs.put(stream([b"kn", b"own"]))
        await blobs.flush()
        assert recorder.steps == []

    async def test_a_name_that_a_killed_process_left_is_synced_before_it_is_confirmed(
        self, root, recorder
    ) -> None:
        killed = DiskBlobs(root, InlineWorker())
        digest = await killed.put(b"half way")
        await killed.flush()
        recorder.steps.clear()
        # A new process cannot know whether the old one came to the sync of the directory.
        blobs = DiskBlobs(root, InlineWorker())
        await blobs.put(b"half way")
        await blobs.flush()
        assert recorder.steps == [f"fsync {digest[:2]}", "fsync ."]
        recorder.steps.clear()
        await blobs.put(b"half way")
        await blobs.flush()
        assert recorder.steps == []

    async def test_a_name_from_another_process_is_synced_too(self, root, recorder) -> None:
        first, second = same_fan_out(2)
        blobs, other = DiskBlobs(root, InlineWorker()), DiskBlobs(root, InlineWorker())
        await blobs.put(first)
        await blobs.flush()
        digest = await other.put(second)
        await other.flush()
        recorder.steps.clear()
        await blobs.put(second)
        await blobs.flush()
        assert recorder.steps == [f"fsync {digest[:2]}"]

    async def test_many_contents_are_synced_at_once(self, blobs, recorder) -> None:
        for number in range(300):
            await blobs.put(b"%d" % number)
        recorder.steps.clear()
        await blobs.flush()
        kinds = [step.split()[0] for step in recorder.steps]
        assert (kinds[0], kinds[-1]) == ("syncfs", "syncfs")
        assert set(kinds[1:-1]) == {"rename"}

    async def test_without_syncfs_each_is_synced(self, blobs, recorder, monkeypatch) -> None:
        monkeypatch.setattr(syncing, "can_syncfs", lambda: False)
        for number in range(100):
            await blobs.put(b"%d" % number)
        recorder.steps.clear()
        await blobs.flush()
        assert recorder.steps[:100] == ["fsync tmp"] * 100
        fan_outs = {digest_of(b"%d" % number)[:2] for number in range(100)}
        assert {step for step in recorder.steps if step.startswith("fsync")} >= {
            f"fsync {it}" for it in fan_outs
        }

    async def test_streamed_content_is_synced_while_its_descriptor_is_open(self, blobs, recorder) -> None:
        await blobs.put(stream([b"x" * MIB, b"y" * MIB]))
        assert recorder.steps[-1] == "fsync tmp"

    def test_old_kernels_that_hide_errors_of_syncfs_do_not_use_it(self, monkeypatch) -> None:
        for release, expected in [
            ("5.7.19", False),
            ("5.8.0", True),
            ("6.18.44-x", True),
            ("strange", False),
        ]:
            monkeypatch.setattr(os, "uname", lambda r=release: os.uname_result(("Linux", "h", r, "v", "m")))
            assert syncing.can_syncfs.__wrapped__() is expected


def same_fan_out(count: int) -> list[bytes]:
    """Contents whose digests begin alike."""
    every = [b"%d" % number for number in range(2000)]
    return [content for content in every if digest_of(content)[:2] == digest_of(b"0")[:2]][:count]


@pytest.mark.anyio
class TestFailingDisk:
    @pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
    async def test_content_that_cannot_be_synced_is_not_confirmed(
        self, blobs, root, monkeypatch, number
    ) -> None:
        digest = await blobs.put(b"doomed")
        with failing(monkeypatch, "fsync", number, in_tmp), pytest.raises(Unavailable) as raised:
            await blobs.flush()
        assert raised.value.code == "blob.unavailable"
        assert raised.value.fields["errno"] == number
        assert files(root) == []
        assert await blobs.size(digest) is None

    async def test_a_second_flush_does_not_say_yes_either(self, blobs, monkeypatch) -> None:
        await blobs.put(b"doomed")
        with failing(monkeypatch, "fsync", errno.EIO, in_tmp), pytest.raises(Unavailable):
            await blobs.flush()
        # The disk is well again, but somebody may still believe that his content is staged.
        await blobs.put(b"another")
        with pytest.raises(Unavailable, match="put again") as raised:
            await blobs.flush()
        assert raised.value.fields["digests"] == [digest_of(b"doomed")]
        assert await listed(blobs) == [digest_of(b"another")]

    async def test_put_again_after_a_failure_everything_goes_on(self, blobs, monkeypatch) -> None:
        await blobs.put(b"doomed")
        with failing(monkeypatch, "fsync", errno.EIO, in_tmp), pytest.raises(Unavailable):
            await blobs.flush()
        await blobs.put(b"doomed")
        await blobs.flush()
        assert await collect(blobs, digest_of(b"doomed")) == b"doomed"

    async def test_deleting_what_was_lost_clears_the_way_too(self, blobs, monkeypatch) -> None:
        digest = await blobs.put(b"doomed")
        with failing(monkeypatch, "fsync", errno.EIO, in_tmp), pytest.raises(Unavailable):
            await blobs.flush()
        await blobs.delete(digest)
        await blobs.flush()

    async def test_who_waits_behind_a_failing_flush_is_not_confirmed(self, root, monkeypatch) -> None:
        worker = ThreadWorker("test")
        blobs = DiskBlobs(root, worker)
        await blobs.put(b"one")
        await blobs.put(b"other")
        with failing(monkeypatch, "fsync", errno.EIO, in_tmp):
            outcomes = await asyncio.gather(blobs.flush(), blobs.flush(), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Unavailable, Unavailable]
        worker.close()

    async def test_a_directory_that_cannot_be_synced_confirms_nothing(self, blobs, root, monkeypatch) -> None:
        digest = await blobs.put(b"doomed")
        in_fan_out = failing(monkeypatch, "fsync", errno.EIO, lambda path: path.endswith(digest[:2]))
        with in_fan_out, pytest.raises(Unavailable):
            await blobs.flush()
        assert files(root) == []
        with pytest.raises(Unavailable):
            await blobs.flush()

    async def test_failure_never_takes_content_that_was_confirmed(self, blobs, root, monkeypatch) -> None:
        digest = await blobs.put(b"safe")
        await blobs.flush()
        again = DiskBlobs(root, InlineWorker())
        await again.put(b"safe")
        with failing(monkeypatch, "fsync", errno.EIO, lambda _path: True), pytest.raises(Unavailable):
            await again.flush()
        assert await collect(blobs, digest) == b"safe"

    async def test_content_that_another_process_named_first_survives_our_failure(
        self, blobs, root, monkeypatch
    ) -> None:
        digest = await blobs.put(b"both")
        other = DiskBlobs(root, InlineWorker())
        await other.put(b"both")
        await other.flush()
        in_fan_out = failing(monkeypatch, "fsync", errno.EIO, lambda path: path.endswith(digest[:2]))
        with in_fan_out, pytest.raises(Unavailable):
            await blobs.flush()
        assert await collect(other, digest) == b"both"

    async def test_a_failing_syncfs_throws_all_away(self, blobs, root, monkeypatch) -> None:
        def fails(_fd: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        for number in range(100):
            await blobs.put(b"%d" % number)
        with monkeypatch.context() as patch:
            patch.setattr(syncing, "syncfs", fails)
            with pytest.raises(Unavailable):
                await blobs.flush()
        assert files(root) == []
        with pytest.raises(Unavailable, match="100 contents"):
            await blobs.flush()

    async def test_a_name_that_cannot_be_given_throws_all_away(self, blobs, root, monkeypatch) -> None:
        await blobs.put(b"one")
        await blobs.put(b"other")
        with failing(monkeypatch, "rename", errno.ENOSPC, in_tmp), pytest.raises(Unavailable) as raised:
            await blobs.flush()
        assert "space" in raised.value.fix
        assert files(root) == []

    @pytest.mark.parametrize("size", [10, 3 * MIB])
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
    async def test_content_that_cannot_be_written_leaves_nothing(
        self, blobs, root, monkeypatch, size, number
    ) -> None:
        with failing(monkeypatch, "write", number, in_tmp):
            for chunks in (b"x" * size, stream([b"x" * size])):
                with pytest.raises(Unavailable):
                    await blobs.put(chunks)
        assert files(root) == []
        await blobs.flush()

    async def test_partial_writes_are_carried_on(self, blobs, monkeypatch) -> None:
        real = os.write
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda fd, data: real(fd, data[: max(1, len(data) // 2)]))
            digest = await blobs.put(CONTENTS["zeros_at_both_ends"])
        assert await collect(blobs, digest) == CONTENTS["zeros_at_both_ends"]

    async def test_a_disk_that_cannot_read_names_digest_and_file(self, blobs, root, monkeypatch) -> None:
        digest = await blobs.put(b"unreadable")
        await blobs.flush()
        with (
            failing(monkeypatch, "read", errno.EIO, lambda path: digest in path),
            pytest.raises(Corrupt) as raised,
        ):
            await collect(blobs, digest)
        assert raised.value.code == "blob.damaged"
        assert raised.value.fields["file"] == str(named(root, digest))
        assert digest in str(raised.value)

    async def test_too_many_open_files_is_no_damage(self, blobs, monkeypatch) -> None:
        digest = await blobs.put(b"fine")
        with failing(monkeypatch, "open", errno.EMFILE, in_tmp), pytest.raises(Unavailable):
            await collect(blobs, digest)
        assert await collect(blobs, digest) == b"fine"

    async def test_a_store_whose_place_is_taken_is_unavailable(self, tmp_path) -> None:
        (tmp_path / "file").touch()
        blobs = DiskBlobs(tmp_path / "file", InlineWorker())
        with pytest.raises(Unavailable):
            await blobs.put(b"x")
        assert await listed(blobs) == []

    async def test_a_link_in_the_place_of_content_is_damage(self, blobs, root, tmp_path) -> None:
        digest = await blobs.put(b"secret")
        await blobs.flush()
        (tmp_path / "elsewhere").write_bytes(b"secret")
        named(root, digest).unlink()
        named(root, digest).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(Corrupt) as raised:
            await collect(blobs, digest)
        assert raised.value.code == "blob.damaged"
        assert await blobs.size(digest) is None

    async def test_cut_content_is_replaced_when_it_is_put_again(self, blobs, root) -> None:
        digest = await blobs.put(b"whole")
        await blobs.flush()
        named(root, digest).write_bytes(b"who")
        await blobs.put(b"whole")
        await blobs.flush()
        assert await collect(blobs, digest) == b"whole"
