import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.features.files.changeset import DIRECTORY, ChangeSet
from choiros.features.files.events import FileDeleted, FileFact, FileMoved, FileWritten
from choiros.kernel.errors import Rejected
from choiros.kernel.path import is_below, parents
from choiros.kernel.tree import Entry

Standing = dict[str, Entry]


def file(word: str, mode: int = 0o644) -> Entry:
    return Entry("file", mode, len(word), content=word)


def link(target: str) -> Entry:
    return Entry("link", 0o777, target=target)


def drawn(standing: Standing, *absent: str) -> ChangeSet:
    return ChangeSet("main", {**dict.fromkeys(absent), **standing})


def happened(standing: Standing, facts: tuple[FileFact, ...]) -> Standing:
    """Let the facts happen one by one to a plain mapping; each must be possible when its turn comes."""
    now = dict(standing)
    for fact in facts:
        match fact:
            case FileWritten(_, path, entry, before):
                assert now.get(path) == before, fact
                assert all(now[above].kind == "dir" for above in parents(path)), fact
                assert entry.kind == "dir" or not any(is_below(other, path) for other in now), fact
                now[path] = entry
            case FileDeleted(_, path, before):
                assert now.pop(path) == before, fact
                assert not any(is_below(other, path) for other in now), fact
            case FileMoved(_, path, to, entry):
                assert to not in now, fact
                assert all(now[above].kind == "dir" for above in parents(to)), fact
                now[to] = now.pop(path)
                assert now[to] == entry, fact
    return now


def kinds(facts: tuple[FileFact, ...]) -> list[tuple[str, ...]]:
    return [
        ("move", fact.path, fact.to)
        if isinstance(fact, FileMoved)
        else ("delete" if isinstance(fact, FileDeleted) else "write", fact.path)
        for fact in facts
    ]


def test_nothing_drawn_is_nothing_told() -> None:
    changes = drawn({"a": file("1")})
    changes.put("a", file("1"))
    assert changes.facts() == ()


def test_what_is_made_and_removed_again_is_not_told() -> None:
    changes = drawn({}, "a")
    changes.put("a", file("1"))
    changes.remove("a")
    assert changes.facts() == ()


def test_a_new_file_tells_that_nothing_stood_there_and_a_changed_one_what_did() -> None:
    changes = drawn({"a": file("1")}, "b")
    changes.put("a", file("2"))
    changes.put("b", file("3"))
    assert changes.facts() == (
        FileWritten("main", "a", file("2"), file("1")),
        FileWritten("main", "b", file("3"), None),
    )


def test_missing_directories_are_made_from_the_outermost() -> None:
    changes = drawn({}, "a", "a/b", "a/b/c")
    changes.put("a/b/c", file("1"))
    facts = changes.facts()
    assert kinds(facts) == [("write", "a"), ("write", "a/b"), ("write", "a/b/c")]
    assert happened({}, facts) == {"a": DIRECTORY, "a/b": DIRECTORY, "a/b/c": file("1")}


def test_a_file_is_no_directory_for_another_one() -> None:
    changes = drawn({"a": file("1")}, "a/b")
    with pytest.raises(Rejected) as refusal:
        changes.put("a/b", file("2"))
    assert refusal.value.code == "files.not_directory"
    assert refusal.value.fields["path"] == "a/b"


@pytest.mark.parametrize("act", ["replace", "remove"])
def test_a_directory_that_holds_something_stays(act: str) -> None:
    changes = drawn({"d": DIRECTORY, "d/x": file("1")})
    with pytest.raises(Rejected) as refusal:
        changes.put("d", file("2")) if act == "replace" else changes.remove("d")
    assert refusal.value.code == "files.directory_not_empty"
    assert changes.facts() == ()


