"""The headers of the one form of tar that is written here, and why any other header is refused.

A file has a ustar header with fixed owner, mode and time, so that the same parts give the same bytes. Only a
size that does not fit into its twelve digits has a pax header before it, which holds nothing but that size.
"""

from __future__ import annotations

import re

from choiros.kernel.archive import is_part_name

BLOCK = 512
END = bytes(2 * BLOCK)
SIZE_MAX = 0o77777777777
"""The largest size that a ustar header can tell."""

_SUM = slice(148, 156)
_KINDS = {
    b"\x00": "an old kind of file",
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"5": "a directory",
    b"6": "a pipe",
    b"7": "a reserved kind of file",
    b"g": "global settings",
    b"K": "a long name",
    b"L": "a long name",
    b"S": "a file with holes",
}
_PAX_NAME = "pax"
_pax_size = re.compile(rb"[1-9][0-9]* size=([1-9][0-9]{9,17})\n\x00*")


class RefusedError(Exception):
    """This is no header that is written here; the text says why."""


def header_of(name: str, size: int) -> bytes:
    """Return all that stands before the content of a part."""
    if size <= SIZE_MAX:
        return _block(name, size, kind=b"0")
    record = _pax_record(size)
    return _block(_PAX_NAME, len(record), kind=b"x") + padded(record) + _block(name, 0, kind=b"0")


def padded(content: bytes) -> bytes:
    """Return the content filled with zeros to whole blocks."""
    return content + bytes(-len(content) % BLOCK)


def _block(name: str, size: int, *, kind: bytes) -> bytes:
    assert is_part_name(name), f"{name} cannot be the name of a part"
    head = name.encode().ljust(100, b"\x00") + b"0000600\x00" + 2 * b"0000000\x00"
    head += b"%011o\x00" % size + b"00000000000\x00" + b" " * 8 + kind
    head += bytes(100) + b"ustar\x0000" + bytes(64) + 2 * b"0000000\x00" + bytes(155 + 12)
    return _summed(head)


def _summed(head: bytes) -> bytes:
    blank = head[: _SUM.start] + b" " * 8 + head[_SUM.stop :]
    return blank[: _SUM.start] + b"%06o\x00 " % sum(blank) + blank[_SUM.stop :]


def _pax_record(size: int) -> bytes:
    rest = b" size=%d\n" % size
    length = len(rest) + 2
    return b"%d%s" % (length, rest)


def is_pax(block: bytes) -> bool:
    """Return whether a header only announces the size of the next one; raises RefusedError."""
    _check(block)
    return block[156:157] == b"x"


def name_and_size(block: bytes, pax: bytes | None = None) -> tuple[str, int]:
    """Return what a header tells, `pax` being the two blocks before it if it has any; raises RefusedError."""
    _check(block)
    kind = block[156:157]
    if kind != b"0":
        raise RefusedError(f"it holds {_KINDS.get(kind, 'an unknown kind of thing')}")
    size = _octal(block[124:136])
    if pax is not None:
        found = _pax_size.fullmatch(pax[BLOCK:])
        if found is None:
            raise RefusedError("its extended header holds something else than a size")
        size = int(found[1])
    name = _name(block)
    if header_of(name, size) != (pax or b"") + block:
        raise RefusedError("its header is not written as ChoirOS writes it")
    return name, size


def _check(block: bytes) -> None:
    if block != _summed(block):
        raise RefusedError("the checksum of its header is wrong")
    if block[257:265] != b"ustar\x0000":
        raise RefusedError("its header is of another kind of archive")


def _octal(field: bytes) -> int:
    if field.startswith((b"\xff", b"-")):
        raise RefusedError("its size is negative")
    if field.startswith(b"\x80"):
        raise RefusedError("its size is written in binary")
    if not re.fullmatch(rb"[0-7]{11}\x00", field):
        raise RefusedError("its size is not written in eleven octal digits")
    return int(field[:11], 8)


def _name(block: bytes) -> str:
    raw = block[:100].rstrip(b"\x00")
    try:
        name = raw.decode("ascii")
    except UnicodeDecodeError as error:
        raise RefusedError("its name is not plain ASCII") from error
    if any(block[345:500]):
        raise RefusedError("its name is longer than 100 bytes")
    if not is_part_name(name):
        raise RefusedError(f"its name '{_printable(raw)}' is not a plain relative name in lower case")
    return name


def _printable(raw: bytes) -> str:
    return "".join(chr(byte) if chr(byte).isprintable() else f"\\x{byte:02x}" for byte in raw)
