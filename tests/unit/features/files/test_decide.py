"""The rules for files: what each wish records, every refusal, and how two versions of one thing are merged."""

import itertools
from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from choiros.features.files.changeset import DIRECTORY
from choiros.features.files.commands import CaptureFiles, Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.files.decide import (
    Clash,
    Combined,
    FilesState,
    combine,
    decide_capture,
    decide_change,
    decide_edit,
    decide_move,
    decide_remove,
    digest_of,
)
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.kernel.command import Decision
from choiros.kernel.errors import ChoirError, Conflict, Rejected
from choiros.kernel.tree import Entry

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def file(data: bytes | str, mode: int = 0o644) -> Entry:
    raw = data.encode() if isinstance(data, str) else data
    return Entry("file", mode, len(raw), digest_of(raw))


def link(target: str) -> Entry:
    return Entry("link", 0o777, target=target)


def nothing_is_ignored(path: str, is_directory: bool) -> bool:
    return False


def state(
    entries: Mapping[str, Entry | None],
    *texts: str | bytes,
    alike: Mapping[str, Sequence[str]] | None = None,
    ignored: Callable[[str, bool], bool] = nothing_is_ignored,
) -> FilesState:
    contents = [text.encode() if isinstance(text, str) else text for text in texts]
    return FilesState(entries, {digest_of(one): one for one in contents}, alike or {}, ignored)


def changed(*changes: Change, known: FilesState) -> Decision:
    return decide_change(ChangeFiles("main", changes), known)


def captured(*changes: Change, known: FilesState) -> list[Struct]:
    return decide_capture(CaptureFiles("main", changes), known).payloads


def refused(decide: Callable[[], Decision], kind: type[ChoirError] = Rejected) -> ChoirError:
    with pytest.raises(kind) as caught:
        decide()
    assert caught.value.fix
    assert caught.value.message.endswith(".")
    return caught.value


# --- Merging ---

A, B, C = file("a\n"), file("b\n"), file("c\n")
A_RUN = file("a\n", 0o755)
B_RUN = file("b\n", 0o755)


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


# --- Recording what somebody did in the folder ---


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
