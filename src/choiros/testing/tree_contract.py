"""What every tree promises, as tests that an engine inherits: override the three fixtures."""

# ruff: noqa: D102, PLR0917 - a test's name is its sentence, and pytest passes fixtures by name

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

import pytest

from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.path import TEMPORARY
from choiros.kernel.tree import Done, Entry, Kind, Stat, Step, Tree

NAMES = {
    "emoji": "\N{FAMILY}\N{ZERO WIDTH JOINER}\N{GRINNING FACE}.txt",
    "composed": "caf\N{LATIN SMALL LETTER E WITH ACUTE}",
    "decomposed": "cafe\N{COMBINING ACUTE ACCENT}",
    "newline": "two\nlines",
    "dash": "-rf",
    "double_dash": "--help",
    "space": " ",
    "dots": "...",
    "hidden": ".hidden",
    "backslash": "a\\b",
    "quotes": "\"'`$(x);&|<>*?",
    "tab_and_bell": "\t\a",
    "right_to_left": "\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe",
    "longest": "x" * 255,
    "longest_in_bytes": "\N{GREEK SMALL LETTER ALPHA}" * 127 + "x",
    "like_a_temporary": "choir-tmp-1",
}
CONTENTS = {
    "empty": b"",
    "one_byte": b"\n",
    "every_byte": bytes(range(256)),
    "zeros": bytes(200_000),
    "zeros_at_both_ends": bytes(150_000) + b"middle" * 20_000 + bytes(150_001),
    "large": b"0123456789abcdef" * 200_000,
}
REFUSED_PATHS = [
    "",
    "/etc/passwd",
    "..",
    "a/../b",
    "./a",
    "a//b",
    "a/",
    "a\0b",
    TEMPORARY + "1",
    "a/" + "x" * 256,
]
KINDS: list[Kind] = ["file", "link", "dir"]


