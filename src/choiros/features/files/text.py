"""What counts as text, and how it falls into lines that, joined, are the content again."""

from __future__ import annotations

TEXT_BYTES_MAX = 32 * 1024 * 1024
"""Longer content is kept and shown as a whole, but never compared line by line."""

LINES_MAX = 2_000_000
"""The same limit counted in lines, because a line costs more memory than its bytes."""


def is_text(content: bytes) -> bool:
    """Return whether the content is text: valid UTF-8 without a NUL byte. Empty content is text.

    UTF-16 and the older one-byte encodings are not text here. They could only be guessed, and a wrong guess
    would merge two files into one that neither program can read.
    """
    if b"\x00" in content:
        return False
    if content.isascii():
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_comparable(content: bytes) -> bool:
    """Return whether the content is text and small enough to be compared line by line."""
    small = len(content) <= TEXT_BYTES_MAX and content.count(b"\n") < LINES_MAX
    return small and is_text(content)


def split_lines(content: bytes) -> list[bytes]:
    r"""Return the lines with their ends, so that `b"".join` gives the content back.

    A line ends at \n only. \r\n stays as it is, so a change of line ends is a change of lines; a lone \r ends
    nothing. The last line has no \n when the content has none there.
    """
    parts = content.split(b"\n")
    rest = parts.pop()
    lines = [part + b"\n" for part in parts]
    if rest:
        lines.append(rest)
    return lines
