"""How two versions of one thing are merged, and what clashes."""

import itertools

import pytest
from msgspec.structs import replace

from choiros.features.files.changeset import DIRECTORY
from choiros.features.files.decide import (
    Clash,
    Combined,
    combine,
)
from choiros.kernel.tree import Entry
from tests.unit.features.files.wishes import (
    A_RUN,
    B_RUN,
    LINES,
    A,
    B,
    C,
    file,
    link,
    state,
)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        # Only one side did something, or both did the same.
        (A, A, A, A),
        (A, A, B, B),
        (A, B, A, B),
        (A, B, B, B),
        (None, None, A, A),
        (None, A, None, A),
        (None, A, A, A),
        (A, None, A, None),
        (A, A, None, None),
        (A, None, None, None),
        (A, DIRECTORY, A, DIRECTORY),
        (A, A, DIRECTORY, DIRECTORY),
        (A, link("x"), link("x"), link("x")),
        # One changed the mode, the other the content.
        (A, A_RUN, B, B_RUN),
        (A, B, A_RUN, B_RUN),
        # Both changed the mode: the later wish wins, as for everything that has no parts.
        (A, file("a\n", 0o600), A_RUN, A_RUN),
        (DIRECTORY, Entry("dir", 0o700), Entry("dir", 0o750), Entry("dir", 0o750)),
        (DIRECTORY, Entry("dir", 0o700), DIRECTORY, Entry("dir", 0o700)),
        # The same content on both sides, with the mode of one.
        (A, B, B_RUN, B_RUN),
        (A, B_RUN, B, B_RUN),
        # Nothing can be kept of both.
        (A, B, C, Clash),
        (None, A, B, Clash),
        (A, None, B, Clash),
        (A, B, None, Clash),
        (A, DIRECTORY, B, Clash),
        (A, B, DIRECTORY, Clash),
        (A, link("x"), B, Clash),
        (A, B, link("x"), Clash),
        (link("x"), link("y"), link("z"), Clash),
        (DIRECTORY, A, B, Clash),
        (None, DIRECTORY, Entry("dir", 0o700), Clash),
    ],
)
def test_two_versions_are_merged_or_clash(
    base: Entry | None, ours: Entry | None, theirs: Entry | None, expected: Entry | type[Clash] | None
) -> None:
    result = combine(base, ours, theirs=theirs, contents={})
    assert result == (Clash() if isinstance(expected, type) else Combined(expected))


def test_changes_in_different_lines_are_both_kept() -> None:
    base, ours, theirs = LINES, LINES.replace("two", "2"), LINES.replace("six", "6")
    both = ours.replace("six", "6")
    known = state({}, base, ours, theirs).contents
    result = combine(file(base), file(ours, 0o755), theirs=file(theirs), contents=known)
    assert result == Combined(file(both, 0o755), (both.encode(),))
    assert combine(file(base), file(theirs), theirs=file(ours, 0o755), contents=known) == result


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_contents_that_are_not_at_hand_are_not_merged(missing: int) -> None:
    versions = [LINES, LINES.replace("two", "2"), LINES.replace("six", "6")]
    known = state({}, *(one for at, one in enumerate(versions) if at != missing)).contents
    base, ours, theirs = (file(one) for one in versions)
    assert isinstance(combine(base, ours, theirs=theirs, contents=known), Clash)


@pytest.mark.parametrize(
    "versions",
    [
        (LINES, LINES.replace("two", "2"), LINES.replace("two", "zwei")),
        ("\x00a\n\nb\n", "\x00A\n\nb\n", "\x00a\n\nB\n"),
    ],
    ids=["the same line", "not text"],
)
def test_what_cannot_merge_clashes(versions: tuple[str, str, str]) -> None:
    base, ours, theirs = (file(one) for one in versions)
    assert isinstance(combine(base, ours, theirs=theirs, contents=state({}, *versions).contents), Clash)


def test_a_merge_does_not_depend_on_who_is_ours_but_for_the_mode() -> None:
    """Every combination of a few things: swapping the sides never turns a merge into a clash."""
    things = [None, A, B, A_RUN, DIRECTORY, Entry("dir", 0o700), link("x"), link("y")]
    for base, ours, theirs in itertools.product(things, repeat=3):
        one, other = (
            combine(base, ours, theirs=theirs, contents={}),
            combine(base, theirs, theirs=ours, contents={}),
        )
        assert isinstance(one, Clash) == isinstance(other, Clash), (base, ours, theirs)
        if isinstance(one, Combined) and isinstance(other, Combined):
            assert _plain(one.entry) == _plain(other.entry), (base, ours, theirs)


def _plain(entry: Entry | None) -> Entry | None:
    return entry and replace(entry, mode=0)
