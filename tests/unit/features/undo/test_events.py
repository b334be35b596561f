"""What was taken back is told as unbroken rows of numbers."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from choiros.features.undo.events import spans_of


def test_neighbours_are_told_as_one_row() -> None:
    assert spans_of([]) == ()
    assert spans_of([7]) == ((7, 7),)
    assert spans_of([2, 3, 4, 9, 11, 12]) == ((2, 4), (9, 9), (11, 12))


@given(st.sets(st.integers(1, 60)))
def test_the_rows_hold_each_number_once_and_none_touches_the_next(seqs: set[int]) -> None:
    spans = spans_of(sorted(seqs))
    assert [seq for first, last in spans for seq in range(first, last + 1)] == sorted(seqs)
    assert all(after[0] > before[1] + 1 for before, after in itertools.pairwise(spans))