def test_a_directory_goes_with_all_it_holds_the_deepest_first() -> None:
    standing = {"d": DIRECTORY, "d/e": DIRECTORY, "d/e/x": file("1"), "d/y": link("x"), "da": file("2")}
    changes = drawn(standing)
    changes.remove_all("d")
    facts = changes.facts()
    assert kinds(facts) == [("delete", "d/y"), ("delete", "d/e/x"), ("delete", "d/e"), ("delete", "d")]
    assert happened(standing, facts) == {"da": file("2")}


def test_a_directory_can_take_another_mode_while_it_holds_something() -> None:
    standing = {"d": DIRECTORY, "d/x": file("1")}
    changes = drawn(standing)
    changes.put("d", Entry("dir", 0o700))
    assert changes.facts() == (FileWritten("main", "d", Entry("dir", 0o700), DIRECTORY),)


def test_a_file_becomes_a_directory_and_back() -> None:
    standing = {"a": file("1")}
    changes = drawn(standing, "a/x")
    changes.put("a", DIRECTORY)
    changes.put("a/x", file("2"))
    facts = changes.facts()
    replaced = happened(standing, facts)
    assert replaced == {"a": DIRECTORY, "a/x": file("2")}
    back = drawn(replaced)
    back.remove("a/x")
    back.put("a", file("1"))
    facts = back.facts()
    assert kinds(facts) == [("delete", "a/x"), ("write", "a")]
    assert happened(replaced, facts) == standing


def test_a_moved_file_is_told_as_moved() -> None:
    changes = drawn({"a": file("1")}, "b")
    changes.move("a", "b")
    assert changes.facts() == (FileMoved("main", "a", "b", file("1")),)


def test_a_file_that_is_moved_and_edited_is_told_as_moved_then_changed() -> None:
    changes = drawn({"a": file("1")}, "b")
    changes.move("a", "b")
    changes.put("b", file("2"))
    facts = changes.facts()
    assert facts == (
        FileMoved("main", "a", "b", file("1")),
        FileWritten("main", "b", file("2"), file("1")),
    )
    assert happened({"a": file("1")}, facts) == {"b": file("2")}


def test_a_chain_of_moves_is_told_as_one_move() -> None:
    """Else the later history would not know that it is the same file (C-30)."""
    changes = drawn({"a": file("1")}, "b", "c")
    changes.move("a", "b")
    changes.put("b", file("2"))
    changes.move("b", "c")
    facts = changes.facts()
    assert kinds(facts) == [("move", "a", "c"), ("write", "c")]
    assert happened({"a": file("1")}, facts) == {"c": file("2")}


def test_a_file_that_is_moved_away_and_back_has_not_moved() -> None:
    changes = drawn({"a": file("1")}, "b")
    changes.move("a", "b")
    changes.move("b", "a")
    assert changes.facts() == ()


def test_a_moved_file_leaves_room_for_a_new_one() -> None:
    standing = {"a": file("1")}
    changes = drawn(standing, "b")
    changes.move("a", "b")
    changes.put("a", file("2"))
    facts = changes.facts()
    assert kinds(facts) == [("move", "a", "b"), ("write", "a")]
    assert happened(standing, facts) == {"a": file("2"), "b": file("1")}


def test_a_moved_file_leaves_room_for_a_directory() -> None:
    """The directory must not be made before the file has gone, or it would vanish with it."""
    standing = {"a": file("1")}
    changes = drawn(standing, "b", "a/x")
    changes.move("a", "b")
    changes.put("a/x", file("2"))
    facts = changes.facts()
    assert happened(standing, facts) == {"a": DIRECTORY, "a/x": file("2"), "b": file("1")}
    assert kinds(facts)[0] == ("move", "a", "b")


def test_a_file_can_move_into_a_directory_that_takes_its_place() -> None:
    standing = {"a": file("1")}
    changes = drawn(standing, "b", "a/x")
    changes.move("a", "b")
    changes.put("a", DIRECTORY)
    changes.move("b", "a/x")
    assert happened(standing, changes.facts()) == {"a": DIRECTORY, "a/x": file("1")}


