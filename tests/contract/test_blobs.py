"""Every blob store keeps the promises of the port; the one on disk also about crashes and failing disks."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from choiros.engines.blob.disk import DiskBlobs, temporary
from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.worker.inline import InlineWorker
from choiros.engines.worker.thread import ThreadWorker
from choiros.kernel.errors import Corrupt
from choiros.testing.blob_contract import (
    CONTENTS,
    LIMIT,
    MIB,
    BlobContract,
    collect,
    digest_of,
    listed,
    stream,
)


class TestMemory(BlobContract):
    @pytest.fixture
    def blobs(self):
        return MemoryBlobs(LIMIT)

    @pytest.fixture
    def harm(self, blobs):
        return blobs.damage

    @pytest.fixture
    def crash(self, blobs):
        def crash():
            blobs.crash()
            return blobs

        return crash


class TestDisk(BlobContract):
    @pytest.fixture
    def worker(self):
        worker = ThreadWorker("test")
        yield worker
        worker.close()

    @pytest.fixture
    def blobs(self, tmp_path, worker):
        return DiskBlobs(tmp_path / "blobs", worker, size_bytes_max=LIMIT)

    @pytest.fixture
    def harm(self, tmp_path):
        return lambda digest, content: named(tmp_path / "blobs", digest).write_bytes(content)

    @pytest.fixture
    def crash(self, tmp_path, worker):
        return lambda: DiskBlobs(tmp_path / "blobs", worker, size_bytes_max=LIMIT)


class TestDiskInline(TestDisk):
    @pytest.fixture
    def worker(self):
        return InlineWorker()


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


@pytest.mark.anyio
class TestFiles:
    async def test_only_the_owner_may_see_anything(self, blobs, root) -> None:
        before = os.umask(0)
        try:
            await blobs.put(b"flushed")
            await blobs.flush()
            await blobs.put(b"staged")
        finally:
            os.umask(before)
        for path in [root.parent, root, *root.rglob("*")]:
            assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path

    async def test_content_stands_under_its_digest(self, blobs, root) -> None:
        digest = await blobs.put(b"content")
        await blobs.flush()
        assert files(root) == [f"{digest[:2]}/{digest}"]
        assert named(root, digest).read_bytes() == b"content"

    async def test_foreign_files_are_no_content(self, blobs, root) -> None:
        digest = await blobs.put(b"content")
        await blobs.flush()
        (root / "README").touch()
        (root / digest[:2] / "notes.txt").touch()
        other = next(f"{number:02x}" for number in range(256) if f"{number:02x}" != digest[:2])
        (root / other).mkdir()
        (root / other / digest).touch()
        (root / "zz").mkdir()
        assert await listed(blobs) == [digest]

    async def test_what_is_no_digest_leads_to_no_other_file(self, blobs, root) -> None:
        secret = root.parent.parent / "secret"
        secret.write_bytes(b"secret")
        await blobs.put(b"x")
        assert await blobs.size("../secret") is None
        with pytest.raises(Corrupt) as raised:
            await collect(blobs, "../secret")
        assert raised.value.code == "blob.missing"
        await blobs.delete("../secret")
        assert secret.exists()

    @pytest.mark.parametrize("name", ["zeros", "islands_between_zeros", "zeros_at_both_ends"])
    async def test_zeros_take_no_room(self, blobs, root, name) -> None:
        content = CONTENTS[name]
        for chunks in (content, stream([content])):
            digest = await blobs.put(chunks)
            await blobs.flush()
            look = named(root, digest).stat()
            assert look.st_size == len(content)
            starts = range(0, len(content), 1 << 16)
            blocks = [content[start : start + (1 << 16)] for start in starts]
            solid = [block for block in blocks if any(block) or len(block) < 1 << 16]
            assert look.st_blocks * 512 <= len(solid) << 16
            await blobs.delete(digest)

    async def test_a_cancelled_put_that_had_just_ended_spoils_no_flush(self, root, monkeypatch) -> None:
        worker = ThreadWorker("test")
        blobs = DiskBlobs(root, worker)
        kept = await blobs.put(b"kept")
        writing, go_on = threading.Event(), threading.Event()
        real = os.write

        def slow(descriptor, data):
            writing.set()
            go_on.wait()
            return real(descriptor, data)

        # The worker is in the middle of it when it is given up, and carries it out all the same.
        monkeypatch.setattr(os, "write", slow)
        task = asyncio.ensure_future(blobs.put(b"given up"))
        await asyncio.to_thread(writing.wait)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await blobs.flush()
        assert await collect(blobs, kept) == b"kept"
        worker.close()


PUT_AND_DIE = """
    import asyncio, os, sys
    from pathlib import Path
    from choiros.engines.blob.disk import DiskBlobs
    from choiros.engines.worker.inline import InlineWorker
    blobs = DiskBlobs(Path(sys.argv[1]), InlineWorker())
    asyncio.run(blobs.put(b"left behind"))
    print("staged", flush=True)
    if sys.argv[2] == "wait":
        sys.stdin.read()
    os._exit(9)
