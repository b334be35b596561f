"""How changes of files are taken back, straight from facts: what it leads to, what stands against it, what stays."""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteCabinet
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.files.reverse import FilesReverser
from choiros.features.files.text import TEXT_BYTES_MAX
from choiros.features.files.view import FilesProjector, FilesView
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Draft, Event
from choiros.kernel.journal import Journal
from choiros.kernel.reverser import Obstacle, Reversal
from choiros.kernel.tree import Entry
from choiros.wiring.parts import registry

DIRECTORY = Entry("dir", 0o755)
LINES = b"".join(b"line %d\n" % number for number in range(9))
REMOVED = "it was removed since; nothing to take back"


def changed(*numbers: int, word: bytes = b"new") -> bytes:
    """Return the nine lines with some of them replaced."""
    content = LINES
    for number in numbers:
        content = content.replace(b"line %d\n" % number, word + b"\n")
    return content


class Past:
    """What has happened to the files of workspaces, and the reverser that looks at it."""

    def __init__(self, directory: Path) -> None:
        self.tables = SqliteCabinet(directory).open()
        self.tables.script(FilesProjector.schema)
        self.view = FilesView(self.tables)
        self.blobs = MemoryBlobs(size_bytes_max=TEXT_BYTES_MAX * 4)
        self.events: list[Event] = []
        self.closed: set[str] = set()
        self._journal = Journal(MemoryLog(), registry(), user="me")

    def _add(self, fact: Struct) -> int:
        known, number = self._journal.registry, len(self.events) + 1
        draft = Draft(f"e{number}", 1, "me", "user", known.type_of(fact).name, known.encode(fact), bytes(16))
        self.events += asyncio.run(self._journal.append([draft]))
        with self.tables.transaction():
            FilesProjector().apply(self.tables, self.events[-1:])
        return number

    def file(self, content: bytes, mode: int = 0o644) -> Entry:
        return Entry("file", mode, len(content), asyncio.run(self.blobs.put(content)))

    def put(self, path: str, entry: Entry, workspace: str = "main") -> int:
        return self._add(FileWritten(workspace, path, entry, self.view.entry(workspace, path)))

    def write(self, path: str, content: bytes, mode: int = 0o644, *, workspace: str = "main") -> int:
        return self.put(path, self.file(content, mode), workspace)

    def delete(self, path: str, workspace: str = "main") -> int:
        before = self.view.entry(workspace, path)
        assert before is not None
        return self._add(FileDeleted(workspace, path, before))

    def move(self, path: str, to: str) -> int:
        entry = self.view.entry("main", path)
        assert entry is not None
        return self._add(FileMoved("main", path, to, entry))

    def reverse(self, *seqs: int, leave: Iterable[str] = ()) -> Reversal:
        reverser = FilesReverser(self.view, self.blobs, check_open=self._check_open)
        events = [self.events[seq - 1] for seq in sorted(seqs)]
        return asyncio.run(reverser.reverse(events, frozenset(leave)))

    def _check_open(self, workspace: str) -> None:
        if workspace in self.closed:
            raise Rejected("workspaces.closed", "It is put away.", fix="Open it.")

    def taken_back(self, *seqs: int, leave: Iterable[str] = ()) -> dict[str, Entry]:
        """Take events back and return what stands then; every content it names is there or given along."""
        reversal = self.reverse(*seqs, leave=leave)
        assert reversal.obstacles == ()
        given = {hashlib.sha256(content).hexdigest() for content in reversal.contents}
        for content in reversal.contents:
            asyncio.run(self.blobs.put(content))
        for fact in reversal.facts:
            if isinstance(fact, FileWritten) and fact.entry.kind == "file":
                stored = asyncio.run(self.blobs.size(fact.entry.content))
                assert stored == fact.entry.size, "a fact names a content that nobody has"
            self._add(fact)
        named = {one.entry.content for one in reversal.facts if isinstance(one, FileWritten)}
        assert given <= named
        return self.view.below("main")


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    past = Past(tmp_path)
    yield past
    past.tables.close()


