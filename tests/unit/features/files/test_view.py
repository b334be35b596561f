"""What stands where, what stood there at any event, and what the folder was last seen to show."""

from msgspec import Struct

from choiros.engines.tables.sqlite import SqliteTables
from choiros.features.files.changeset import DIRECTORY
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.files.view import FilesProjector, FilesView, Shown, ShownTable, Version
from choiros.kernel.tree import Entry, Stat
from tests.places import empty_tables, events_of

A, B, C = (Entry("file", 0o644, number, str(number) * 64) for number in (1, 2, 3))
LINK = Entry("link", 0o777, target="a")
LOOK = Stat("file", 0o644, 1, 10, 11, 12)


def written(path: str, entry: Entry, workspace: str = "main") -> FileWritten:
    return FileWritten(workspace, path, entry)


def seen(*payloads: Struct, at_once: bool = True) -> FilesView:
    """Return the view after these events, in one go or one by one."""
    return FilesView(tables_after(*payloads, at_once=at_once))


def tables_after(*payloads: Struct, at_once: bool = True) -> SqliteTables:
    projector, events = FilesProjector(), events_of(*payloads)
    tables = empty_tables(projector)
    for part in [events] if at_once else [[event] for event in events]:
        projector.apply(tables, part)
    return tables


STORY = (
    written("d", DIRECTORY),  # 1
    written("d/a", A),  # 2
    written("d/a", B),  # 3
    FileMoved("main", "d/a", "b", B),  # 4
    written("d/a", C),  # 5
    FileDeleted("main", "b", B),  # 6
    FileDeleted("main", "d/a", C),  # 7
    written("d", LINK),  # 8
)


def test_what_stands_now() -> None:
    view = seen(*STORY)
    assert view.below("main") == {"d": LINK}
    assert view.entries("main", ["d", "d/a", "never"]) == {"d": LINK, "d/a": None, "never": None}
    assert view.entry("main", "d") == LINK
    assert view.count("main") == 1


def test_what_stood_right_after_each_event() -> None:
    """C-19: as of N is a query."""
    view = seen(*STORY)
    assert [view.below_at("main", "", seq=seq) for seq in range(10)] == [
        {},
        {"d": DIRECTORY},
        {"d": DIRECTORY, "d/a": A},
        {"d": DIRECTORY, "d/a": B},
        {"b": B, "d": DIRECTORY},
        {"b": B, "d": DIRECTORY, "d/a": C},
        {"d": DIRECTORY, "d/a": C},
        {"d": DIRECTORY},
        {"d": LINK},
        {"d": LINK},
    ]


def test_one_path_right_after_an_event() -> None:
    view = seen(*STORY)
    assert view.at("main", "d/a", seq=1) is None
    assert view.at("main", "d/a", seq=2) == Version("d/a", 2, A)
    assert view.at("main", "d/a", seq=4) == Version("d/a", 4, None, moved_to="b")
    assert view.at("main", "b", seq=5) == Version("b", 4, B, moved_from="d/a")
    assert view.at("main", "b", seq=99) == Version("b", 6, None)


def test_the_history_of_a_path_says_where_it_came_from_and_went() -> None:
    view = seen(*STORY)
    assert view.history("main", "d/a") == [
        Version("d/a", 2, A),
        Version("d/a", 3, B),
        Version("d/a", 4, None, moved_to="b"),
        Version("d/a", 5, C),
        Version("d/a", 7, None),
    ]
    assert view.changed_after("main", "d/a", seq=3) == view.history("main", "d/a")[2:]
    assert view.changed_after("main", "d/a", seq=7) == []
    assert view.paths_changed("main", 3, until=6) == ["b", "d/a"]
    assert view.paths_changed("main", 7, until=8) == ["d"]
    assert view.touching("main", "d") == [1, 2, 3, 4, 5, 7, 8]
    assert view.touching("main", "b") == [4, 6]


def test_events_applied_at_once_or_one_by_one_give_the_same_tables() -> None:
    """I4: where one list of events ends and the next begins must not matter."""
    tables = FilesProjector.tables
    again = (*STORY, written("d", DIRECTORY), FileMoved("main", "d", "e", DIRECTORY), written("d", A))
    assert tables_after(*again).digest(tables) == tables_after(*again, at_once=False).digest(tables)


def test_within_one_list_the_later_event_wins() -> None:
    assert seen(written("a", A), FileDeleted("main", "a", A)).below("main") == {}
    assert seen(FileDeleted("main", "a", A), written("a", B)).below("main") == {"a": B}
    moved = seen(written("a", A), FileMoved("main", "a", "b", A), written("a", B))
    assert moved.below("main") == {"a": B, "b": A}


