"""The rules for files: what each wish records, and every refusal."""

from collections.abc import Mapping

import pytest
from msgspec import UNSET, UnsetType

from choiros.features.files.changeset import DIRECTORY
from choiros.features.files.commands import Change, EditFile, MoveFile, RemoveFile
from choiros.features.files.decide import (
    decide_edit,
    decide_move,
    decide_remove,
)
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.kernel.command import Decision
from choiros.kernel.errors import Conflict
from choiros.kernel.tree import Entry
from tests.unit.features.files.wishes import LINES, A, B, C, changed, file, link, refused, state

# --- Setting paths ---


def test_a_new_file_and_the_directories_above_it_are_recorded() -> None:
    known = state({"d": None, "d/a": None})
    assert changed(Change("d/a", A), known=known).payloads == [
        FileWritten("main", "d", DIRECTORY),
        FileWritten("main", "d/a", A),
    ]


def test_what_is_as_wished_already_is_not_recorded() -> None:
    assert changed(Change("a", A), Change("b", None), known=state({"a": A, "b": None})).facts == ()


def test_a_wish_without_a_base_holds_whatever_stands_there() -> None:
    assert changed(Change("a", B), known=state({"a": A})).payloads == [FileWritten("main", "a", B, A)]
    assert changed(Change("a", None), known=state({"a": A})).payloads == [FileDeleted("main", "a", A)]


def test_a_wish_from_an_older_state_is_merged() -> None:
    ours, theirs = LINES.replace("two", "2"), LINES.replace("six", "6")
    both = ours.replace("six", "6")
    decision = changed(
        Change("a", file(theirs), file(LINES)), known=state({"a": file(ours)}, LINES, ours, theirs)
    )
    assert decision.payloads == [FileWritten("main", "a", file(both), file(ours))]
    assert decision.contents == (both.encode(),)


@pytest.mark.parametrize("base", [A, None], ids=["changed by both", "made by both"])
def test_a_wish_that_cannot_be_merged_is_kept_beside(base: Entry | None) -> None:
    """Nothing is overwritten in silence, and the event says for which path it was meant."""
    known = state({"d": DIRECTORY, "d/a.txt": B, "d/a (conflict).txt": None})
    assert changed(Change("d/a.txt", C, base), known=known).payloads == [
        FileWritten("main", "d/a (conflict).txt", C, None, "d/a.txt")
    ]


def test_a_second_conflict_does_not_overwrite_the_first() -> None:
    known = state({"a.txt": B, "a (conflict).txt": C, "a (conflict 2).txt": None})
    assert changed(Change("a.txt", link("x"), A), known=known).payloads == [
        FileWritten("main", "a (conflict 2).txt", link("x"), None, "a.txt")
    ]


@pytest.mark.parametrize("entry", [None, DIRECTORY], ids=["removed", "a directory"])
def test_a_wish_that_cannot_be_kept_beside_is_refused(entry: Entry | None) -> None:
    error = refused(lambda: changed(Change("a", entry, A), known=state({"a": B})), Conflict)
    assert error.code == "files.changed_since"
    assert error.fields["path"] == "a"


def test_all_wishes_of_a_command_hold_or_none() -> None:
    known = state({"a": A, "b": B})
    refused(lambda: changed(Change("a", C), Change("b", None, A), known=known), Conflict)


def test_a_directory_goes_before_what_takes_its_place() -> None:
    known = state({"d": DIRECTORY, "d/x": A})
    facts = changed(Change("d", B), Change("d/x", None), known=known).payloads
    assert facts == [FileDeleted("main", "d/x", A), FileWritten("main", "d", B, DIRECTORY)]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Change("", A), "path.empty"),
        (Change("/etc/passwd", A), "path.absolute"),
        (Change("../a", A), "path.not_plain"),
        (Change("d/./a", A), "path.not_plain"),
        (Change("a\x00b", A), "path.nul"),
        (Change("a\ud800", A), "path.not_utf8"),
        (Change("a" * 256, A), "path.too_long"),
        (Change("d/.choir-tmp-1", A), "path.reserved"),
        (Change("../a", None), "path.not_plain"),
        (Change("file/a", A), "files.not_directory"),
        (Change("full", A), "files.directory_not_empty"),
        (Change("full", None), "files.directory_not_empty"),
        (Change("new", Entry("file", 0o1777, 0, A.content)), "files.bad_entry"),
        (Change("new", Entry("file", -1, 0, A.content)), "files.bad_entry"),
        (Change("new", Entry("file", 0o644, 1, "../../../etc/passwd")), "files.bad_entry"),
        (Change("new", Entry("file", 0o644, -1, A.content)), "files.bad_entry"),
        (Change("new", Entry("dir", 0o4755)), "files.bad_entry"),
        (Change("new", Entry("dir", 0o755, content=A.content)), "files.bad_entry"),
        (Change("new", Entry("link", 0o644, target="x")), "files.bad_entry"),
        (Change("new", link("")), "files.bad_entry"),
        (Change("new", link("a\x00b")), "files.bad_entry"),
        (Change("new", link("a\udcff")), "files.bad_entry"),
        (Change("new", link("x" * 4096)), "files.bad_entry"),
    ],
)
def test_a_wish_that_cannot_be_is_refused_with_its_place(change: Change, code: str) -> None:
    entries = {"file": A, "file/a": None, "full": DIRECTORY, "full/x": A, "new": None}
    error = refused(lambda: changed(change, known=state(entries)))
    assert error.code == code
    assert "path" in error.fields