"""


def other_process(root: Path, how: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", textwrap.dedent(PUT_AND_DIE), str(root), how]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"staged\n"
    return process


@pytest.mark.anyio
class TestLeftovers:
    async def test_what_a_killed_process_left_is_removed_at_the_first_use(self, root) -> None:
        with other_process(root, "die") as process:
            process.wait()
        assert len(files(root)) == 1
        blobs = DiskBlobs(root, InlineWorker())
        assert await blobs.size(digest_of(b"left behind")) is None
        await blobs.put(b"new")
        await blobs.flush()
        assert files(root) == [f"{digest_of(b'new')[:2]}/{digest_of(b'new')}"]

    async def test_what_a_killed_process_left_is_removed_when_contents_are_listed(self, root) -> None:
        with other_process(root, "die") as process:
            process.wait()
        assert await listed(DiskBlobs(root, InlineWorker())) == []
        assert files(root) == []

    async def test_what_a_living_process_is_about_to_store_is_left_alone(self, root) -> None:
        with other_process(root, "wait") as process:
            blobs = DiskBlobs(root, InlineWorker())
            await blobs.put(b"new")
            await blobs.flush()
            assert len([path for path in files(root) if path.startswith("tmp/")]) == 1
            assert process.stdin is not None
            process.stdin.close()
            process.wait()

    async def test_a_second_store_in_the_same_process_leaves_the_first_alone(self, blobs, root) -> None:
        digest = await blobs.put(b"staged")
        other = DiskBlobs(root, InlineWorker())
        await other.put(b"new")
        await other.flush()
        await blobs.flush()
        assert await collect(other, digest) == b"staged"

    @pytest.mark.parametrize("name", ["", "x", "1-2", "{pid}-1-1", "99999999-5-1", "-5-1", "strange.tmp"])
    def test_a_name_without_a_living_owner_is_left_over(self, name) -> None:
        assert temporary.is_left_over(name.format(pid=os.getpid()))

    def test_a_name_of_this_process_is_not_left_over(self) -> None:
        assert not temporary.is_left_over(temporary.new_name())

    async def test_a_directory_among_the_temporary_files_is_no_obstacle(self, blobs, root) -> None:
        (root / "tmp" / "strange").mkdir(parents=True)
        await blobs.put(b"x")
        await blobs.flush()


ONE_GIGABYTE = """
    import asyncio, resource, sys
    from pathlib import Path
    from choiros.engines.blob.disk import DiskBlobs
    from choiros.engines.worker.thread import ThreadWorker

    async def zeros(count):
        chunk = bytes(1 << 20)
        for _ in range(count):
            yield chunk
        yield b"end"

    async def main():
        blobs = DiskBlobs(Path(sys.argv[1]), ThreadWorker("blobs"))
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await blobs.put(zeros(3))
        before = peak()
        digest = await blobs.put(zeros(1024))
        await blobs.flush()
        total = 0
        async for chunk in blobs.read(digest):
            total += len(chunk)
        print(total, peak() - before)

    asyncio.run(main())
"""


class TestSize:
    def test_a_gigabyte_needs_neither_memory_nor_when_sparse_disk(self, root) -> None:
        command = [sys.executable, "-c", textwrap.dedent(ONE_GIGABYTE), str(root)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        total, grown_kib = map(int, done.stdout.split())
        assert total == (1 << 30) + 3
        assert grown_kib < 16 * 1024
        assert sum(path.stat().st_blocks * 512 for path in root.rglob("*") if path.is_file()) < MIB