def test_a_file_can_take_the_place_of_the_directory_that_held_it() -> None:
    standing = {"a": DIRECTORY, "a/x": file("1")}
    changes = drawn(standing, "b")
    changes.move("a/x", "b")
    changes.remove("a")
    changes.move("b", "a")
    assert happened(standing, changes.facts()) == {"a": file("1")}


def test_files_that_each_take_the_next_name_are_told_as_moved() -> None:
    """This is how logs are rotated."""
    standing = {"log": file("1"), "log.1": file("2"), "log.2": file("3")}
    changes = drawn(standing, "log.3")
    for path, to in (("log.2", "log.3"), ("log.1", "log.2"), ("log", "log.1")):
        changes.move(path, to)
    facts = changes.facts()
    assert kinds(facts) == [("move", "log.2", "log.3"), ("move", "log.1", "log.2"), ("move", "log", "log.1")]
    assert happened(standing, facts) == {"log.1": file("1"), "log.2": file("2"), "log.3": file("3")}


def test_files_that_change_places_stand_right_in_the_end() -> None:
    standing = {"a": file("1"), "b": file("2")}
    changes = drawn(standing, "t")
    changes.move("a", "t")
    changes.move("b", "a")
    changes.move("t", "b")
    assert happened(standing, changes.facts()) == {"a": file("2"), "b": file("1")}


def test_a_file_that_takes_the_place_of_a_removed_one_is_told_as_moved() -> None:
    standing = {"a": file("1"), "b": file("2")}
    changes = drawn(standing)
    changes.remove("b")
    changes.move("a", "b")
    facts = changes.facts()
    assert kinds(facts) == [("delete", "b"), ("move", "a", "b")]
    assert happened(standing, facts) == {"b": file("1")}


def test_a_directory_moves_with_all_it_holds_into_a_new_one() -> None:
    standing = {"d": Entry("dir", 0o700), "d/e": DIRECTORY, "d/e/x": file("1"), "d/l": link("e/x")}
    changes = drawn(standing, "n", "n/d")
    changes.move("d", "n/d")
    facts = changes.facts()
    assert ("move", "d/e/x", "n/d/e/x") in kinds(facts)
    assert ("move", "d/l", "n/d/l") in kinds(facts)
    assert happened(standing, facts) == {
        "n": DIRECTORY,
        "n/d": Entry("dir", 0o700),
        "n/d/e": DIRECTORY,
        "n/d/e/x": file("1"),
        "n/d/l": link("e/x"),
    }


def test_a_neighbour_whose_name_begins_the_same_is_not_moved() -> None:
    standing = {"d": DIRECTORY, "d/x": file("1"), "d2": DIRECTORY, "d2/x": file("2"), "d.txt": file("3")}
    changes = drawn(standing, "n")
    changes.move("d", "n")
    moved = happened(standing, changes.facts())
    assert moved == {
        "n": DIRECTORY,
        "n/x": file("1"),
        **{one: standing[one] for one in ("d2", "d2/x", "d.txt")},
    }


def test_a_kept_conflict_tells_for_which_path_it_was_meant() -> None:
    changes = drawn({"a": file("1")}, "a (conflict)")
    changes.put("a (conflict)", file("2"), conflict_of="a")
    assert changes.facts() == (FileWritten("main", "a (conflict)", file("2"), None, "a"),)


@pytest.mark.parametrize(
    ("path", "beside"),
    [
        ("a.txt", "a (conflict).txt"),
        ("d/archive.tar.gz", "d/archive (conflict).tar.gz"),
        ("Makefile", "Makefile (conflict)"),
        (".env", ".env (conflict)"),
        ("d.x/name", "d.x/name (conflict)"),
        ("Überblick.md", "Überblick (conflict).md"),
    ],
)
def test_a_free_name_says_why_and_keeps_the_ending(path: str, beside: str) -> None:
    assert drawn({}).free_name(path, "conflict") == beside


