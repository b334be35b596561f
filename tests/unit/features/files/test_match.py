import time

import pytest

from choiros.features.files import match
from choiros.features.files.match import gaps, matches, numbered, sure_matches
from choiros.features.files.shortest import Block


def lines(text: str) -> list[bytes]:
    return [char.encode() for char in text]


def read(a: str, b: str) -> list[Block]:
    return matches(lines(a), lines(b))


def no_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "STEPS_MAX", 0)


def test_equal_lines_have_equal_numbers_in_all_versions() -> None:
    assert numbered([b"a", b"b", b"a"], [b"b", b"c"]) == [[0, 1, 0], [1, 4]]


def test_gaps_are_what_lies_before_between_and_behind_blocks() -> None:
    assert list(gaps([Block(1, 0, 2), Block(4, 2, 1)], (6, 3))) == [(0, 1, 0, 0), (3, 4, 2, 2), (5, 6, 3, 3)]
    assert list(gaps([], (0, 0))) == []
    assert list(gaps([Block(0, 0, 2)], (2, 2))) == []


def test_an_added_line_among_equal_ones_counts_as_the_last_of_them() -> None:
    assert read("axxb", "axxxb") == [Block(0, 0, 3), Block(3, 4, 1)]
    assert read("axxxb", "axxb") == [Block(0, 0, 3), Block(4, 3, 1)]


def test_an_added_paragraph_is_shown_with_the_gap_after_it() -> None:
    assert read("AB1\nCD1\n", "AB1\nEF1\nCD1\n") == [Block(0, 0, 4), Block(4, 8, 4)]


def test_a_slide_can_swallow_a_whole_block() -> None:
    assert read("abxab", "ab") == [Block(0, 0, 2)]
    assert read("aab", "ab") == [Block(0, 0, 1), Block(2, 1, 1)]


def test_versions_that_share_nothing_have_no_matches() -> None:
    assert read("abc", "xyz") == []
    assert read("", "xyz") == []


def test_without_effort_lines_that_occur_once_are_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    no_effort(monkeypatch)
    assert read("..A.B.", "...A!B..") == [Block(0, 0, 2), Block(2, 3, 1), Block(4, 5, 2)]


def test_without_effort_crossed_anchors_give_way_to_the_longer_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    no_effort(monkeypatch)
    assert read("1A2B3C4", "5C6A7B8") == [Block(1, 3, 1), Block(3, 5, 1)]


def test_without_effort_a_line_that_occurs_twice_is_no_anchor(monkeypatch: pytest.MonkeyPatch) -> None:
    no_effort(monkeypatch)
    assert read("1x2x3", "4x5") == []
    assert read("4x5", "1x2x3") == []


def test_without_effort_what_lies_between_anchors_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    no_effort(monkeypatch)
    assert read("1x2A3x4", "5x6A7x8") == [Block(1, 1, 1), Block(3, 3, 1), Block(5, 5, 1)]


def test_without_effort_and_anchors_the_edges_still_match(monkeypatch: pytest.MonkeyPatch) -> None:
    no_effort(monkeypatch)
    assert sure_matches([1, 1, 2, 2, 1], [1, 1, 3, 3, 3, 1]) == [Block(0, 0, 2), Block(4, 5, 1)]


def test_lines_of_one_version_alone_do_not_use_up_the_effort() -> None:
    a = [b"a%d" % number if number % 2 else b"%d" % (number % 10) for number in range(4000)]
    b = [b"b%d" % number if number % 2 else b"%d" % (number % 10) for number in range(4000)]
    assert sum(block.size for block in matches(a, b)) == 2000
    assert sum(block.size for block in sure_matches(*numbered(a, b))) == 2000


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param(
            [number % 2 for number in range(100_000)], [number % 3 for number in range(100_000)], id="periods"
        ),
        pytest.param(list(range(100_000)), list(range(100_000))[::-1], id="reversed"),
        pytest.param([0] * 100_000, [0] * 60_000 + [1], id="one line again and again"),
        pytest.param(
            [number * number % 1009 for number in range(100_000)],
            [number * number % 1013 for number in range(100_000)],
            id="noise",
        ),
    ],
)
def test_hostile_versions_take_bounded_time(a: list[int], b: list[int]) -> None:
    start = time.process_time()
    blocks = sure_matches(a, b)
    assert time.process_time() - start < 10  # measured: 0.5 s; without bounds it takes hours
    assert all(a[block.a : block.a + block.size] == b[block.b : block.b + block.size] for block in blocks)
