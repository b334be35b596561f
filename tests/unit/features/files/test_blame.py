import time

import pytest

from choiros.features.files import text
from choiros.features.files.blame import Blame, Line, attribute


def seqs(*versions: str | None) -> list[int]:
    """Feed versions of words as 1, 2, 3, ... and return which one brought each word of the last."""
    fed = [
        None if words is None else b"".join(word.encode() + b"\n" for word in words.split())
        for words in versions
    ]
    return [line.seq for line in attribute(enumerate(fed, 1))]


def test_the_first_version_brought_all_its_lines() -> None:
    assert attribute([(7, b"a\nb")]) == [Line(1, 7, "a"), Line(2, 7, "b")]


def test_lines_keep_their_origin_while_others_come_and_go() -> None:
    assert seqs("a b c", "a x b c", "a x c", "a x c y") == [1, 2, 1, 4]


def test_a_changed_line_belongs_to_its_change() -> None:
    assert seqs("a b c", "a B c") == [1, 2, 1]


def test_a_line_that_went_and_came_back_is_new() -> None:
    assert seqs("a b", "a", "a b") == [1, 3]


def test_after_the_file_was_gone_every_line_is_new() -> None:
    assert seqs("a b", None, "a b") == [3, 3]
    assert seqs("a", None) == []


def test_a_version_that_is_not_text_ends_the_history_of_lines() -> None:
    versions: list[tuple[int, bytes | None]] = [(1, b"a\n"), (2, b"\x00"), (3, b"a\n")]
    assert attribute(versions[:2]) == []
    assert attribute(versions) == [Line(1, 3, "a")]


def test_a_version_that_is_too_large_ends_the_history_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "TEXT_BYTES_MAX", 3)
    assert attribute([(1, b"a\n"), (2, b"a\nb\n"), (3, b"a\n")]) == [Line(1, 3, "a")]


def test_a_new_line_end_makes_a_new_line() -> None:
    assert attribute([(1, b"a\nb"), (2, b"a\r\nb\n")]) == [Line(1, 2, "a"), Line(2, 2, "b")]


def test_no_version_has_no_lines() -> None:
    assert attribute([]) == []


def test_lines_can_be_asked_after_every_version() -> None:
    blame = Blame()
    blame.feed(3, b"a\n")
    first = blame.lines()
    blame.feed(9, b"a\nb\n")
    assert (first, blame.lines()) == ([Line(1, 3, "a")], [Line(1, 3, "a"), Line(2, 9, "b")])


def test_thousands_of_versions_are_cheap() -> None:
    lines = [b"line %d\n" % number for number in range(1000)]
    blame = Blame()
    start = time.process_time()
    for seq in range(2000):
        lines[seq * 7 % 1000] = b"changed by %d\n" % seq
        blame.feed(seq, b"".join(lines))
    assert time.process_time() - start < 5  # measured: 0.3 s
    last = {seq * 7 % 1000: seq for seq in range(2000)}
    assert [line.seq for line in blame.lines()] == [last[number] for number in range(1000)]