def test_a_path_that_is_named_twice_is_refused() -> None:
    error = refused(lambda: changed(Change("a", A), Change("a", B), known=state({"a": None})))
    assert error.code == "files.named_twice"


def test_an_ignored_path_is_refused_because_it_would_not_be_kept() -> None:
    def ignored(path: str, is_directory: bool) -> bool:
        return path == "build" and is_directory

    known = state({"build": None, "build/a": None}, ignored=ignored)
    assert refused(lambda: changed(Change("build/a", A), known=known)).code == "files.ignored"
    assert refused(lambda: changed(Change("build", DIRECTORY), known=known)).code == "files.ignored"
    assert changed(Change("build", A), known=known).payloads == [FileWritten("main", "build", A)]
    # What is kept already stays kept, also when it was ignored later.
    kept = state({"build": DIRECTORY, "build/a": A}, ignored=ignored)
    assert changed(Change("build/a", B), known=kept).payloads == [FileWritten("main", "build/a", B, A)]


@pytest.mark.parametrize(
    ("path", "other", "entries"),
    [
        ("Readme", "README", {"Readme": None}),
        ("e\u0301", "é", {"e\u0301": None}),
        # Not only the file: the directory above it would be one with another one elsewhere, too.
        ("Notes/new", "notes", {"Notes": None, "Notes/new": None}),
    ],
)
def test_a_name_that_looks_like_another_one_is_refused(
    path: str, other: str, entries: Mapping[str, Entry | None]
) -> None:
    alike = {path: [other]} if "/" not in path else {"Notes": [other]}
    error = refused(lambda: changed(Change(path, A), known=state(entries, alike=alike)))
    assert error.code == "files.looks_alike"
    assert other in error.message


def test_names_that_look_alike_among_the_new_ones_are_refused() -> None:
    known = state({"a": None, "A": None})
    error = refused(lambda: changed(Change("a", A), Change("A", B), known=known))
    assert error.code == "files.looks_alike"


def test_names_that_look_alike_already_can_both_be_changed() -> None:
    """They came from outside, from a system that can tell them apart."""
    known = state({"a": A, "A": B}, alike={"a": ["A"], "A": ["a"]})
    assert len(changed(Change("a", C), Change("A", C), known=known).facts) == 2


# --- Editing ---


def edited(
    old: str, new: str, *, text: str | bytes = LINES, everywhere: bool = False, entry: Entry | None = None
) -> Decision:
    known = state({"a": entry or file(text, 0o755)}, text)
    return decide_edit(EditFile("main", "a", old, new, everywhere), known)


def test_an_edit_replaces_one_piece_and_keeps_the_mode() -> None:
    expected = LINES.replace("two\nthree", "2")
    decision = edited("two\nthree", "2")
    assert decision.payloads == [FileWritten("main", "a", file(expected, 0o755), file(LINES, 0o755))]
    assert decision.contents == (expected.encode(),)


def test_an_edit_replaces_everywhere_when_wished() -> None:
    assert edited("e\n", "E\n", everywhere=True).contents == (LINES.replace("e\n", "E\n").encode(),)


def test_an_edit_that_changes_nothing_records_nothing() -> None:
    assert edited("two", "two").facts == ()


@pytest.mark.parametrize(
    ("old", "new", "text", "code"),
    [
        ("absent", "x", LINES, "files.edit_no_match"),
        ("", "x", LINES, "files.edit_no_match"),
        ("two\r\n", "x", LINES, "files.edit_no_match"),
        ("e\n", "x", LINES, "files.edit_many_matches"),
        ("a", "x", b"a\x00", "files.not_text"),
        ("a", "x", b"a\xff", "files.not_text"),
        ("a\ud800", "x", "a", "files.not_utf8"),
        ("a", "\udfff", "a", "files.not_utf8"),
    ],
)
def test_an_edit_that_cannot_be_is_refused(old: str, new: str, text: str | bytes, code: str) -> None:
    error = refused(lambda: edited(old, new, text=text))
    assert error.code == code
    assert error.fields["path"] == "a"