class Outside(Protocol):
    """Somebody who changes the folder without asking."""

    def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file in place, or make one and the directories above it."""
        ...

    def link(self, path: str, target: str) -> None:
        """Put a symbolic link there, in place of whatever stands there."""
        ...

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        """Make a directory and those above it."""
        ...

    def special(self, path: str) -> None:
        """Make something that is neither file, link nor directory."""
        ...

    def chmod(self, path: str, mode: int) -> None:
        """Change the permission bits."""
        ...

    def remove(self, path: str) -> None:
        """Remove whatever stands there, with everything below."""
        ...

    def move(self, path: str, target: str) -> None:
        """Rename, over whatever stands there."""
        ...

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        ...


def file(content: bytes, mode: int = 0o644) -> Entry:
    """Return the entry of a file."""
    return Entry("file", mode, len(content), hashlib.sha256(content).hexdigest())


def link(target: str) -> Entry:
    """Return the entry of a link."""
    return Entry("link", 0o777, target=target)


def folder(mode: int = 0o755) -> Entry:
    """Return the entry of a directory."""
    return Entry("dir", mode)


def nothing_skipped(_path: str, _is_directory: bool) -> bool:  # noqa: FBT001 - the port's signature
    """Skip nothing."""
    return False


async def seen(tree: Tree) -> dict[str, Stat]:
    """Return the look of everything in the folder."""
    found, odd = await tree.scan(nothing_skipped)
    assert odd == {}
    return found


async def wish(tree: Tree, wishes: Mapping[str, Entry | None]) -> list[Step]:
    """Return steps that expect what stands there now."""
    looks = await tree.look(wishes)
    return [Step(path, entry, looks[path]) for path, entry in wishes.items()]


async def fulfil(tree: Tree, blobs: BlobStore, wishes: Mapping[str, Entry | None]) -> Mapping[str, Done]:
    """Apply wishes to the folder as it is now, and check that all of them came about."""
    done = await tree.apply(await wish(tree, wishes), blobs)
    assert {path: one.diverged for path, one in done.items()} == dict.fromkeys(wishes, "")
    await check(tree, blobs, done)
    for path, entry in wishes.items():
        if entry is not None:
            assert await tree.take(path, blobs) == (entry, done[path].stat)
    return done


async def prepared(blobs: BlobStore, *contents: bytes) -> None:
    """Put these contents into the store."""
    for content in contents:
        await blobs.put(content)


async def check(tree: Tree, blobs: BlobStore, done: Mapping[str, Done]) -> None:
    """The look that a step reports is the look that there is."""
    del blobs
    looks = await tree.look(done)
    assert {path: one.stat for path, one in done.items()} == looks
    found = await seen(tree)
    assert {path: look for path, look in looks.items() if look} == {
        path: found[path] for path in looks if path in found
    }


class Meddling:
    """A blob store that lets somebody act in the middle of each put."""

    def __init__(self, blobs: BlobStore, act: Callable[[], None]) -> None:
        self._blobs = blobs
        self._act = act

    async def put(self, chunks: AsyncIterator[bytes] | bytes) -> str:
        """Let the other one act, then put."""
        self._act()
        return await self._blobs.put(chunks)

    async def flush(self) -> None:
        """Flush."""
        await self._blobs.flush()

    async def size(self, digest: str) -> int | None:
        """Return the size."""
        return await self._blobs.size(digest)

    def read(self, digest: str) -> AsyncIterator[bytes]:
        """Return other content than was asked for."""
        return self._blobs.read(digest)

    async def delete(self, digest: str) -> None:
        """Delete."""
        await self._blobs.delete(digest)

    def digests(self) -> AsyncIterator[str]:
        """Return the digests."""
        return self._blobs.digests()


class Lying(Meddling):
    """A blob store that returns other content than it was asked for, and does not notice."""

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        """Return the content with its last byte changed."""
        content = b"".join([chunk async for chunk in self._blobs.read(digest)])
        yield content[:-1] + b"?"


@pytest.mark.anyio
class TreeContract:
    """The promises of `choiros.kernel.tree`."""

    @pytest.fixture
    def tree(self) -> Tree:
        """Return the tree of an empty folder."""
        raise NotImplementedError

    @pytest.fixture
    def outside(self, tree: Tree) -> Outside:
        """Return somebody who changes that folder without asking."""
        raise NotImplementedError

    @pytest.fixture
    def blobs(self) -> BlobStore:
        """Return an empty blob store with a limit of 4 MiB."""
        raise NotImplementedError


class ScanContract(TreeContract):
    """Looking at the folder."""

    async def test_an_empty_folder_holds_nothing(self, tree: Tree) -> None:
        assert await tree.scan(nothing_skipped) == ({}, {})

    async def test_everything_is_found_with_its_kind(self, tree: Tree, outside: Outside) -> None:
        outside.write("a.txt", b"12345", mode=0o640)
        outside.write("deep/er/b", b"", mode=0o755)
        outside.mkdir("empty", 0o700)
        outside.link("dangling", "nowhere")
        outside.link("deep/loop", "loop")
        outside.link("out", "/")
        found = await seen(tree)
        assert {path: (look.kind, look.mode) for path, look in found.items()} == {
            "a.txt": ("file", 0o640),
            "deep": ("dir", 0o755),
            "deep/er": ("dir", 0o755),
            "deep/er/b": ("file", 0o755),
            "empty": ("dir", 0o700),
            "dangling": ("link", 0o777),
            "deep/loop": ("link", 0o777),
            "out": ("link", 0o777),
        }
        assert (found["a.txt"].size, found["dangling"].size) == (5, 7)

    async def test_a_scan_and_a_look_agree(self, tree: Tree, outside: Outside) -> None:
        outside.write("a/b/c", b"x")
        outside.link("a/l", "b")
        found = await seen(tree)
        assert await tree.look(found) == found

    async def test_a_link_to_a_directory_is_not_entered(self, tree: Tree, outside: Outside) -> None:
        outside.write("real/file", b"x")
        outside.link("link", "real")
        assert set(await seen(tree)) == {"real", "real/file", "link"}

    async def test_what_is_skipped_is_left_out_and_not_entered(self, tree: Tree, outside: Outside) -> None:
        outside.write("keep/a.txt", b"")
        outside.write("keep/a.log", b"")
        outside.write("cache/deep/b.txt", b"")
        outside.link("keep/cache", "..")
        asked: dict[str, bool] = {}

        def skip(path: str, is_directory: bool) -> bool:  # noqa: FBT001 - the port's signature
            asked[path] = is_directory
            return path.endswith(".log") or (is_directory and path.endswith("cache"))

        found, odd = await tree.scan(skip)
        assert set(found) == {"keep", "keep/a.txt", "keep/cache"}
        assert odd == {}
        assert asked == {
            "cache": True,
            "keep": True,
            "keep/a.log": False,
            "keep/a.txt": False,
            "keep/cache": False,
        }

    async def test_temporary_files_are_no_content(self, tree: Tree, outside: Outside) -> None:
        outside.write(f"a/{TEMPORARY}1", b"half of someth")
        outside.write("a/b", b"")
        assert set(await seen(tree)) == {"a", "a/b"}

    async def test_what_cannot_be_kept_is_named_with_the_reason(self, tree: Tree, outside: Outside) -> None:
        outside.special("run/socket")
        outside.write("a", b"")
        found, odd = await tree.scan(nothing_skipped)
        assert {path: look.kind for path, look in found.items()} == {
            "a": "file",
            "run": "dir",
            "run/socket": "other",
        }
        assert list(odd) == ["run/socket"]
        assert odd["run/socket"].endswith(".")

    async def test_what_is_skipped_is_not_complained_about(self, tree: Tree, outside: Outside) -> None:
        outside.special("run/socket")
        assert (await tree.scan(lambda path, _is_directory: path == "run")) == ({}, {})

    @pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
    async def test_any_name_is_found(self, tree: Tree, outside: Outside, name: str) -> None:
        outside.write(f"{name}/{name}", b"")
        assert set(await seen(tree)) == {name, f"{name}/{name}"}

    async def test_every_kind_of_change_changes_the_look(self, tree: Tree, outside: Outside) -> None:
        outside.write("a", b"one")
        looks = [(await tree.look(["a"]))["a"]]
        changes: list[Callable[[], None]] = [
            lambda: outside.write("a", b"two"),
            lambda: outside.chmod("a", 0o600),
            lambda: outside.remove("a"),
            lambda: outside.write("a", b"two", mode=0o600),
            lambda: outside.link("a", "two"),
            lambda: outside.link("a", "owt"),
        ]
        for change in changes:
            change()
            looks.append((await tree.look(["a"]))["a"])
        assert len(set(looks)) == len(looks)

    async def test_nothing_is_there_where_no_way_leads(self, tree: Tree, outside: Outside) -> None:
        outside.write("file", b"")
        outside.write("real/inner", b"")
        outside.link("link", "real")
        outside.link("loop", "loop")
        paths = ["none", "none/at/all", "file/inner", "link/inner", "loop/inner", "real/none"]
        assert await tree.look(paths) == dict.fromkeys(paths)

    async def test_nothing_is_looked_at_when_nothing_is_asked(self, tree: Tree) -> None:
        assert await tree.look([]) == {}


class TakeContract(TreeContract):
    """Reading what stands there."""

    @pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
    async def test_a_file_is_taken_with_its_content(
        self, tree: Tree, outside: Outside, blobs: BlobStore, content: bytes
    ) -> None:
        outside.write("a", content, mode=0o604)
        entry, look = await tree.take("a", blobs)
        assert entry == file(content, 0o604)
        assert {"a": look} == await seen(tree)
        assert b"".join([chunk async for chunk in blobs.read(entry.content)]) == content

    @pytest.mark.parametrize(
        "target", ["nowhere", "/etc/passwd", "..", "l", "x" * 4000, "a\nb\N{GRINNING FACE}"]
    )
    async def test_a_link_is_taken_and_not_followed(
        self, tree: Tree, outside: Outside, blobs: BlobStore, target: str
    ) -> None:
        outside.link("l", target)
        entry, look = await tree.take("l", blobs)
        assert entry == link(target)
        assert (look.kind, look.size) == ("link", len(target.encode()))
        assert [digest async for digest in blobs.digests()] == []

    async def test_a_directory_is_taken(self, tree: Tree, outside: Outside, blobs: BlobStore) -> None:
        outside.write("d/e/f", b"")
        outside.chmod("d/e", 0o711)
        entry, look = await tree.take("d/e", blobs)
        assert entry == folder(0o711)
        assert {"d/e": look} == await tree.look(["d/e"])

    async def test_nothing_is_not_found(self, tree: Tree, outside: Outside, blobs: BlobStore) -> None:
        outside.write("real/inner", b"secret")
        outside.link("link", "real")
        for path in ("none", "none/at/all", "link/inner", "real/inner/x"):
            with pytest.raises(Rejected, match=path) as raised:
                await tree.take(path, blobs)
            assert raised.value.code == "tree.not_found"

    async def test_what_is_no_content_is_not_kept(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.special("socket")
        with pytest.raises(Rejected, match="socket") as raised:
            await tree.take("socket", blobs)
        assert raised.value.code == "tree.not_kept"

    async def test_too_large_a_file_is_refused(self, tree: Tree, outside: Outside, blobs: BlobStore) -> None:
        outside.write("a", b"x" * (5 << 20))
        with pytest.raises(Rejected) as raised:
            await tree.take("a", blobs)
        assert raised.value.code == "blob.too_large"

    @pytest.mark.parametrize("size", [9, 3 << 20])
    async def test_a_file_that_never_rests_is_a_conflict(
        self, tree: Tree, outside: Outside, blobs: BlobStore, size: int
    ) -> None:
        outside.write("a", bytes(size))
        turns = iter(range(100))
        meddling = Meddling(blobs, lambda: outside.write("a", b"%d" % next(turns) + bytes(size)))
        with pytest.raises(Conflict, match="'a'") as raised:
            await tree.take("a", meddling)
        assert raised.value.code == "tree.changing"
        assert 2 <= next(turns) <= 5

    @pytest.mark.parametrize("size", [9, 3 << 20])
    async def test_a_file_that_changes_once_is_read_again(
        self, tree: Tree, outside: Outside, blobs: BlobStore, size: int
    ) -> None:
        outside.write("a", bytes(size))
        changes = [lambda: outside.write("a", b"new")]
        entry, look = await tree.take("a", Meddling(blobs, lambda: changes.pop()() if changes else None))
        assert entry == file(b"new")
        assert {"a": look} == await seen(tree)

    async def test_a_file_that_is_replaced_while_it_is_read_is_read_again(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("a", b"old")
        outside.write("b", b"new")
        changes = [lambda: outside.move("b", "a")]
        entry, _ = await tree.take("a", Meddling(blobs, lambda: changes.pop()() if changes else None))
        assert entry == file(b"new")

    async def test_a_file_that_vanishes_while_it_is_read_is_not_found(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("a", b"old")
        with pytest.raises(Rejected) as raised:
            await tree.take("a", Meddling(blobs, lambda: outside.remove("a")))
        assert raised.value.code == "tree.not_found"
