"""What every archive promises, as tests that an engine inherits: override the fixture."""

# ruff: noqa: D102 - a test's name is its sentence

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeAlias

import pytest

from choiros.kernel.archive import Archive, Part
from choiros.kernel.errors import Corrupt, Rejected

MakeArchive: TypeAlias = Callable[[], Archive]
Contents: TypeAlias = Sequence[tuple[str, bytes]]

SEVERAL: Contents = [
    ("manifest.json", b'{"format":1}'),
    ("log/000001.records", bytes(range(256)) * 40),
    ("contents/ab/" + "ab" * 32, b""),
    ("contents/cd/" + "cd" * 32, b"x" * 512),
    ("contents/ef/" + "ef" * 32, bytes(3 * (1 << 20) + 1)),
]


async def parts(contents: Contents, *, piece: int = 1 << 16) -> AsyncIterator[Part]:
    """Yield contents as parts, each in pieces."""
    for name, content in contents:
        yield Part(name, len(content), pieces(content, piece))


async def pieces(content: bytes, size: int) -> AsyncIterator[bytes]:
    """Yield a content in pieces of a size."""
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read_all(archive: Archive) -> list[tuple[str, bytes]]:
    """Return everything that an archive holds."""
    found: list[tuple[str, bytes]] = []
    async for name, size, chunks in archive.read():
        content = b"".join([chunk async for chunk in chunks])
        assert len(content) == size
        found.append((name, content))
    return found


@pytest.mark.anyio
class ArchiveContract:
    """The promises of `choiros.kernel.archive`."""

    @pytest.fixture
    def archives(self) -> MakeArchive:
        """Return what opens the same archive, which is not written yet, once more."""
        raise NotImplementedError

    async def test_what_was_written_is_read_in_the_same_order(self, archives: MakeArchive) -> None:
        await archives().write(parts(SEVERAL))
        assert await read_all(archives()) == SEVERAL

    @pytest.mark.parametrize("piece", [1, 511, 512, 513, 5000])
    async def test_the_size_of_the_pieces_does_not_matter(self, archives: MakeArchive, piece: int) -> None:
        few = SEVERAL[:4]
        await archives().write(parts(few, piece=piece))
        assert await read_all(archives()) == few

    async def test_an_archive_without_parts_is_an_archive(self, archives: MakeArchive) -> None:
        await archives().write(parts([]))
        assert await read_all(archives()) == []

    async def test_no_chunk_is_larger_than_a_mebibyte(self, archives: MakeArchive) -> None:
        await archives().write(parts(SEVERAL))
        async for _, _, chunks in archives().read():
            assert all([len(chunk) <= 1 << 20 async for chunk in chunks])

    async def test_a_part_that_is_not_wanted_may_be_left_unread(self, archives: MakeArchive) -> None:
        await archives().write(parts(SEVERAL))
        assert [name async for name, _, _ in archives().read()] == [name for name, _ in SEVERAL]

    async def test_the_same_parts_have_the_same_hash_and_others_have_another(
        self, archives: MakeArchive
    ) -> None:
        written = await archives().write(parts(SEVERAL))
        assert written.size_bytes >= sum(len(content) for _, content in SEVERAL)
        assert len(written.sha256) == 64

    async def test_what_exists_is_not_written_again(self, archives: MakeArchive) -> None:
        await archives().write(parts(SEVERAL[:1]))
        with pytest.raises(Rejected) as caught:
            await archives().write(parts(SEVERAL))
        assert caught.value.code == "archive.exists"
        assert await read_all(archives()) == SEVERAL[:1]

    async def test_what_does_not_exist_cannot_be_read(self, archives: MakeArchive) -> None:
        with pytest.raises(Rejected) as caught:
            await read_all(archives())
        assert caught.value.code == "archive.not_found"

    async def test_parts_that_cannot_be_read_leave_no_archive(self, archives: MakeArchive) -> None:
        async def failing() -> AsyncIterator[Part]:
            async for part in parts(SEVERAL):
                yield part
            raise Corrupt("blob.damaged", "It is damaged.", fix="None.")

        with pytest.raises(Corrupt, match="It is damaged"):
            await archives().write(failing())
        with pytest.raises(Rejected):
            await read_all(archives())
        await archives().write(parts(SEVERAL))

    @pytest.mark.parametrize("size", [0, 1, 4, 6, 600])
    async def test_a_part_of_another_size_than_it_was_said_to_have_leaves_no_archive(
        self, archives: MakeArchive, size: int
    ) -> None:
        async def lying() -> AsyncIterator[Part]:
            yield Part("manifest.json", size, pieces(b"12345", 2))

        with pytest.raises(Corrupt) as caught:
            await archives().write(lying())
        assert caught.value.code == "archive.changed"
        with pytest.raises(Rejected):
            await read_all(archives())

    @pytest.mark.parametrize(
        "name", ["", "/a", "../a", "a/../b", "a//b", "A", "a/", ".a", "a\x00b", "ä", "a" * 101]
    )
    async def test_a_name_that_is_not_plain_is_our_own_mistake(
        self, archives: MakeArchive, name: str
    ) -> None:
        with pytest.raises(AssertionError):
            await archives().write(parts([(name, b"x")]))
        with pytest.raises(Rejected):
            await read_all(archives())