@pytest.mark.parametrize(("entry", "word"), [(DIRECTORY, "directory"), (link("x"), "link")])
def test_only_a_file_can_be_edited(entry: Entry, word: str) -> None:
    error = refused(lambda: edited("a", "b", entry=entry))
    assert error.code == "files.not_a_file"
    assert word in error.message


def test_a_file_that_is_not_there_cannot_be_edited() -> None:
    known = state({"a": None})
    assert refused(lambda: decide_edit(EditFile("main", "a", "x", "y"), known)).code == "files.not_found"


# --- Moving and removing ---


def test_a_directory_moves_with_what_it_holds() -> None:
    known = state({"d": DIRECTORY, "d/x": A, "n": None, "n/d": None})
    facts = decide_move(MoveFile("main", "d", "n/d"), known).payloads
    assert FileMoved("main", "d/x", "n/d/x", A) in facts
    assert facts[-1] == FileDeleted("main", "d", DIRECTORY)


@pytest.mark.parametrize(
    ("path", "to", "code"),
    [
        ("absent", "b", "files.not_found"),
        ("a", "other", "files.exists"),
        ("a", "d", "files.exists"),
        ("a", "a", "files.move_into_itself"),
        ("d", "d/inner", "files.move_into_itself"),
        ("a", "other/b", "files.not_directory"),
        ("a", "../b", "path.not_plain"),
        ("../a", "b", "path.not_plain"),
        ("a", "alike", "files.looks_alike"),
        ("a", "ignored", "files.ignored"),
    ],
)
def test_a_move_that_cannot_be_is_refused(path: str, to: str, code: str) -> None:
    entries = {"a": A, "other": B, "d": DIRECTORY, "d/x": A, "absent": None, to.split("/", 1)[0]: None}
    entries |= {"a": A, "other": B, "d": DIRECTORY, to: {"other": B, "a": A, "d": DIRECTORY}.get(to)}
    known = state(entries, alike={"alike": ["Alike"]}, ignored=lambda one, _: one == "ignored")
    assert refused(lambda: decide_move(MoveFile("main", path, to), known)).code == code


def test_a_directory_does_not_move_where_its_files_would_have_no_name() -> None:
    """A path over the limit could be recorded, but no folder could ever show it."""
    deep = "d/" + "/".join(["n" * 200] * 19)
    to = "e" * 200
    names = deep.split("/")
    entries: dict[str, Entry | None] = {"/".join(names[:depth]): DIRECTORY for depth in range(1, len(names))}
    known = state({**entries, deep: A, to: None})
    error = refused(lambda: decide_move(MoveFile("main", "d", to), known))
    assert error.code == "path.too_long"


def test_a_name_can_change_its_case() -> None:
    known = state({"readme": A, "README": None}, alike={"README": ["readme"]})
    assert decide_move(MoveFile("main", "readme", "README"), known).payloads == [
        FileMoved("main", "readme", "README", A)
    ]


def test_a_directory_is_removed_with_what_it_holds_only_when_wished() -> None:
    known = state({"d": DIRECTORY, "d/x": A})
    error = refused(lambda: decide_remove(RemoveFile("main", "d"), known))
    assert error.code == "files.directory_not_empty"
    assert decide_remove(RemoveFile("main", "d", recursive=True), known).payloads == [
        FileDeleted("main", "d/x", A),
        FileDeleted("main", "d", DIRECTORY),
    ]


def test_what_is_not_there_cannot_be_removed() -> None:
    known = state({"a": None})
    assert refused(lambda: decide_remove(RemoveFile("main", "a"), known)).code == "files.not_found"


def test_a_link_is_removed_and_not_what_it_points_to() -> None:
    known = state({"l": link("a"), "a": A})
    assert decide_remove(RemoveFile("main", "l", recursive=True), known).payloads == [
        FileDeleted("main", "l", link("a"))
    ]


def test_a_base_can_be_nothing_or_not_given() -> None:
    """The two mean different things: nothing stood there, and it does not matter what did."""
    bases: list[Entry | UnsetType | None] = [UNSET, None]
    known = state({"a": A, "a (conflict)": None})
    assert [changed(Change("a", B, base), known=known).payloads for base in bases] == [
        [FileWritten("main", "a", B, A)],
        [FileWritten("main", "a (conflict)", B, None, "a")],
    ]
