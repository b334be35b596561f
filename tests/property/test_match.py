"""Which lines are the same, against a model that looks at every longest common part of two short versions."""

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.features.files import match
from choiros.features.files.match import matches, sure_matches
from choiros.features.files.shortest import Block

Pairs = frozenset[tuple[int, int]]

versions = st.lists(st.integers(0, 3), max_size=8)
longer_versions = st.lists(st.integers(0, 9), max_size=60)


def longest_parts(a: list[int], b: list[int]) -> set[Pairs]:
    """Return every way to pair as many equal lines as possible without crossing."""

    @cache
    def best(x: int, y: int) -> tuple[int, frozenset[Pairs]]:
        if x == len(a) or y == len(b):
            return 0, frozenset([frozenset()])
        ways = [best(x + 1, y), best(x, y + 1)]
        if a[x] == b[y]:
            size, parts = best(x + 1, y + 1)
            ways.append((size + 1, frozenset(part | {(x, y)} for part in parts)))
        most = max(size for size, _ in ways)
        return most, frozenset(part for size, parts in ways if size == most for part in parts)

    return set(best(0, 0)[1])


def pairs(blocks: list[Block]) -> list[tuple[int, int]]:
    return [(block.a + offset, block.b + offset) for block in blocks for offset in range(block.size)]


def as_lines(version: list[int]) -> list[bytes]:
    return [b"%d" % line for line in version]


@given(versions, versions)
def test_sure_lines_are_those_of_every_shortest_reading(a: list[int], b: list[int]) -> None:
    assert set(pairs(sure_matches(a, b))) == set(frozenset.intersection(*longest_parts(a, b)))


@given(versions, versions)
def test_the_readable_reading_is_a_shortest_one(a: list[int], b: list[int]) -> None:
    assert frozenset(pairs(matches(as_lines(a), as_lines(b)))) in longest_parts(a, b)


@given(longer_versions, longer_versions, st.sampled_from([0, 10, 100]), st.sampled_from([0, 5]))
def test_with_any_effort_only_equal_lines_match_and_none_cross(
    a: list[int], b: list[int], steps: int, quick: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match, "STEPS_MAX", steps)
        patch.setattr(match, "QUICK_STEPS_MAX", quick)
        found = [pairs(sure_matches(a, b)), pairs(matches(as_lines(a), as_lines(b)))]
    for matched in found:
        assert all(a[x] == b[y] for x, y in matched)
        assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(matched))
