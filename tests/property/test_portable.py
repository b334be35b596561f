"""Any history goes into a file and comes back as the same; any other file is refused (C-23, C-81)."""

from __future__ import annotations

import asyncio
import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choiros.kernel.errors import ChoirError
from choiros.wiring.portable.arriving import bring_in
from choiros.wiring.portable.backups import tar_archive
from choiros.wiring.portable.unpacking import check
from tests.carrying import at, exported, furnished, imported, left_in, opened, records_of, silent, state
from tests.places import Hand

PATHS = st.sampled_from(["a", "b", "d/a", "d/e/b", "\N{GRINNING FACE}", "x" * 200])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), PATHS, st.binary(max_size=300)),
        st.tuples(st.just("link"), PATHS, st.sampled_from([b"a", b"../..", b"/etc/passwd"])),
        st.tuples(st.just("move"), PATHS, PATHS),
        st.tuples(st.just("remove"), PATHS, st.none()),
        st.tuples(st.just("undo"), st.none(), st.none()),
    ),
    max_size=12,
)


async def play(home: Path, steps: list[tuple[str, str | None, bytes | str | None]]) -> None:
    """Try each step; what is refused is refused."""
    computer = await opened(home)
    hand = Hand(computer)
    for what, path, more in steps:
        try:
            match what, path, more:
                case "write", str(), bytes():
                    await hand.write(path, more)
                case "link", str(), bytes():
                    await hand.link(path, more.decode())
                case "move", str(), str():
                    await hand.move(path, more)
                case "remove", str(), _:
                    await hand.remove(path, recursive=True)
                case _:
                    await hand.undo()
        except ChoirError:
            continue
    await computer.close()


@settings(max_examples=12)
@given(STEPS)
def test_any_history_comes_back_with_the_same_events_and_the_same_state_hash(
    steps: list[tuple[str, str | None, bytes | str | None]],
) -> None:
    async def story(base: Path) -> None:
        await play(base / "one", steps)
        before = await state(base / "one")
        await exported(base / "one", base / "me.tar")
        await imported(base / "two", base / "me.tar")
        assert await state(base / "two", before[0].seq) == before
        there = await records_of(base / "two")
        assert there[: before[0].seq] == await records_of(base / "one")

    with tempfile.TemporaryDirectory() as base:
        asyncio.run(story(Path(base)))


@cache
def whole() -> bytes:
    """Return an exported file."""
    with tempfile.TemporaryDirectory() as base:
        asyncio.run(furnished(Path(base) / "home"))
        asyncio.run(exported(Path(base) / "home", Path(base) / "me.tar"))
        return (Path(base) / "me.tar").read_bytes()


def refused(content: bytes, *, bring: bool) -> None:
    """Check that these bytes are refused, and that an import of them leaves nothing."""
    with tempfile.TemporaryDirectory() as base:
        file = Path(base) / "me.tar"
        file.write_bytes(content)
        archive, resolved = tar_archive(file), at(Path(base) / "home")
        act = (
            bring_in(resolved, archive, file="x", progress=silent)
            if bring
            else check(archive, progress=silent)
        )
        with pytest.raises(ChoirError) as caught:
            asyncio.run(act)
        assert caught.value.fix
        assert left_in(Path(base)) == ["me.tar"]


@settings(max_examples=400)
@given(st.integers(0), st.integers(1, 255))
def test_any_changed_byte_is_found(place: int, change: int) -> None:
    content = bytearray(whole())
    content[place % len(content)] ^= change
    refused(bytes(content), bring=False)


@settings(max_examples=100)
@given(st.integers(0))
def test_any_cut_is_found(place: int) -> None:
    refused(whole()[: place % len(whole())], bring=False)


@settings(max_examples=25)
@given(st.integers(0), st.integers(1, 255), st.booleans())
def test_an_import_of_a_damaged_file_leaves_nothing(place: int, change: int, cut: bool) -> None:
    content = bytearray(whole())
    at_ = place % len(content)
    content[at_] ^= change
    refused(bytes(content[:at_] if cut else content), bring=True)


def test_the_file_that_these_are_made_of_is_whole(tmp_path: Path) -> None:
    (tmp_path / "me.tar").write_bytes(whole())
    asyncio.run(check(tar_archive(tmp_path / "me.tar"), progress=silent))
