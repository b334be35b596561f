"""How events are packed: many records at once, compressed, and bounded on the way back."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec

from choiros.kernel.event import Record

LEVEL = 1
"""Three times smaller than it was; level 6 takes twice as long for five percent more."""

PACKED_BYTES = 4 << 20
"""A part is closed when its records have so many bytes."""

RECORD_BYTES_MAX = 8 << 20
PART_BYTES_MAX = PACKED_BYTES + RECORD_BYTES_MAX
"""A part that has more bytes, packed or unpacked, was not written here."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Record])


def size_of(record: Record) -> int:
    """Return about how many bytes a record takes before it is compressed."""
    return len(record.head) + len(record.payload or b"") + 128


def pack(records: Sequence[Record]) -> bytes:
    """Return the bytes of a part; the same records always give the same ones."""
    return zlib.compress(_encoder.encode(records), LEVEL)


def unpack(content: bytes) -> list[Record]:
    """Return the records of a part; raises ValueError, with the reason, when it is not one.

    Nothing that was said about it is believed: it is unpacked up to a limit, and no further.
    """
    opened = zlib.decompressobj()
    try:
        raw = opened.decompress(content, PART_BYTES_MAX + 1)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if len(raw) > PART_BYTES_MAX:
        raise ValueError(f"it unpacks to more than {PART_BYTES_MAX:,} bytes")
    if not opened.eof or opened.unused_data:
        raise ValueError("it does not end where it should")
    records = _decoder.decode(raw)
    if not records:
        raise ValueError("it holds no events")
    return records
