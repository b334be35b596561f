import time

import pytest

from choiros.features.files import text
from choiros.features.files.merge import ConflictRegion, Merged, Side, merge


def file(words: str) -> bytes:
    return b"".join(word.encode() + b"\n" for word in words.split())


def merged(base: str, ours: str, theirs: str) -> str | None:
    """Merge words as lines, both ways round, and return what came out."""
    result = merge(file(base), file(ours), file(theirs))
    assert merge(file(base), file(theirs), file(ours)).content == result.content
    return None if result.content is None else " ".join(result.content.decode().split())


def test_changes_at_different_places_are_both_kept() -> None:
    assert merged("a b c d e", "A b c d e", "a b c d E") == "A b c d E"


def test_one_unchanged_line_between_two_changes_is_enough() -> None:
    assert merged("a b c", "A b c", "a b C") == "A b C"


def test_a_side_that_changed_nothing_gives_way() -> None:
    assert merged("a b", "a b", "x") == "x"
    assert merged("a b", "", "a b") == ""


def test_equal_changes_are_made_once() -> None:
    assert merged("a b c d e", "a X c d E", "a X c d e") == "a X c d E"
    assert merged("a c e g", "a b c e g", "a b c e G") == "a b c e G"


def test_different_changes_of_one_line_conflict() -> None:
    assert merged("a b c", "a X c", "a Y c") is None


def test_directly_adjacent_changes_conflict() -> None:
    assert merged("a b c d", "a X c d", "a b Y d") is None


def test_additions_at_one_place_conflict_because_their_order_is_unknown() -> None:
    assert merged("a b", "a x b", "a y b") is None
    assert merged("", "x", "y") is None


def test_a_change_of_what_the_other_side_removed_conflicts() -> None:
    assert merged("a b c d e", "a e", "a b X d e") is None


def test_an_addition_inside_what_the_other_side_removed_conflicts() -> None:
    assert merged("a b c d", "a d", "a b x c d") is None


def test_a_change_among_equal_lines_conflicts_when_one_of_them_was_removed() -> None:
    # git puts the change at one of two places, and nobody knows whether it is the right one.
    assert merged("p x x x x x q", "p x x x x q", "p x X x x x q") is None


def test_equal_lines_far_from_a_change_disturb_nothing() -> None:
    assert merged("x x m y y", "x m y y", "x x m y Y") == "x m y Y"


def test_line_ends_and_a_missing_last_newline_are_kept() -> None:
    assert merge(b"a\r\nb\r\nc", b"A\r\nb\r\nc", b"a\r\nb\r\nc\n").content == b"A\r\nb\r\nc\n"


def test_different_line_ends_are_different_lines() -> None:
    assert merge(b"a\nb\nc\n", b"a\r\nb\r\nc\r\n", b"a\nb\nC\n").content is None


def test_a_conflict_tells_the_lines_of_all_three_sides() -> None:
    result = merge(file("a b c d"), file("n a b X d"), file("a b Y Z d"))
    region = ConflictRegion(base=Side(3, ("c\n",)), ours=Side(4, ("X\n",)), theirs=Side(3, ("Y\n", "Z\n")))
    assert result == Merged(None, (region,), "conflicts")


def test_every_conflict_is_told_and_nothing_is_half_merged() -> None:
    result = merge(file("a b c d e f"), file("A b c D e F"), file("1 b c 2 e f"))
    assert [region.base.start for region in result.conflicts] == [1, 4]
    assert result.content is None


def test_a_conflict_about_nothing_in_the_base_names_the_line_that_follows() -> None:
    (region,) = merge(file("a b"), file("a x b"), file("a y b")).conflicts
    assert region.base == Side(2, ())


@pytest.mark.parametrize("changed", [b"b\x00\n", b"b\xff\n"])
def test_what_is_not_text_is_refused_when_both_sides_changed_it(changed: bytes) -> None:
    assert merge(b"a\n", changed, b"c\n") == Merged(None, refusal="not_text")
    assert merge(b"a\n", b"c\n", changed) == Merged(None, refusal="not_text")
    assert merge(changed, b"a\n", b"c\n") == Merged(None, refusal="not_text")


def test_what_is_not_text_is_still_taken_when_one_side_changed_it() -> None:
    assert merge(b"\x00", b"\x00", b"\x01").content == b"\x01"
    assert merge(b"\x00", b"\x01", b"\x00").content == b"\x01"
    assert merge(b"\x00", b"\x01", b"\x01").content == b"\x01"


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "TEXT_BYTES_MAX", 5)
    assert merge(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n") == Merged(None, refusal="too_large")


def test_a_large_file_with_few_changes_merges_quickly() -> None:
    lines = [b"line %d of a large file\n" % number for number in range(200_000)]
    ours, theirs = list(lines), list(lines)
    ours[1000], theirs[199_000] = b"ours\n", b"theirs\n"
    both = list(ours)
    both[199_000] = b"theirs\n"
    start = time.process_time()
    assert merge(b"".join(lines), b"".join(ours), b"".join(theirs)).content == b"".join(both)
    assert time.process_time() - start < 4  # measured: 0.25 s, and 1.3 s for a million lines
