"""What stands at the beginning of an exported file, and that it is believed only as it was written."""

import json

import pytest
from msgspec.structs import replace

from choiros.kernel.errors import ChoirError, Corrupt, Rejected
from choiros.kernel.event import Point
from choiros.wiring.portable.manifest import (
    FORMAT,
    Contents,
    LogPart,
    Manifest,
    ViewState,
    content_name,
    decode,
    encode,
    log_name,
    make,
)
from tests.carrying import sealed

HEAD = Point(7, bytes(range(32)))
WRITTEN = make(
    "me",
    HEAD,
    log=(LogPart(1, 7, 100, "ab" * 32),),
    contents=Contents(2, 30),
    views={"files": ViewState(1, "cd" * 32)},
)


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert decode(encode(WRITTEN)) == WRITTEN
    assert WRITTEN.head == HEAD
    assert list(json.loads(encode(WRITTEN))) == list(Manifest.__struct_fields__)


def test_any_changed_or_missing_byte_is_found() -> None:
    """C-23."""
    raw = encode(WRITTEN)
    for place in range(len(raw)):
        for other in (raw[place] ^ 1, 0x20):
            if other != raw[place]:
                with pytest.raises(ChoirError):
                    decode(raw[:place] + bytes([other]) + raw[place + 1 :])
        with pytest.raises(ChoirError):
            decode(raw[:place] + raw[place + 1 :])


@pytest.mark.parametrize("format_", [FORMAT + 1, 10**9])
def test_a_newer_format_is_refused_with_the_version_that_wrote_it(format_: int) -> None:
    raw = json.dumps({"format": format_, "product": "9.1", "new": {"field": 1}}).encode()
    with pytest.raises(Rejected, match=r"format \d+, written by version 9\.1") as caught:
        decode(raw)
    assert caught.value.code == "import.newer"


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, encode(WRITTEN) + b"\n", b'{"format":true}'],
    ids=["empty", "no format", "a list", "no text", "very deep", "a line end", "a strange format"],
)
def test_what_is_no_manifest_is_refused(raw: bytes) -> None:
    with pytest.raises(Corrupt) as caught:
        decode(raw)
    assert (caught.value.code, caught.value.fields["place"]) == ("import.damaged", "manifest.json")


def test_a_hash_that_is_none_is_refused_even_with_the_right_checksum() -> None:
    strange = replace(WRITTEN, hash="x")
    with pytest.raises(Corrupt):
        decode(sealed(strange)[1])


def test_parts_have_names_that_sort_as_they_are_packed() -> None:
    names = [log_name(number) for number in (1, 2, 10, 999_999)]
    assert names == sorted(names)
    assert content_name("ab" * 32) == "contents/ab/" + "ab" * 32