def test_a_free_name_is_counted_up() -> None:
    standing = {"a (conflict).txt": file("1"), "a (conflict 2).txt": file("2")}
    assert drawn(standing).free_name("a.txt", "conflict") == "a (conflict 3).txt"


def test_a_free_name_is_never_too_long() -> None:
    """A name of 255 bytes has no room for a word, so it gives way."""
    long = "ü" * 125 + ".text"
    beside = drawn({}).free_name(long, "conflict")
    assert len(beside.encode()) <= 255
    assert beside.endswith("(conflict).text")
    assert beside.startswith("üü")


NAMES = st.sampled_from(["a", "b", "c", "a/a", "a/b", "b/a", "b/c", "a/a/a", "b/c/a", "c/b"])
THINGS = st.one_of(
    st.sampled_from([file("1"), file("2"), file("2", 0o755), link("a"), DIRECTORY, Entry("dir", 0o700)])
)
ACTS = st.one_of(
    st.tuples(st.just("put"), NAMES, THINGS),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("remove_all"), NAMES),
    st.tuples(st.just("move"), NAMES, NAMES),
)


def carried_out(standing: Standing, act: tuple[object, ...]) -> Standing | None:
    """Do to a plain mapping what an act asks for; None when that cannot be."""
    now = dict(standing)
    match act:
        case ("put", str(path), Entry() as entry):
            if any(above in now and now[above].kind != "dir" for above in parents(path)):
                return None
            if entry.kind != "dir" and any(is_below(other, path) for other in now):
                return None
            return now | {above: now.get(above, DIRECTORY) for above in parents(path)} | {path: entry}
        case ("remove", str(path)):
            inner = any(is_below(other, path) for other in now)
            return None if inner else {other: now[other] for other in now if other != path}
        case ("remove_all", str(path)):
            return {other: now[other] for other in now if other != path and not is_below(other, path)}
        case ("move", str(path), str(to)):
            blocked = any(above in now and now[above].kind != "dir" for above in parents(to))
            if path not in now or to in now or path == to or is_below(to, path) or blocked:
                return None
            rest = {other: now[other] for other in now if other != path and not is_below(other, path)}
            moved = {to + other[len(path) :]: now[other] for other in now if other not in rest}
            return rest | {above: rest.get(above, DIRECTORY) for above in parents(to)} | moved
        case _:
            raise AssertionError(act)


def perform(changes: ChangeSet, act: tuple[object, ...]) -> None:
    match act:
        case ("put", str(path), Entry() as entry):
            changes.put(path, entry)
        case ("remove", str(path)):
            changes.remove(path)
        case ("remove_all", str(path)):
            changes.remove_all(path)
        case (_, str(path), str(to)):
            changes.move(path, to)
        case _:
            raise AssertionError(act)


@given(st.lists(ACTS, max_size=12), st.lists(ACTS, max_size=12))
def test_any_facts_told_one_by_one_lead_from_what_stood_to_what_shall_stand(
    first: list[tuple[object, ...]], second: list[tuple[object, ...]]
) -> None:
    """C-19: a log that is replayed event by event passes through possible states only."""
    standing: Standing = {}
    for act in first:
        standing = carried_out(standing, act) or standing
    wanted = dict(standing)
    every = {
        f"{a}{b}{c}" for a in "abc" for b in ("", "/a", "/b", "/c") for c in ("", "/a", "/b", "/c", "/a/a")
    }
    changes = drawn(standing, *sorted(every | {above for path in every for above in parents(path)}))
    for act in second:
        possible = carried_out(wanted, act)
        if possible is not None:
            perform(changes, act)
            wanted = possible
    facts = changes.facts()
    assert happened(standing, facts) == wanted
    assert {path for path in wanted if changes.get(path) == wanted[path]} == wanted.keys()
    assert sorted(changes.below("")) == sorted(wanted)
