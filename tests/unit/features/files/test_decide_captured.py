"""The rules for what somebody did in the folder itself: it is recorded, never refused, and loses nothing."""

import pytest

from choiros.features.files.changeset import DIRECTORY
from choiros.features.files.commands import Change
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.kernel.tree import Entry
from tests.unit.features.files.wishes import LINES, A, B, C, captured, file, link, state


def test_a_removed_and_a_new_path_with_one_content_are_a_move() -> None:
    known = state({"a": A, "d": None, "d/b": None})
    assert captured(
        Change("a", None, A), Change("d", DIRECTORY, None), Change("d/b", A, None), known=known
    ) == [FileWritten("main", "d", DIRECTORY), FileMoved("main", "a", "d/b", A)]


@pytest.mark.parametrize(
    "changes",
    [
        # Which of two went where?
        (Change("a", None, A), Change("b", A, None), Change("c", A, None)),
        (Change("a", None, A), Change("a2", None, A), Change("b", A, None)),
        # Empty files are all the same.
        (Change("empty", None, file("")), Change("b", file(""), None)),
        # A link is not a file that has moved.
        (Change("link", None, link("x")), Change("b", link("x"), None)),
    ],
)
def test_a_move_that_is_not_sure_is_a_removal_and_a_new_file(changes: tuple[Change, ...]) -> None:
    known = state({"a": A, "a2": A, "empty": file(""), "link": link("x"), "b": None, "c": None})
    assert not any(isinstance(fact, FileMoved) for fact in captured(*changes, known=known))


def test_a_file_that_was_moved_where_somebody_else_just_wrote_is_kept_beside() -> None:
    known = state({"a": A, "b": B, "b (conflict)": None})
    facts = captured(Change("a", None, A), Change("b", A, None), known=known)
    assert FileWritten("main", "b (conflict)", A, None, "b") in facts
    assert not any(fact.path == "b" for fact in facts if isinstance(fact, (FileWritten, FileDeleted)))


def test_a_moved_file_that_somebody_else_just_removed_is_a_new_file() -> None:
    known = state({"a": None, "b": None})
    assert captured(Change("a", None, A), Change("b", A, None), known=known) == [FileWritten("main", "b", A)]


def test_a_moved_file_that_somebody_else_just_changed_keeps_the_change() -> None:
    known = state({"a": B, "b": None})
    assert captured(Change("a", None, A), Change("b", A, None), known=known) == [
        FileMoved("main", "a", "b", B)
    ]


def test_a_file_can_move_into_a_directory_that_takes_the_place_of_another_file() -> None:
    known = state({"a": A, "p": B, "p/a": None})
    facts = captured(Change("a", None, A), Change("p", DIRECTORY, B), Change("p/a", A, None), known=known)
    assert FileWritten("main", "p", DIRECTORY, B) in facts
    assert FileWritten("main", "p/a", A) in facts
    assert FileDeleted("main", "a", A) in facts


def test_an_edit_by_hand_is_merged_with_what_came_meanwhile() -> None:
    ours, theirs = LINES.replace("two", "2"), LINES.replace("six", "6")
    both = ours.replace("six", "6")
    known = state({"a": file(ours)}, LINES, ours, theirs)
    assert captured(Change("a", file(theirs), file(LINES)), known=known) == [
        FileWritten("main", "a", file(both), file(ours))
    ]


@pytest.mark.parametrize(
    ("change", "entries", "expected"),
    [
        # Both wrote: the hand's version stands beside the newer one.
        (Change("a", C, A), {"a": B, "a (conflict)": None}, {"a": B, "a (conflict)": C}),
        # Removed by hand, changed by somebody else: the change stays.
        (Change("a", None, A), {"a": B}, {"a": B}),
        # Changed by hand, removed by somebody else: the change stays, beside.
        (Change("a", C, A), {"a": None, "a (conflict)": None}, {"a (conflict)": C}),
        # The whole folder removed by hand, something new in it by somebody else.
        (Change("d", None, DIRECTORY), {"d": DIRECTORY, "d/new": B}, {"d": DIRECTORY, "d/new": B}),
        # A directory put in the place of a file that somebody else changed.
        (
            Change("a", DIRECTORY, A),
            {"a": B, "a (conflict)": None},
            {"a": DIRECTORY, "a (conflict)": B},
        ),
        # A file put in the place of a directory in which somebody else wrote.
        (
            Change("d", A, DIRECTORY),
            {"d": DIRECTORY, "d/new": B, "d (conflict)": None},
            {"d": DIRECTORY, "d/new": B, "d (conflict)": A},
        ),
        # A file below what is a file by now, because somebody else replaced the directory.
        (
            Change("d/x", C, None),
            {"d": B, "d/x": None, "d (conflict)": None},
            {"d": DIRECTORY, "d (conflict)": B, "d/x": C},
        ),
        (
            Change("d/x", C, A),
            {"d": B, "d/x": None, "d (conflict)": None, "d/x (conflict)": None},
            {"d": DIRECTORY, "d (conflict)": B, "d/x (conflict)": C},
        ),
        # Two modes of one directory.
        (
            Change("d", Entry("dir", 0o700), None),
            {"d": DIRECTORY, "d/x": A},
            {"d": Entry("dir", 0o700), "d/x": A},
        ),
        # Nothing is known about what was there before: the folder is right.
        (Change("d", A), {"d": DIRECTORY, "d/x": B}, {"d": A}),
    ],
)
def test_what_was_done_by_hand_is_never_refused_and_loses_nothing(
    change: Change, entries: dict[str, Entry | None], expected: dict[str, Entry]
) -> None:
    now = {path: entry for path, entry in entries.items() if entry is not None}
    for fact in captured(change, known=state(entries)):
        if isinstance(fact, FileWritten):
            now[fact.path] = fact.entry
        elif isinstance(fact, FileDeleted):
            del now[fact.path]
    assert now == expected