def test_only_what_lies_below_a_directory_is_below_it() -> None:
    """No prefix of a string is a directory: 'd.txt' and 'd0' sort around 'd/', 'd' itself is not inside."""
    names = ["d", "d/a", "d/b/c", "d.txt", "d-", "d0", "d0/x", "dd/x", "D/x", "e/d/x", "d/ü", "d/\U0010ffff"]
    view = seen(*(written(name, A) for name in names))
    inside = {"d/a", "d/b/c", "d/ü", "d/\U0010ffff"}
    assert set(view.below("main", "d")) == inside
    assert set(view.below_at("main", "d", seq=99)) == inside
    assert set(view.seqs("main", "d")) == inside
    assert view.seqs("main")["d.txt"] == 4
    assert view.touching("main", "d") == [1, 2, 3, 11, 12]


def test_paths_come_in_order() -> None:
    names = ["b", "a/c", "a", "é", "z", "Z", "a b"]
    assert list(seen(*(written(name, A) for name in names)).below("main")) == sorted(names)


def test_names_with_signs_that_mean_something_to_sql_are_names() -> None:
    names = ["%", "_", "a%b", "'; DROP TABLE files; --", '"', "*", "[a]", "\\"]
    view = seen(*(written(name, A) for name in names))
    for name in names:
        assert view.entry("main", name) == A
        assert list(view.below("main", name)) == []
    assert view.entry("main", "axb") is None


def test_workspaces_do_not_see_each_other() -> None:
    """C-42."""
    view = seen(written("a", A), written("a", B, "other"), FileDeleted("other", "a", B))
    assert view.below("main") == {"a": A}
    assert view.below("other") == {}
    assert view.below_at("other", "", seq=2) == {"a": B}
    assert [view.below_at("main", "", seq=seq) for seq in (1, 2, 3)] == [{"a": A}] * 3
    assert view.history("main", "a") == [Version("a", 1, A)]
    assert view.touching("main", "a") == [1]
    assert view.paths_changed("main", 1, until=3) == []
    assert view.alike("main", "A") == ["a"]
    assert view.alike("other", "A") == []


def test_names_that_look_alike_are_found() -> None:
    view = seen(*(written(name, A) for name in ["README.md", "é", "ﬁle", "d/Straße", "a\u200bb", "plain"]))
    assert view.alike("main", "readme.MD") == ["README.md"]
    assert view.alike("main", "e\u0301") == ["é"]
    assert view.alike("main", "file") == ["ﬁle"]
    assert view.alike("main", "D/STRASSE") == ["d/Straße"]
    assert view.alike("main", "ab") == ["a\u200bb"]
    assert view.alike("main", "plain") == []


def test_many_paths_can_be_asked_for_at_once() -> None:
    names = [f"f{number}" for number in range(1201)]
    view = seen(*(written(name, A) for name in names))
    found = view.entries("main", [*names, "absent"])
    assert len(found) == 1202
    assert sum(entry == A for entry in found.values()) == 1201


# --- What the folder was last seen to show ---


def test_what_a_folder_shows_is_remembered_and_forgotten_by_path() -> None:
    table = ShownTable(empty_tables(FilesProjector()))
    first, second = Shown(A, LOOK, 5), Shown(DIRECTORY, Stat("dir", 0o755, 0, 1, 2, 3), 6)
    table.put("main", [("a", first), ("d", second), ("x", None)])
    table.put("other", [("a", second)])
    assert table.all("main") == {"a": first, "d": second}
    table.put("main", [("a", second), ("d", None)])
    assert table.get("main", ["a", "d", "x"]) == {"a": second}
    table.forget("main")
    assert table.all("main") == {}
    assert table.all("other") == {"a": second}


def test_a_change_of_a_folder_that_was_broken_off_is_known() -> None:
    table = ShownTable(empty_tables(FilesProjector()))
    assert not table.was_broken_off("main")
    table.begin("main")
    table.begin("main")
    assert table.was_broken_off("main")
    assert not table.was_broken_off("other")
    table.end("main")
    assert not table.was_broken_off("main")


def test_what_a_folder_shows_is_no_part_of_the_view() -> None:
    """It is knowledge about a disk: a view rebuilt from the log must equal one that has it."""
    tables = tables_after(*STORY)
    before = tables.digest(FilesProjector.tables)
    ShownTable(tables).put("main", [("a", Shown(A, LOOK, 5))])
    assert tables.digest(FilesProjector.tables) == before