def test_what_was_made_is_removed_and_what_was_changed_is_as_before(past: Past) -> None:
    """C-30."""
    past.write("a", LINES, 0o600)
    changed_a, made_b = past.write("a", changed(4), 0o755), past.write("b", b"new")
    assert past.taken_back(changed_a, made_b) == {"a": past.file(LINES, 0o600)}


def test_what_was_deleted_stands_again_with_the_directories_it_needs(past: Past) -> None:
    """C-30."""
    past.put("d", Entry("dir", 0o700))
    past.write("d/x", b"\x00\xff")
    gone = [past.delete("d/x"), past.delete("d")]
    assert past.taken_back(*gone) == {"d": Entry("dir", 0o700), "d/x": past.file(b"\x00\xff")}


def test_a_deleted_file_comes_back_alone_below_a_directory_that_is_made_for_it(past: Past) -> None:
    """C-30."""
    past.put("d", DIRECTORY)
    past.write("d/x", b"x")
    gone = past.delete("d/x")
    past.delete("d")
    assert past.taken_back(gone) == {"d": DIRECTORY, "d/x": past.file(b"x")}


def test_several_changes_of_one_file_are_taken_back_the_newest_first(past: Past) -> None:
    """C-30: also when a later one of somebody else lies on top."""
    past.write("a", LINES)
    mine = [past.write("a", changed(0)), past.write("a", changed(0, 4))]
    past.write("a", changed(0, 4, 8))
    assert past.taken_back(*mine) == {"a": past.file(changed(8))}


def test_changes_of_one_line_and_a_new_file_that_was_changed_are_taken_back_step_by_step(past: Past) -> None:
    """C-30."""
    past.write("a", LINES)
    mine = [past.write("a", changed(0)), past.write("a", changed(0, word=b"again"))]
    mine += [past.write("b", b"new\n"), past.write("b", b"newer\n"), past.delete("b")]
    assert past.taken_back(*mine) == {"a": past.file(LINES)}


def test_a_removed_file_does_not_come_back_over_what_stands_there_now(past: Past) -> None:
    """C-30."""
    past.write("a", LINES)
    mine = past.delete("a")
    past.write("a", b"another")
    assert past.reverse(mine).obstacles == (Obstacle("a", "something else stands there now"),)


def test_a_binary_file_that_was_changed_since_is_never_merged(past: Past) -> None:
    """C-30."""
    past.write("a", b"\x00" + LINES)
    mine = past.write("a", b"\x00" + changed(0))
    past.write("a", b"\x00" + changed(0, 8))
    assert past.reverse(mine).obstacles == (Obstacle("a", "it was changed since in the same place"),)


