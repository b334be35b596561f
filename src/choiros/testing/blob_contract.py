"""What every blob store promises, as tests that an engine inherits: override the three fixtures."""

# ruff: noqa: D102, PLR0917 - a test's name is its sentence, and pytest passes fixtures by name

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TypeAlias

import pytest

from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Corrupt, Rejected

LIMIT = 4 << 20
"""The size limit of the store under test in bytes."""

MIB = 1 << 20
NOT_THERE = "0" * 64
CONTENTS = {
    "empty": b"",
    "one_byte": b"x",
    "one_zero": b"\0",
    "every_byte": bytes(range(256)),
    "text": "naïve café \N{GRINNING FACE}\r\n".encode(),
    "a_block_of_zeros": bytes(1 << 16),
    "zeros": bytes(3 * MIB),
    "islands_between_zeros": b"a" + bytes(200_000) + b"b" + bytes(200_000) + b"c",
    "zeros_at_both_ends": bytes(150_000) + b"middle" * 30_000 + bytes(150_001),
    "one_chunk": b"0123456789abcdef" * (MIB // 16),
    "one_chunk_and_a_byte": b"0123456789abcdef" * (MIB // 16) + b"!",
    "several_chunks": b"0123456789abcde" * (3 * MIB // 15),
}

Harm: TypeAlias = Callable[[str, bytes], None]
Crash: TypeAlias = Callable[[], BlobStore]


async def stream(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Return the chunks as they come from a network or another file."""
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


async def collect(blobs: BlobStore, digest: str) -> bytes:
    """Return content as a whole."""
    return b"".join([chunk async for chunk in blobs.read(digest)])


async def listed(blobs: BlobStore) -> list[str]:
    """Return the digests of what is durable, sorted."""
    return sorted([digest async for digest in blobs.digests()])


def digest_of(content: bytes) -> str:
    """Return the name of content."""
    return hashlib.sha256(content).hexdigest()


@pytest.mark.anyio
class BlobContract:
    """The promises of `choiros.kernel.blob`."""

    @pytest.fixture
    def blobs(self) -> BlobStore:
        """Return an empty store with the limit LIMIT."""
        raise NotImplementedError

    @pytest.fixture
    def harm(self) -> Harm:
        """Return what puts other bytes where durable content is kept."""
        raise NotImplementedError

    @pytest.fixture
    def crash(self) -> Crash:
        """Return what crashes and returns the store as it is found afterwards."""
        raise NotImplementedError

    @pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
    async def test_any_content_comes_back_as_it_was(self, blobs: BlobStore, content: bytes) -> None:
        digest = await blobs.put(content)
        assert digest == digest_of(content)
        assert await collect(blobs, digest) == content
        await blobs.flush()
        assert await collect(blobs, digest) == content
        assert await blobs.size(digest) == len(content)

    @pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
    async def test_a_stream_and_bytes_are_the_same_content(self, blobs: BlobStore, content: bytes) -> None:
        step = 77_777
        cut = [content[start : start + step] for start in range(0, len(content), step)]
        assert await blobs.put(stream([b"", *cut, b""])) == digest_of(content)
        await blobs.flush()
        assert await collect(blobs, digest_of(content)) == content
        assert await blobs.put(content) == digest_of(content)
        await blobs.flush()
        assert await listed(blobs) == [digest_of(content)]

    async def test_one_huge_chunk_is_taken(self, blobs: BlobStore) -> None:
        content = CONTENTS["several_chunks"]
        digest = await blobs.put(stream([content]))
        assert await collect(blobs, digest) == content

    async def test_content_is_given_out_in_chunks_of_bounded_size(self, blobs: BlobStore) -> None:
        digest = await blobs.put(CONTENTS["several_chunks"])
        sizes = [len(chunk) async for chunk in blobs.read(digest)]
        assert len(sizes) >= 3
        assert max(sizes) <= MIB

    async def test_the_same_content_is_kept_once(self, blobs: BlobStore) -> None:
        assert await blobs.put(b"twice") == await blobs.put(b"twice")
        await blobs.flush()
        await blobs.put(b"twice")
        await blobs.flush()
        assert await listed(blobs) == [digest_of(b"twice")]

    async def test_staged_content_can_be_read_but_is_not_listed(self, blobs: BlobStore) -> None:
        digest = await blobs.put(b"soon")
        assert await collect(blobs, digest) == b"soon"
        assert await blobs.size(digest) == 4
        assert await listed(blobs) == []
        await blobs.flush()
        assert await listed(blobs) == [digest]

    async def test_what_flush_confirmed_is_there_after_a_crash(self, blobs: BlobStore, crash: Crash) -> None:
        digests = sorted([await blobs.put(b"%d" % number) for number in range(50)])
        await blobs.flush()
        await blobs.put(b"never confirmed")
        after = crash()
        assert await listed(after) == digests
        assert await collect(after, digest_of(b"7")) == b"7"

    async def test_content_can_be_put_again_after_a_crash_lost_it(
        self, blobs: BlobStore, crash: Crash
    ) -> None:
        digest = await blobs.put(b"lost")
        after = crash()
        assert await after.put(b"lost") == digest
        await after.flush()
        assert await collect(crash(), digest) == b"lost"

    async def test_nothing_to_flush_is_no_error(self, blobs: BlobStore) -> None:
        await blobs.flush()
        await blobs.flush()
        assert await listed(blobs) == []

    async def test_content_that_is_not_here_has_no_size(self, blobs: BlobStore) -> None:
        assert await blobs.size(NOT_THERE) is None

    async def test_missing_content_is_named(self, blobs: BlobStore) -> None:
        with pytest.raises(Corrupt, match=NOT_THERE) as raised:
            await collect(blobs, NOT_THERE)
        assert raised.value.code == "blob.missing"
        assert raised.value.fields["digest"] == NOT_THERE

    @pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
    async def test_what_is_no_digest_leads_nowhere(self, blobs: BlobStore, name: str) -> None:
        assert await blobs.size(name) is None
        await blobs.delete(name)
        with pytest.raises(Corrupt) as raised:
            await collect(blobs, name)
        assert raised.value.code == "blob.missing"

    @pytest.mark.parametrize("wrong", [b"", b"xontent", b"conten", b"contentt", b"\0" * 7])
    async def test_damaged_content_is_never_taken_for_content(
        self, blobs: BlobStore, harm: Harm, wrong: bytes
    ) -> None:
        digest = await blobs.put(b"content")
        await blobs.flush()
        harm(digest, wrong)
        with pytest.raises(Corrupt, match=digest) as raised:
            await collect(blobs, digest)
        assert raised.value.code == "blob.damaged"
        assert raised.value.fields["digest"] == digest

    @pytest.mark.parametrize("wrong", [b"", b"xontent", b"conten", b"contentt", b"\0" * 7])
    @pytest.mark.parametrize("chunks", [[b"content"], [b"con", b"tent"]])
    async def test_damaged_content_is_whole_again_when_it_is_put_again(
        self, blobs: BlobStore, harm: Harm, crash: Crash, wrong: bytes, chunks: Sequence[bytes]
    ) -> None:
        digest = await blobs.put(b"content")
        await blobs.flush()
        harm(digest, wrong)
        await blobs.put(stream(chunks))
        await blobs.flush()
        assert await collect(crash(), digest) == b"content"

    async def test_damage_in_the_last_byte_of_large_content_is_found(
        self, blobs: BlobStore, harm: Harm
    ) -> None:
        content = CONTENTS["several_chunks"]
        digest = await blobs.put(content)
        await blobs.flush()
        harm(digest, content[:-1] + b"?")
        with pytest.raises(Corrupt) as raised:
            await collect(blobs, digest)
        assert raised.value.code == "blob.damaged"

    async def test_content_at_the_limit_is_taken(self, blobs: BlobStore) -> None:
        assert await blobs.size(await blobs.put(b"x" * LIMIT)) == LIMIT
        assert await blobs.size(await blobs.put(stream([b"y" * MIB] * (LIMIT // MIB)))) == LIMIT

    async def test_content_beyond_the_limit_is_refused_and_leaves_nothing(self, blobs: BlobStore) -> None:
        for chunks in (b"x" * (LIMIT + 1), stream([b"x" * MIB] * (LIMIT // MIB) + [b"x"])):
            with pytest.raises(Rejected, match=str(LIMIT)) as raised:
                await blobs.put(chunks)
            assert raised.value.code == "blob.too_large"
        await blobs.flush()
        assert await listed(blobs) == []
        assert await blobs.size(digest_of(b"x" * (LIMIT + 1))) is None

    async def test_an_endless_stream_is_left_at_the_limit(self, blobs: BlobStore) -> None:
        taken = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal taken
            while True:
                taken += MIB
                yield b"x" * MIB

        with pytest.raises(Rejected):
            await blobs.put(endless())
        assert taken <= LIMIT + 2 * MIB

    async def test_a_stream_that_breaks_off_leaves_nothing(self, blobs: BlobStore) -> None:
        async def broken() -> AsyncIterator[bytes]:
            yield b"x" * (2 * MIB)
            raise ConnectionError

        with pytest.raises(ConnectionError):
            await blobs.put(broken())
        await blobs.flush()
        assert await listed(blobs) == []

    async def test_a_put_that_is_cancelled_leaves_nothing(self, blobs: BlobStore) -> None:
        arrived = asyncio.Event()

        async def stalled() -> AsyncIterator[bytes]:
            yield b"x" * (2 * MIB)
            arrived.set()
            await asyncio.Event().wait()

        task = asyncio.ensure_future(blobs.put(stalled()))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await blobs.flush()
        assert await listed(blobs) == []

    async def test_deleted_content_is_gone(self, blobs: BlobStore, crash: Crash) -> None:
        durable = await blobs.put(b"durable")
        await blobs.flush()
        staged = await blobs.put(b"staged")
        for digest in (durable, staged, NOT_THERE, durable):
            await blobs.delete(digest)
            assert await blobs.size(digest) is None
        await blobs.flush()
        assert await listed(blobs) == []
        assert await listed(crash()) == []

    async def test_deleted_content_can_be_put_again(self, blobs: BlobStore, crash: Crash) -> None:
        digest = await blobs.put(b"back")
        await blobs.flush()
        await blobs.delete(digest)
        await blobs.put(b"back")
        await blobs.flush()
        assert await collect(crash(), digest) == b"back"

    async def test_many_may_put_flush_and_read_at_once(self, blobs: BlobStore, crash: Crash) -> None:
        async def one(number: int) -> None:
            content = b"%d" % (number % 20) * 50_000
            digest = await blobs.put(stream([content[:11], content[11:]]))
            await blobs.flush()
            assert await collect(blobs, digest) == content

        await asyncio.gather(*(one(number) for number in range(60)))
        assert len(await listed(crash())) == 20

    async def test_two_readers_do_not_disturb_each_other(self, blobs: BlobStore) -> None:
        digest = await blobs.put(CONTENTS["several_chunks"])
        pairs = [
            (await anext(one), await anext(other))
            for one, other in [(blobs.read(digest), blobs.read(digest))]
        ]
        assert pairs[0][0] == pairs[0][1]

    async def test_a_reader_may_stop_early(self, blobs: BlobStore) -> None:
        digest = await blobs.put(CONTENTS["several_chunks"])
        async for chunk in blobs.read(digest):
            assert CONTENTS["several_chunks"].startswith(chunk)
            break
        await blobs.delete(digest)
        assert await blobs.size(digest) is None

    async def test_many_contents_are_flushed_at_once(self, blobs: BlobStore, crash: Crash) -> None:
        digests = sorted([await blobs.put(b"content %d" % number) for number in range(300)])
        await blobs.flush()
        assert await listed(crash()) == digests
