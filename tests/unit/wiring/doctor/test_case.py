"""What the areas share: what is left out because of another area, and a store that only measures."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from choiros.engines.blob.memory import MemoryBlobs
from choiros.kernel.errors import Rejected
from choiros.kernel.tree import Entry
from choiros.settings import resolve
from choiros.wiring.doctor import Case, LeftOut
from choiros.wiring.doctor.case import Measuring, is_there, place_of, placed
from choiros.wiring.doctor.told import Told


def case(tmp_path: Path) -> Case:
    resolved = resolve({"home": str(tmp_path)}, {})
    return Case(resolved, deep=False, progress=lambda *_: None, scratch=tmp_path)


def test_what_another_area_stands_in_the_way_of_is_left_out_with_the_reason(tmp_path: Path) -> None:
    one = case(tmp_path)
    for question in (one.needed, one.steady, one.read, one.lived, one.open_workspaces):
        with pytest.raises(LeftOut, match="can"):
            question()
    one.nothing_yet = True
    with pytest.raises(LeftOut, match="nothing is kept here yet"):
        one.needed()


def test_a_log_is_whole_when_it_was_read_to_its_end(tmp_path: Path) -> None:
    one = case(tmp_path)
    assert not one.is_log_whole
    one.told = Told()
    assert not one.is_log_whole
    one.told.is_read = True
    assert one.is_log_whole


async def pieces() -> AsyncIterator[bytes]:
    yield b"a"
    yield b"b"


@pytest.mark.anyio
async def test_measuring_tells_the_digest_and_keeps_nothing() -> None:
    blobs = MemoryBlobs(size_bytes_max=100)
    kept = await blobs.put(b"kept")
    await blobs.flush()
    measuring = Measuring(blobs)
    wanted = hashlib.sha256(b"ab").hexdigest()
    assert [await measuring.put(b"ab"), await measuring.put(pieces())] == [wanted, wanted]
    await measuring.flush()
    assert [await measuring.size(wanted), await measuring.size(kept)] == [None, 4]
    assert b"".join([chunk async for chunk in measuring.read(kept)]) == b"kept"
    assert [digest async for digest in measuring.digests()] == [kept]
    with pytest.raises(Rejected):
        await measuring.delete(kept)


def test_places_are_told_in_words(tmp_path: Path) -> None:
    assert placed(None) == "nothing"
    assert placed(Entry("dir", 0o755)) == "a directory"
    assert placed(Entry("link", 0o777, target="a")) == "a link to a"
    assert placed(Entry("file", 0o644, 1234, "ab")) == "a file of 1,234 bytes"
    assert place_of("/here", "a/b") == "/here/a/b"
    assert (is_there(str(tmp_path)), is_there(str(tmp_path / "no"))) == (True, False)
