import pytest

from choiros.features.files.shortest import Block, Effort, Pair, all_shortest, one_shortest

ENOUGH = 10_000


def shared(a: str, b: str) -> list[Block] | None:
    return all_shortest(Pair(a, b), Effort(ENOUGH))


def test_equal_versions_are_one_block() -> None:
    assert one_shortest(Pair("abc", "abc"), Effort(0)) == [Block(0, 0, 3)]
    assert shared("abc", "abc") == [Block(0, 0, 3)]


def test_versions_without_a_common_line_share_nothing() -> None:
    assert shared("abc", "xy") == []
    assert shared("", "xy") == []
    assert shared("ab", "") == []


def test_one_reading_is_a_shortest_one() -> None:
    blocks = one_shortest(Pair("abcabba", "cbabac"), Effort(ENOUGH))
    assert blocks is not None
    assert sum(block.size for block in blocks) == 4


def test_which_of_equal_neighbours_was_removed_is_not_said() -> None:
    assert shared("axxxb", "axxb") == [Block(0, 0, 1), Block(4, 3, 1)]


def test_lines_that_swapped_their_places_are_not_sure() -> None:
    assert shared("axyb", "ayxb") == [Block(0, 0, 1), Block(3, 3, 1)]


def test_a_certain_removal_leaves_all_else_sure() -> None:
    assert shared("abcde", "abde") == [Block(0, 0, 2), Block(3, 2, 2)]


def test_too_little_effort_gives_no_answer_instead_of_a_bad_one() -> None:
    assert one_shortest(Pair("abcdef", "uvwxyz"), Effort(20)) is None
    assert all_shortest(Pair("abcdef", "uvwxyz"), Effort(20)) is None


def test_comparing_long_runs_again_and_again_is_effort_too() -> None:
    effort = Effort(ENOUGH)
    assert one_shortest(Pair("ab" * 5000, "ba" * 5000), effort) is not None
    assert effort.left < ENOUGH - 100


def test_a_great_difference_in_length_costs_no_effort_when_it_is_hopeless() -> None:
    effort = Effort(1000)
    assert one_shortest(Pair("a" * 100, "a"), effort) is None
    assert effort.left == 1000


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 100, 1000])
def test_long_runs_are_measured_exactly_in_both_directions(size: int) -> None:
    run = "x" * size
    assert Pair(run + "a", run + "b").run_forward(0, 0) == size
    assert Pair(run, run + "b").run_forward(0, 0) == size
    assert Pair("a" + run, "b" + run).run_back(size + 1, size + 1, most=size + 1) == size
    assert Pair(run, run).run_back(size, size, most=size // 2) == size // 2


def test_edges_do_not_overlap() -> None:
    assert Pair("xxx", "xx").edges() == (2, 0)
    assert Pair("axb", "ayyb").edges() == (1, 1)
    assert Pair("", "a").edges() == (0, 0)