def test_text_that_is_too_large_to_merge_is_never_merged(past: Past) -> None:
    """C-30: its content is not even read."""
    filling = b"x" * 99 + b"\n"
    large = LINES + filling * (TEXT_BYTES_MAX // len(filling) + 1)
    past.write("a", large)
    mine = past.write("a", large.replace(b"line 0", b"new"))
    past.write("a", large.replace(b"line 0", b"new").replace(b"line 8", b"new"))
    assert past.reverse(mine).obstacles == (Obstacle("a", "it was changed since in the same place"),)


def test_every_obstacle_is_named_not_only_the_first(past: Past) -> None:
    """C-30."""
    mine = [past.write(path, b"agent\n") for path in ("a", "b")]
    for path in ("a", "b"):
        past.write(path, b"later\n")
    assert {one.what for one in past.reverse(*mine).obstacles} == {"a", "b"}


def test_a_change_is_taken_back_wherever_the_file_was_moved_since(past: Past) -> None:
    """C-30."""
    past.write("a", LINES)
    mine = past.write("a", changed(4))
    past.move("a", "b")
    past.put("d", DIRECTORY)
    past.move("b", "d/c")
    assert past.taken_back(mine) == {"d": DIRECTORY, "d/c": past.file(LINES)}


def test_a_new_file_at_the_old_name_is_not_mistaken_for_the_one_that_was_moved(past: Past) -> None:
    """C-30."""
    past.write("a", LINES)
    mine = past.write("a", changed(4))
    past.move("a", "b")
    past.write("a", changed(4))
    assert past.taken_back(mine) == {"a": past.file(changed(4)), "b": past.file(LINES)}


def test_a_move_is_taken_back_with_what_was_written_since(past: Past) -> None:
    """C-30."""
    past.write("a", LINES)
    mine = past.move("a", "b")
    past.write("b", changed(4))
    assert past.taken_back(mine) == {"a": past.file(changed(4))}


def test_a_move_is_not_taken_back_onto_what_stands_there_now(past: Past) -> None:
    """C-30."""
    past.write("a", LINES)
    mine = past.move("a", "b")
    past.write("a", b"another")
    assert past.reverse(mine).obstacles == (Obstacle("a", "something else stands there now"),)


def test_a_move_whose_file_is_gone_or_replaced_has_nothing_to_take_back(past: Past) -> None:
    """C-30: the file that was put there later is not carried off."""
    past.write("a", LINES)
    mine = past.move("a", "b")
    past.delete("b")
    note = Obstacle("b", "it was moved there by this and removed since; nothing to take back")
    assert (past.reverse(mine).facts, past.reverse(mine).notes) == ((), (note,))
    past.write("b", b"another")
    assert (past.reverse(mine).facts, past.reverse(mine).notes) == ((), (note,))


def test_a_directory_stays_while_it_holds_something_newer_and_says_so(past: Past) -> None:
    """C-30."""
    mine = [past.put("d", DIRECTORY), past.write("d/x", b"x")]
    past.write("d/mine", b"hand")
    notes = past.reverse(*mine).notes
    assert notes == (Obstacle("d", "the directory stays, because it holds something newer"),)
    assert past.taken_back(*mine) == {"d": DIRECTORY, "d/mine": past.file(b"hand")}


def test_nested_directories_that_were_made_are_removed_with_all_that_was_put_in(past: Past) -> None:
    """C-30."""
    mine = [past.put(path, DIRECTORY) for path in ("d", "d/e", "d/e/f")]
    mine.append(past.write("d/e/f/x", b"x"))
    assert past.taken_back(*mine) == {}


def test_the_change_of_a_file_that_was_removed_since_is_told_and_no_more(past: Past) -> None:
    """C-30."""
    past.write("a", LINES)
    mine = past.write("a", changed(4))
    past.delete("a")
    assert past.reverse(mine) == Reversal((), notes=(Obstacle("a", REMOVED),))


def test_what_is_left_out_stays_wherever_it_was_moved(past: Past) -> None:
    """C-30: by its old name, its new one, and by a directory above it."""
    past.write("a", LINES)
    mine = past.write("a", changed(4))
    past.put("d", DIRECTORY)
    move = past.move("a", "d/b")
    for leave in ("a", "d/b", "d"):
        assert past.reverse(mine, leave=[leave]).facts == ()
    assert past.reverse(move, leave=["d"]).facts == ()
    assert past.reverse(mine, leave=["d/bc", "dd"]).facts != ()


def test_links_and_kinds_are_never_merged(past: Past) -> None:
    """C-30."""
    past.put("a", Entry("link", 0o777, target="one"))
    mine = past.put("a", Entry("link", 0o777, target="two"))
    past.put("a", Entry("link", 0o777, target="three"))
    assert len(past.reverse(mine).obstacles) == 1


def test_nothing_is_taken_back_in_a_workspace_that_is_put_away(past: Past) -> None:
    """C-42."""
    here, there = past.write("a", b"here"), past.write("a", b"there", workspace="w2")
    past.closed.add("w2")
    assert past.reverse(here).facts
    with pytest.raises(Rejected) as caught:
        past.reverse(here, there)
    assert caught.value.code == "workspaces.closed"


def test_workspaces_are_reversed_apart(past: Past) -> None:
    """C-42: the same path in another workspace is another file."""
    mine = [past.write("a", b"here"), past.write("a", b"there", workspace="w2")]
    past.write("a", b"later", workspace="w3")
    facts = past.reverse(*mine).facts
    assert {(type(fact), getattr(fact, "workspace", "")) for fact in facts} == {
        (FileDeleted, "main"),
        (FileDeleted, "w2"),
    }
