"""Files that do not fit together: each is refused, and the place is named."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from choiros.engines.archive.memory import MemoryArchive
from choiros.features.files.events import FileWritten
from choiros.kernel.errors import ChoirError, Corrupt, Rejected
from choiros.kernel.tree import Entry
from choiros.wiring.portable.manifest import Contents, LogPart, Manifest
from choiros.wiring.portable.records import PART_BYTES_MAX, pack, unpack
from choiros.wiring.portable.unpacking import Nowhere, Unpacking, check, read_manifest
from tests.carrying import Parts, changed, forged, furnished, manifest_of, of, packed, silent

pytestmark = pytest.mark.anyio


async def taken(parts: Parts, user: str | None = "me") -> Manifest:
    return await Unpacking(of(parts), user=user, progress=silent).into(Nowhere())


async def refused(parts: Parts) -> ChoirError:
    with pytest.raises((Corrupt, Rejected)) as caught:
        await taken(parts)
    assert caught.value.fix
    return caught.value


async def test_what_was_packed_is_whole(tmp_path: Path) -> None:
    await furnished(tmp_path)
    parts = await packed(tmp_path)
    assert await taken(parts) == await check(of(parts), progress=silent) == manifest_of(parts)
    assert await read_manifest(of(parts)) == manifest_of(parts)


async def test_progress_is_told_up_to_the_end(tmp_path: Path) -> None:
    await furnished(tmp_path)
    parts = await packed(tmp_path)
    told: list[tuple[str, int, int]] = []
    await check(of(parts), progress=lambda *one: told.append(one))
    manifest = manifest_of(parts)
    assert ("checking events", manifest.seq, manifest.seq) in told
    assert told[-1] == ("checking contents", manifest.contents.count, manifest.contents.count)


async def test_the_data_of_somebody_else_is_refused() -> None:
    """C-81."""
    with pytest.raises(Rejected, match="data of 'anna', and you are 'me'") as caught:
        await taken(await forged([], user="anna", owner="anna"))
    assert "--user anna" in caught.value.fix
    assert (await taken(await forged([], user="anna", owner="anna"), "anna")).user == "anna"


async def test_events_of_somebody_else_under_my_name_are_refused() -> None:
    """C-81."""
    error = await refused(await forged([], user="me", owner="anna"))
    assert (error.code, error.fields["place"]) == ("import.damaged", "event 1")


def without(place: int) -> Callable[[Parts], Parts]:
    return lambda parts: [*parts[:place], *parts[place:][1:]]


def swapped(one: int, other: int) -> Callable[[Parts], Parts]:
    def swap(parts: Parts) -> Parts:
        fresh = list(parts)
        fresh[one], fresh[other] = fresh[other], fresh[one]
        return fresh

    return swap


def renamed(place: int, name: str) -> Callable[[Parts], Parts]:
    return lambda parts: [*parts[:place], (name, parts[place][1]), *parts[place + 1 :]]


def twice(place: int) -> Callable[[Parts], Parts]:
    return lambda parts: [*parts[: place + 1], *parts[place:]]


def flipped(place: int, at: int) -> Callable[[Parts], Parts]:
    def flip(parts: Parts) -> Parts:
        name, content = parts[place]
        fresh = bytearray(content)
        fresh[at] ^= 1
        return [*parts[:place], (name, bytes(fresh)), *parts[place + 1 :]]

    return flip


OTHER = "contents/ff/" + "f" * 64
TAMPERED: dict[str, tuple[Callable[[Parts], Parts], str]] = {
    "nothing at all": (lambda _: [], "manifest.json"),
    "no manifest": (without(0), "log/000001.records.zlib"),
    "no log": (without(1), "contents/"),
    "a missing content": (without(2), "contents"),
    "no contents": (lambda parts: parts[:2], "contents"),
    "contents before the log": (swapped(1, 2), "contents/"),
    "contents in another order": (swapped(2, 3), "contents/"),
    "the manifest at the end": (lambda parts: [*parts[1:], parts[0]], "log/"),
    "a second manifest": (twice(0), "manifest.json"),
    "a log twice": (twice(1), "log/000001"),
    "a content twice": (twice(2), "contents/"),
    "a content under another name": (renamed(2, "contents/00/" + "0" * 64), "contents/00"),
    "a content in another folder": (renamed(2, OTHER.replace("/ff/", "/aa/")), "contents/aa"),
    "a content of an unknown form": (renamed(2, "contents/ab"), "contents/ab"),
    "a key among the contents": (renamed(2, "keys/sign"), "keys/sign"),
    "another file at the end": (lambda parts: [*parts, (OTHER, b"")], OTHER),
    "a changed log": (flipped(1, 100), "log/000001"),
    "a changed content": (flipped(-1, 0), "contents/"),
    "a changed manifest": (flipped(0, 30), "manifest.json"),
}


@pytest.mark.parametrize(("harm", "place"), TAMPERED.values(), ids=TAMPERED)
async def test_what_was_tampered_with_is_refused_at_its_place(
    tmp_path: Path, harm: Callable[[Parts], Parts], place: str
) -> None:
    """C-23."""
    await furnished(tmp_path)
    parts = await packed(tmp_path)
    error = await refused(harm(parts))
    assert error.code == "import.damaged"
    assert str(error.fields["place"]).startswith(place), error.message


# --- A manifest that fits nothing ---


async def test_a_log_that_is_longer_or_shorter_than_said_is_refused(tmp_path: Path) -> None:
    await furnished(tmp_path)
    parts = await packed(tmp_path)
    manifest = manifest_of(parts)
    part = manifest.log[0]
    for fields in (
        {"seq": manifest.seq - 1},
        {"hash": "00" * 32},
        {"log": (replace(part, last=part.last - 1),)},
        {"log": (replace(part, first=2),)},
        {"log": (replace(part, size=part.size + 1),)},
        {"log": (part, part)},
        {"log": ()},
        {"contents": Contents(manifest.contents.count, manifest.contents.size_bytes + 1)},
        {"contents": Contents(manifest.contents.count, manifest.contents.size_bytes - 1)},
        {"contents": Contents(manifest.contents.count + 1, manifest.contents.size_bytes)},
        {"contents": Contents(manifest.contents.count - 1, manifest.contents.size_bytes)},
    ):
        assert (await refused(changed(parts, **fields))).code == "import.damaged", fields


async def test_a_log_from_the_middle_of_another_is_refused(tmp_path: Path) -> None:
    await furnished(tmp_path)
    parts = await packed(tmp_path)
    records = unpack(parts[1][1])
    for some in (records[1:], [*records[:3], *records[4:]], [*records[:2], records[3], records[2]]):
        assert (await refused(with_log(parts, pack(some), some[0].seq, some[-1].seq))).code == "log.broken"


def with_log(parts: Parts, packed: bytes, first: int, last: int) -> Parts:

    told = LogPart(first, last, len(packed), hashlib.sha256(packed).hexdigest())
    return changed([parts[0], (parts[1][0], packed), *parts[2:]], log=(told,))


async def test_a_part_of_the_log_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    """C-81."""
    await furnished(tmp_path)
    bomb = zlib.compress(bytes(3 * PART_BYTES_MAX))
    error = await refused(with_log(await packed(tmp_path), bomb, 1, 2))
    assert "unpacks to more than" in error.message
    assert error.fields["place"] == "log/000001.records.zlib"


async def test_parts_that_are_larger_than_any_we_write_are_not_even_read(tmp_path: Path) -> None:
    """C-81."""
    await furnished(tmp_path)
    parts = await packed(tmp_path)
    huge = bytes(PART_BYTES_MAX + 1)
    assert "bytes, which is not" in (await refused(with_log(parts, huge, 1, 2))).message
    assert "larger than" in (await refused([("manifest.json", bytes((16 << 20) + 1)), *parts[1:]])).message


async def test_an_erased_payload_is_let_pass() -> None:
    file = Entry("file", 0o644, 1, "ab" * 32)
    parts = await forged([FileWritten("main", "a", file)])
    records = unpack(parts[1][1])
    records[1] = records[1]._replace(payload=None)
    assert (await taken(with_log(parts, pack(records), 1, 2))).seq == 2


async def test_an_archive_that_is_empty_has_no_manifest() -> None:
    archive = MemoryArchive()
    archive.parts = []
    with pytest.raises(Corrupt, match="it is missing"):
        await read_manifest(archive)
