"""How events are packed and unpacked, and that nothing packed by others gets out of bounds."""

import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.kernel.event import Record
from choiros.wiring.portable.records import PART_BYTES_MAX, pack, size_of, unpack

RECORDS = st.lists(
    st.builds(
        Record,
        st.integers(0, 2**63 - 1),
        st.text(st.characters(codec="utf-8"), max_size=40),
        st.binary(max_size=200),
        st.binary(max_size=20),
        st.none() | st.binary(max_size=200),
        st.binary(max_size=40),
    ),
    min_size=1,
    max_size=20,
)


@given(RECORDS)
def test_records_come_back_byte_for_byte(records: list[Record]) -> None:
    packed = pack(records)
    assert unpack(packed) == records
    assert pack(records) == packed


@given(RECORDS)
def test_the_size_is_not_told_too_small(records: list[Record]) -> None:
    raw = zlib.decompress(pack(records))
    assert len(raw) <= sum(map(size_of, records)) + sum(len(record.id) * 4 for record in records) + 5


ONE = Record(1, "a", b"{}", bytes(16), None, bytes(32))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "does not end"),
        (b"no zlib", "cannot be unpacked"),
        (pack([ONE])[:-1], "does not end"),
        (pack([ONE]) + b"x", "does not end"),
        (pack([ONE]) + pack([ONE]), "does not end"),
        (zlib.compress(b"\xdd\xff\xff\xff\xff"), "truncated"),
        (zlib.compress(b"\x91\xc6\xff\xff\xff\xff"), "truncated"),
        (zlib.compress(b"\xc0"), "array"),
        (zlib.compress(msgspec.msgpack.encode([[1, "a"]])), "array"),
        (zlib.compress(msgspec.msgpack.encode([[*ONE, 1]])), "array"),
        (zlib.compress(msgspec.msgpack.encode([ONE]) + b"\x00"), "trailing"),
        (pack([]), "no events"),
    ],
)
def test_what_is_no_part_is_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        unpack(content)


def test_a_bomb_is_unpacked_no_further_than_the_limit() -> None:
    """C-81."""
    bomb = zlib.compress(bytes(40 * PART_BYTES_MAX), 9)
    assert len(bomb) < PART_BYTES_MAX / 20
    with pytest.raises(ValueError, match="unpacks to more than"):
        unpack(bomb)
