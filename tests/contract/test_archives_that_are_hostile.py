"""Archives made by somebody who means harm: each is refused, with the byte and the reason (C-81)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from choiros.engines.archive.tar import TarArchive
from choiros.engines.archive.tar.headers import END, header_of, padded
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Corrupt
from choiros.testing.archive_contract import read_all

NAME, SIZE, SUM, KIND, LINK, MAGIC, PREFIX = 0, 124, 148, 156, 157, 257, 345


def summed(head: bytes) -> bytes:
    """Return a header with the checksum that belongs to it."""
    blank = head[:SUM] + b" " * 8 + head[SUM + 8 :]
    return blank[:SUM] + b"%06o\x00 " % sum(blank) + blank[SUM + 8 :]


def forged(at: int, what: bytes, content: bytes = b"x") -> bytes:
    """Return an archive of one part, in whose header something else stands, with the right checksum."""
    head = header_of("manifest.json", len(content))
    return summed(head[:at] + what + head[at + len(what) :]) + padded(content) + END


def named(name: bytes) -> bytes:
    return forged(NAME, name.ljust(100, b"\x00"))


def of_kind(kind: bytes, target: bytes = b"/etc/passwd") -> bytes:
    return forged(KIND, kind + target.ljust(100, b"\x00"), b"")


def sized(field: bytes) -> bytes:
    return forged(SIZE, field.ljust(12, b"\x00"))


def extended(record: bytes) -> bytes:
    """Return an archive whose first part has an extended header with this record."""
    head = header_of("pax", len(record))
    head = summed(head[:KIND] + b"x" + head[KIND + 1 :])
    return head + padded(record) + header_of("manifest.json", 1) + padded(b"x") + END


GOOD = header_of("manifest.json", 1) + padded(b"x")

HOSTILE = {
    "traversal": (named(b"../../etc/passwd"), "not a plain relative name"),
    "traversal in the middle": (named(b"contents/../../x"), "not a plain relative name"),
    "a single dot": (named(b"./manifest.json"), "not a plain relative name"),
    "absolute": (named(b"/etc/passwd"), "not a plain relative name"),
    "an empty name": (named(b""), "not a plain relative name"),
    "a NUL in the name": (named(b"manifest.json\x00/../x"), "not a plain relative name"),
    "a backslash": (named(b"..\\x"), "not a plain relative name"),
    "upper case, which collides elsewhere": (named(b"Manifest.json"), "not a plain relative name"),
    "a name that is not ASCII": (named("manif\u0435st.json".encode()), "not plain ASCII"),
    "control characters": (named(b"a\x1b[2Jb"), r"a\\x1b\[2Jb"),
    "a long name by its prefix": (forged(PREFIX, b"contents"), "longer than 100 bytes"),
    "a GNU long name": (of_kind(b"L"), "a long name"),
    "a hard link": (of_kind(b"1"), "a hard link"),
    "a symbolic link": (of_kind(b"2"), "a symbolic link"),
    "a character device": (of_kind(b"3"), "a device"),
    "a block device": (of_kind(b"4"), "a device"),
    "a directory": (of_kind(b"5"), "a directory"),
    "a pipe": (of_kind(b"6"), "a pipe"),
    "a file with holes": (of_kind(b"S"), "a file with holes"),
    "a file that names a link target": (forged(LINK, b"/etc/passwd"), "not written as ChoirOS writes"),
    "global settings": (of_kind(b"g"), "global settings"),
    "another owner": (forged(108, b"0001750"), "not written as ChoirOS writes"),
    "a program that runs as its owner": (forged(100, b"0004755"), "not written as ChoirOS writes"),
    "another time": (forged(136, b"00000000001"), "not written as ChoirOS writes"),
    "a name of an owner": (forged(265, b"root"), "not written as ChoirOS writes"),
    "a negative size": (sized(b"-0000000001"), "negative"),
    "a negative size in binary": (forged(SIZE, b"\xff" * 12), "negative"),
    "a size in binary": (forged(SIZE, b"\x80" + bytes(10) + b"\x01"), "in binary"),
    "a size that is not octal": (sized(b"00000000009"), "octal"),
    "a size with spaces": (sized(b"          1 "), "octal"),
    "a size without an end": (forged(SIZE, b"000000000001"), "octal"),
    "an extended path": (extended(b"20 path=/etc/passwd\n"), "something else than a size"),
    "an extended size that is small": (extended(b"10 size=1\n"), "something else than a size"),
    "an extended size with more": (extended(b"19 size=8589934592\n9 uid=0\n"), "something else than a size"),
    "an extended size that is a lie": (extended(b"99 size=8589934592\n"), "not written as ChoirOS writes"),
    "an old tar": (forged(MAGIC, b"ustar  \x00"), "another kind of archive"),
    "a wrong checksum": (GOOD[:SUM] + b"000000\x00 " + GOOD[SUM + 8 :] + END, "checksum"),
    "a compressed file": (b"\x1f\x8b\x08" + bytes(2000), "checksum"),
    "something between its parts": (header_of("a", 1) + b"x".ljust(512, b"y") + END, "between two"),
    "something in place of the second end": (GOOD + bytes(512) + GOOD, "behind its end"),
    "trailing data": (GOOD + END + b"x", "behind its end"),
    "trailing zeros": (GOOD + END + bytes(512), "behind its end"),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("whole", "reason"), HOSTILE.values(), ids=HOSTILE)
async def test_it_is_refused_with_the_reason(tmp_path: Path, whole: bytes, reason: str) -> None:
    path = tmp_path / "hostile.tar"
    path.write_bytes(whole)
    with pytest.raises(Corrupt) as caught:
        await read_all(TarArchive(path, InlineWorker()))
    assert caught.value.code == "archive.damaged"
    assert re.search(reason, caught.value.message), caught.value.message
    assert re.search(r"at byte [\d,]+", caught.value.message)
    assert [one.name for one in tmp_path.iterdir()] == ["hostile.tar"]


@pytest.mark.anyio
@pytest.mark.parametrize("size", [2000, 0o77777777777, 1 << 40])
async def test_a_size_that_is_only_claimed_is_refused_before_anything_is_read(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "bomb.tar"
    path.write_bytes(header_of("manifest.json", size) + padded(b"x") + END)
    archive = TarArchive(path, InlineWorker())
    with pytest.raises(Corrupt) as caught:
        await anext(archive.read())
    assert caught.value.code == "archive.cut"


@pytest.mark.anyio
async def test_what_these_were_made_of_is_let_pass(tmp_path: Path) -> None:
    path = tmp_path / "good.tar"
    for whole in (GOOD + END, forged(NAME, b"manifest.json"), named(b"manifest.json"), sized(b"00000000001")):
        path.write_bytes(whole)
        assert await read_all(TarArchive(path, InlineWorker())) == [("manifest.json", b"x")]
