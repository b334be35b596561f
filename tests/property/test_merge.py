"""What a merge promises for any three versions, and how it compares with git's."""

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.features.files import match
from choiros.features.files.merge import merge
from choiros.features.files.text import split_lines

few_lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"a\r\n"]), max_size=12)
endings = st.sampled_from([b"", b"a", b"c", b"\r"])
contents = st.builds(lambda lines, end: b"".join([*lines, end]), few_lines, endings)
any_contents = st.one_of(contents, st.binary(max_size=20))


@given(any_contents, any_contents)
def test_what_one_side_or_both_made_alike_is_the_result(base: bytes, changed: bytes) -> None:
    assert merge(base, changed, base).content == changed
    assert merge(base, base, changed).content == changed
    assert merge(base, changed, changed).content == changed


@given(any_contents, any_contents, any_contents)
def test_the_order_of_the_sides_does_not_matter(base: bytes, ours: bytes, theirs: bytes) -> None:
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert one.content == other.content
    assert one.refusal == other.refusal
    assert [(region.base, region.ours, region.theirs) for region in one.conflicts] == [
        (region.base, region.theirs, region.ours) for region in other.conflicts
    ]


@given(contents, contents, contents, st.sampled_from([0, 10, match.STEPS_MAX]))
def test_a_result_holds_only_lines_of_its_sides_and_a_conflict_tells_their_true_places(
    base: bytes, ours: bytes, theirs: bytes, steps: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match, "STEPS_MAX", steps)
        result = merge(base, ours, theirs)
    if result.content is not None:
        assert set(split_lines(result.content)) <= {*split_lines(ours), *split_lines(theirs)}
        assert result.conflicts == ()
        return
    assert result.conflicts
    for region in result.conflicts:
        for side, content in ((region.base, base), (region.ours, ours), (region.theirs, theirs)):
            lines = [line.encode() for line in side.lines]
            assert split_lines(content)[side.start - 1 :][: len(lines)] == lines
        assert len({region.base.lines, region.ours.lines, region.theirs.lines}) == 3


@st.composite
def separate_edits(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int, list[str], str]]]:
    """Draw a base of different lines and edits of both sides, with an unchanged line after each."""
    base = [f"base {number}\n" for number in range(draw(st.integers(1, 30)))]
    edits: list[tuple[int, int, list[str], str]] = []
    at = 0
    while at <= len(base):
        start = draw(st.integers(at, len(base) + 1))
        if start > len(base):
            break
        end = draw(st.integers(start, min(start + 3, len(base))))
        fresh = [f"edit {len(edits)}, line {number}\n" for number in range(draw(st.integers(0, 3)))]
        edits.append((start, end, fresh, draw(st.sampled_from(["ours", "theirs", "both"]))))
        at = end + 1
    return base, edits


def applied(base: list[str], edits: list[tuple[int, int, list[str], str]], *sides: str) -> bytes:
    """Apply the edits of some sides one after the other, from the end: the independent model of a merge."""
    lines = list(base)
    for start, end, fresh, side in reversed(edits):
        if side in sides:
            lines[start:end] = fresh
    return "".join(lines).encode()


@given(separate_edits())
def test_separate_edits_are_all_applied(
    drawn: tuple[list[str], list[tuple[int, int, list[str], str]]],
) -> None:
    base, edits = drawn
    ours, theirs = applied(base, edits, "ours", "both"), applied(base, edits, "theirs", "both")
    assert merge("".join(base).encode(), ours, theirs).content == applied(
        base, edits, "ours", "theirs", "both"
    )


def changed(chance: random.Random, lines: list[bytes], kinds: int) -> list[bytes]:
    """Return the lines after one to three random changes."""
    lines = list(lines)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(lines) + 1)
        removed = chance.choice([0, 0, 1, 1, 2])
        added = chance.choice([0, 1, 1, 2, 4])
        lines[at : at + removed] = [b"%d\n" % chance.randrange(kinds) for _ in range(added)]
    return lines


def merged_by_git(folder: Path, versions: list[bytes]) -> bytes | None:
    for name, content in zip(("base", "ours", "theirs"), versions, strict=True):
        (folder / name).write_bytes(content)
    command = ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"]
    run = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return run.stdout if run.returncode == 0 else None


@pytest.mark.parametrize(
    ("kinds", "refused_max"),
    [
        pytest.param(4, 0.35, id="hardly any line is unique"),
        pytest.param(500, 0.04, id="most lines are unique"),
    ],
)
def test_what_merges_here_merges_alike_in_git(kinds: int, refused_max: float, tmp_path: Path) -> None:
    chance = random.Random(kinds)
    both = refused = 0
    for _ in range(200):
        base = [b"%d\n" % chance.randrange(kinds) for _ in range(chance.randrange(4, 30))]
        sides = [changed(chance, base, kinds) for _ in range(2)]
        versions = [b"".join(lines) for lines in (base, *sides)]
        git, here = merged_by_git(tmp_path, versions), merge(*versions).content
        if here is not None:
            assert git == here, versions
            both += 1
        elif git is not None:
            refused += 1
    assert both > 60
    assert refused <= refused_max * (both + refused), (
        f"{refused} of {both + refused} that git merges are refused"
    )
