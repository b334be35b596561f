"""What every repository promises, as tests that an engine inherits: override the two fixtures."""

# ruff: noqa: D102, PLR0917 - a test's name is its sentence, and pytest passes fixtures by name

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TypeAlias

import pytest

from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.repository import Commit, Repository
from choiros.kernel.tree import Entry

Make: TypeAlias = Callable[[], Repository]

NOON = 1_700_000_000_000
"""The time of the first commit, in Unix milliseconds."""

UNSAFE_NAMES = [
    ".git",
    ".GIT/config",
    "a/.git/hooks/post-commit",
    ".g\N{ZERO WIDTH NON-JOINER}it/config",
    ".choir/log.db",
    "../out",
    "a/../../out",
    "/etc/passwd",
    "a//b",
    "./a",
    "a/",
]
BAD_URLS = [
    "",
    "-x",
    "--upload-pack=touch /tmp/x",
    "ext::sh -c touch% /tmp/x",
    "EXT::sh",
    "http://example.org/a",
    "git://example.org/a",
    "HTTPS://example.org/a",
    "Ssh://git@example.org/a",
    "file:relative",
    "relative/path",
    "../up",
    "git@example.org:a",
    "https://example.org/a\nb",
]


class Shelf:
    """The smallest store of content: what is put stays."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    async def put(self, chunks: AsyncIterator[bytes] | bytes) -> str:
        """Take the content and return its SHA-256."""
        content = chunks if isinstance(chunks, bytes) else b"".join([chunk async for chunk in chunks])
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return digest

    async def flush(self) -> None:
        """Nothing is ever on its way."""

    async def size(self, digest: str) -> int | None:
        """Return the size, None when it is not here."""
        return len(self.contents[digest]) if digest in self.contents else None

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        """Return the content in small chunks."""
        if digest not in self.contents:
            raise Corrupt("blob.missing", "It is not here.", fix="Put it there.", digest=digest)
        content = self.contents[digest]
        for start in range(0, len(content), 1 << 16):
            await asyncio.sleep(0)
            yield content[start : start + (1 << 16)]

    async def delete(self, digest: str) -> None:
        """Forget the content."""
        self.contents.pop(digest, None)

    async def digests(self) -> AsyncIterator[str]:
        """Return every digest."""
        for digest in list(self.contents):
            yield digest

    async def file(self, content: bytes, mode: int = 0o644) -> Entry:
        """Put the content and return the entry of a file that holds it."""
        return Entry("file", mode, size=len(content), content=await self.put(content))


class Writer:
    """Makes commits, one second after the other."""

    def __init__(self, repository: Repository, shelf: Shelf) -> None:
        self.repository = repository
        self.shelf = shelf
        self.seq = 0

    async def commit(self, texts: Mapping[str, str], message: str = "a checkpoint") -> Commit:
        """Commit files with these texts."""
        files = {path: await self.shelf.file(text.encode()) for path, text in texts.items()}
        return await self.entries(files, message)

    async def entries(self, files: Mapping[str, Entry], message: str = "a checkpoint") -> Commit:
        """Commit these entries."""
        self.seq += 1
        return await self.repository.commit(
            files,
            self.shelf,
            message=message,
            author="Ada <ada@example.org>",
            timestamp=NOON + 1000 * self.seq,
            seq=self.seq,
        )


@pytest.mark.anyio
class RepositoryContract:
    """The promises of `choiros.kernel.repository`."""

    @pytest.fixture
    def make(self) -> Make:
        """Return what makes an empty repository at each call."""
        raise NotImplementedError

    @pytest.fixture
    def place(self) -> str:
        """Return an address that all of them can push to, where nothing is yet."""
        raise NotImplementedError

    @pytest.fixture
    def shelf(self) -> Shelf:
        return Shelf()

    @pytest.fixture
    def writer(self, make: Make, shelf: Shelf) -> Writer:
        return Writer(make(), shelf)

    async def test_before_the_first_commit_there_is_nothing(self, make: Make, shelf: Shelf) -> None:
        repository = make()
        assert await repository.head() is None
        assert await repository.log() == []
        assert await repository.backup("before-anything") == []
        with pytest.raises(Rejected) as refused:
            await repository.files("main", shelf)
        assert refused.value.code == "repository.unknown_commit"

    async def test_a_commit_tells_what_it_was_given(self, writer: Writer) -> None:
        made = await writer.commit({"a.txt": "a"}, "  The first one\n\nwith a body\n\n")
        assert made.message == "The first one\n\nwith a body"
        assert (made.author, made.seq, made.parents) == ("Ada <ada@example.org>", 1, ())
        assert made.timestamp == NOON + 1000
        assert await writer.repository.head() == made

    async def test_times_are_kept_to_the_second(self, make: Make, shelf: Shelf) -> None:
        made = await make().commit({}, shelf, message="m", author="Ada", timestamp=NOON + 999, seq=1)
        assert (made.timestamp, made.author) == (NOON, "Ada")

    async def test_the_log_goes_backwards_from_the_head(self, writer: Writer) -> None:
        made = [await writer.commit({"a": str(number)}) for number in range(4)]
        assert await writer.repository.log() == made[::-1]
        assert await writer.repository.log(2) == made[:1:-1]
        assert [commit.parents for commit in made[1:]] == [(commit.id,) for commit in made[:-1]]

    async def test_the_same_input_makes_the_same_id(self, make: Make) -> None:
        first, second = [await Writer(make(), Shelf()).commit({"a": "1", "b/c": "2"}) for _ in range(2)]
        assert first == second

    @pytest.mark.parametrize("change", ["file", "message", "author", "time", "seq"])
    async def test_any_other_input_makes_another_id(self, make: Make, shelf: Shelf, change: str) -> None:
        plain = await make().commit(
            {"a": await shelf.file(b"1")}, shelf, message="m", author="Ada", timestamp=NOON, seq=1
        )
        changed = await make().commit(
            {"a": await shelf.file(b"2" if change == "file" else b"1")},
            shelf,
            message="other" if change == "message" else "m",
            author="Bob" if change == "author" else "Ada",
            timestamp=NOON + 1000 * (change == "time"),
            seq=1 + (change == "seq"),
        )
        assert plain.id != changed.id

    async def test_files_come_back_as_git_keeps_them(self, writer: Writer) -> None:
        shelf = writer.shelf
        made = await writer.entries(
            {
                "plain.txt": await shelf.file(b"text\r\n", 0o600),
                "run.sh": await shelf.file(b"#!/bin/sh\n", 0o700),
                "empty": await shelf.file(b""),
                "bytes": await shelf.file(bytes(range(256))),
                "deep/er/naïve café \N{GRINNING FACE}": await shelf.file(b"x"),
                "same-content": await shelf.file(b"x"),
                "link": Entry("link", 0o777, target="deep/er"),
                "outward": Entry("link", 0o777, target="../../etc/passwd"),
                "link-of-a-text": Entry("link", 0o777, target="x"),
                "folder": Entry("dir", 0o755),
                "deep": Entry("dir", 0o755),
            }
        )
        elsewhere = Shelf()
        files = await writer.repository.files(made.id, elsewhere)
        assert files == {
            "plain.txt": await shelf.file(b"text\r\n", 0o644),
            "run.sh": await shelf.file(b"#!/bin/sh\n", 0o755),
            "empty": await shelf.file(b""),
            "bytes": await shelf.file(bytes(range(256))),
            "deep/er/naïve café \N{GRINNING FACE}": await shelf.file(b"x"),
            "same-content": await shelf.file(b"x"),
            "link": Entry("link", 0o777, target="deep/er"),
            "outward": Entry("link", 0o777, target="../../etc/passwd"),
            "link-of-a-text": Entry("link", 0o777, target="x"),
        }
        digests = {entry.content for entry in files.values() if entry.kind == "file"}
        assert digests <= set(elsewhere.contents)

    async def test_a_large_content_comes_back(self, writer: Writer) -> None:
        large = b"0123456789abcdef" * (5 << 16) + b"!"
        made = await writer.entries(
            {"large": await writer.shelf.file(large), "small": await writer.shelf.file(b"s")}
        )
        elsewhere = Shelf()
        files = await writer.repository.files(made.id, elsewhere)
        assert elsewhere.contents[files["large"].content] == large
        assert elsewhere.contents[files["small"].content] == b"s"

    async def test_many_contents_come_back(self, writer: Writer) -> None:
        texts = {f"folder/{number}": f"{number} " * (number * 200) for number in range(200)}
        made = await writer.commit(texts)
        elsewhere = Shelf()
        files = await writer.repository.files(made.id, elsewhere)
        assert {path: elsewhere.contents[entry.content].decode() for path, entry in files.items()} == texts

    async def test_a_commit_holds_exactly_its_files(self, writer: Writer) -> None:
        first = await writer.commit({"a": "1", "b/c": "2", "b/d": "3", "e": "4"})
        second = await writer.commit({"a": "changed", "b": "a file now", "e/f": "a folder now"})
        third = await writer.commit({})
        fourth = await writer.commit({"a": "1", "b/c": "2", "b/d": "3", "e": "4"})
        listed = [
            sorted(await writer.repository.files(made.id, Shelf())) for made in (first, second, third, fourth)
        ]
        assert listed == [["a", "b/c", "b/d", "e"], ["a", "b", "e/f"], [], ["a", "b/c", "b/d", "e"]]

    async def test_a_commit_without_a_change_is_a_commit(self, writer: Writer) -> None:
        first = await writer.commit({"a": "1"})
        second = await writer.commit({"a": "1"})
        assert second.parents == (first.id,)

    async def test_a_unique_prefix_names_a_commit(self, writer: Writer) -> None:
        made = await writer.commit({"a": "1"})
        assert list(await writer.repository.files(made.id[:10], Shelf())) == ["a"]

    @pytest.mark.parametrize(
        "name", ["", "a", "f" * 40, "HEAD~1", "main..x", "-x", ":/m", "\0", "../HEAD", "é"]
    )
    async def test_what_names_no_commit_is_refused(self, writer: Writer, name: str) -> None:
        await writer.commit({"a": "1"})
        with pytest.raises(Rejected) as refused:
            await writer.repository.files(name, Shelf())
        assert refused.value.code == "repository.unknown_commit"

    async def test_content_that_is_missing_leaves_the_head_alone(self, writer: Writer) -> None:
        first = await writer.commit({"a": "1"})
        with pytest.raises(Corrupt) as failed:
            await writer.entries({"a": Entry("file", 0o644, size=1, content="0" * 64)})
        assert failed.value.code == "blob.missing"
        assert await writer.repository.log() == [first]
        await writer.commit({"a": "2"})

    @pytest.mark.parametrize("path", UNSAFE_NAMES)
    async def test_an_unsafe_name_is_refused_and_leaves_the_head_alone(
        self, writer: Writer, path: str
    ) -> None:
        first = await writer.commit({"a": "1"})
        with pytest.raises(Rejected) as refused:
            await writer.commit({"a": "2", path: "x"})
        assert refused.value.fields["path"]
        assert await writer.repository.log() == [first]
        await writer.commit({"a": "2"})

    async def test_nothing_lies_below_a_file(self, writer: Writer) -> None:
        for texts in ({"a": "1", "a/b": "2"}, {"a/b/c": "2", "a": "1"}, {"a/b": "1", "a/b/c/d": "2"}):
            with pytest.raises(Rejected) as refused:
                await writer.commit(texts)
            assert refused.value.code == "repository.path_refused"
        assert await writer.repository.head() is None

    async def test_commits_at_the_same_time_follow_each_other(self, writer: Writer) -> None:
        await asyncio.gather(*(writer.commit({"a": str(number)}) for number in range(5)))
        log = await writer.repository.log()
        assert sorted(commit.seq or 0 for commit in log) == [1, 2, 3, 4, 5]
        assert [commit.parents for commit in log] == [*((commit.id,) for commit in log[1:]), ()]

    @pytest.mark.parametrize(
        "message",
        [
            "",
            "Choir-Seq: 99",
            "A title\n\nChoir-Seq: 99",
            "A title\n\nSigned-off-by: Ada\nChoir-Seq: 99",
            "\n\nx",
        ],
    )
    async def test_no_message_can_pretend_another_number(self, writer: Writer, message: str) -> None:
        made = await writer.commit({}, message)
        assert (made.seq, made.message) == (1, message.strip())
        assert await writer.repository.log() == [made]

    async def test_a_backup_keeps_head_and_index_reachable(self, writer: Writer) -> None:
        await writer.commit({"a": "before"})
        made = await writer.repository.backup("before-restore")
        await writer.commit({"b": "after"})
        assert all(name.startswith("refs/choir/backup/before-restore/") for name in made)
        assert len(made) == 2
        for name in made:
            elsewhere = Shelf()
            files = await writer.repository.files(name, elsewhere)
            assert {path: elsewhere.contents[entry.content] for path, entry in files.items()} == {
                "a": b"before"
            }

    async def test_a_backup_is_never_written_over(self, writer: Writer) -> None:
        await writer.commit({"a": "before"})
        (first, _) = await writer.repository.backup("one")
        await writer.commit({"a": "after"})
        with pytest.raises(Rejected):
            await writer.repository.backup("one")
        elsewhere = Shelf()
        assert elsewhere.contents[(await writer.repository.files(first, elsewhere))["a"].content] == b"before"

    async def test_a_push_carries_the_head_and_then_what_follows(self, writer: Writer, place: str) -> None:
        for number in range(2):
            made = await writer.commit({"a": str(number)})
            assert await writer.repository.push(place, "main") == made.id

    async def test_a_push_never_takes_commits_away(self, make: Make, shelf: Shelf, place: str) -> None:
        ours, theirs = Writer(make(), shelf), Writer(make(), shelf)
        await theirs.commit({"theirs": "1"})
        await theirs.repository.push(place, "main")
        mine = await ours.commit({"ours": "1"})
        with pytest.raises(Rejected) as refused:
            await ours.repository.push(place, "main")
        assert refused.value.code == "repository.push_refused"
        assert await ours.repository.push(place, "another") == mine.id
        await theirs.commit({"theirs": "2"})
        await theirs.repository.push(place, "main")

    async def test_without_a_commit_there_is_nothing_to_push(self, make: Make, place: str) -> None:
        with pytest.raises(Rejected) as refused:
            await make().push(place, "main")
        assert refused.value.code == "repository.push_refused"

    @pytest.mark.parametrize("url", BAD_URLS)
    async def test_an_address_in_another_form_is_refused(self, writer: Writer, url: str) -> None:
        await writer.commit({"a": "1"})
        with pytest.raises(Rejected) as refused:
            await writer.repository.push(url, "main")
        assert refused.value.code == "repository.bad_url"
