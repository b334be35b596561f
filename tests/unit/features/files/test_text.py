import pytest

from choiros.features.files import text
from choiros.features.files.text import is_comparable, is_text, split_lines


@pytest.mark.parametrize(
    "content", [b"", b"plain\n", "Grüße\r\n".encode(), "\ufeffwith a mark".encode(), b"\x1b[0m"]
)
def test_valid_utf8_is_text(content: bytes) -> None:
    assert is_text(content)


@pytest.mark.parametrize(
    "content", [b"a\x00b", b"\xff\xfeh\x00", b"caf\xe9", b"\xed\xa0\x80", "cut ü".encode()[:-1]]
)
def test_nul_bytes_and_other_encodings_are_not_text(content: bytes) -> None:
    assert not is_text(content)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [b"\n"]),
        (b"a\nb\n", [b"a\n", b"b\n"]),
        (b"a\r\nb\r\n", [b"a\r\n", b"b\r\n"]),
        (b"a\n\n", [b"a\n", b"\n"]),
        (b"no end", [b"no end"]),
        (b"a\nno end", [b"a\n", b"no end"]),
        (b"lone\rreturn\x0b\x0c\xc2\x85\n", [b"lone\rreturn\x0b\x0c\xc2\x85\n"]),
    ],
)
def test_lines_keep_their_ends_and_end_at_newlines_only(content: bytes, lines: list[bytes]) -> None:
    assert split_lines(content) == lines
    assert b"".join(lines) == content


def test_content_is_comparable_up_to_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "TEXT_BYTES_MAX", 8)
    monkeypatch.setattr(text, "LINES_MAX", 3)
    assert is_comparable(b"12345678")
    assert is_comparable(b"\n\n")
    assert not is_comparable(b"123456789")
    assert not is_comparable(b"\n\n\n")
    assert not is_comparable(b"\x00")
