"""Undo of what is gone, in the middle and twice, where other systems lost data; each in memory and on a real disk."""

from pathlib import Path

import pytest

from choiros.cli.direct import DirectClient
from choiros.kernel.errors import Conflict, Rejected
from choiros.settings import resolve
from choiros.wiring import Computer
from tests.places import Hand, Place, head, standing
from tests.unit.features.undo.stories import file, told

# --- The file is gone since ---


def test_undo_of_something_whose_file_was_deleted_since(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("a", b"1\n")
        await person.write("b", b"1\n")
        edited = await agent.write("a", b"2\n")
        await agent.write("b", b"2\n")
        place.remove("a")
        await computer.merger.capture("main")
        with pytest.raises(Rejected) as refusal:
            await person.undo(seq=edited.seq)
        assert refusal.value.code == "undo.nothing"
        assert "removed since" in str(refusal.value)
        # Of the run that is taken back which still stands; what the person removed stays removed.
        await person.undo("r1")
        assert place.look() == {"b": file(b"1\n")}
        await person.redo()
        assert place.look() == {"b": file(b"2\n")}

    told(place, story)


def test_undo_of_a_deletion_where_something_new_stands_by_now(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("a", b"old\n")
        await agent.remove("a")
        place.write("a", b"new, by hand\n")
        await computer.merger.capture("main")
        with pytest.raises(Conflict):
            await person.undo("r1")
        assert place.look() == {"a": file(b"new, by hand\n")}
        assert (await standing(computer, at=await head(computer)))["a"] == file(b"new, by hand\n")

    told(place, story)


def test_undo_of_a_move_when_the_moved_file_was_removed_and_another_stands_there(place: Place) -> None:
    """The other file is somebody else's: it must not be moved to the old name."""

    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("a", b"moved away\n")
        moved = await agent.move("a", "b")
        await person.remove("b")
        await person.write("b", b"another\n")
        with pytest.raises(Rejected) as refusal:
            await person.undo(seq=moved.seq)
        assert refusal.value.code == "undo.nothing"
        assert place.look() == {"b": file(b"another\n")}

    told(place, story)


# --- In the middle ---


def test_undo_in_the_middle_of_history_keeps_what_came_later(place: Place) -> None:
    """C-30."""

    async def story(computer: Computer) -> None:
        person = Hand(computer)
        lines = [f"line {number}\n" for number in range(12)]
        await person.write("a.txt", "".join(lines).encode())
        changes = [
            await person.edit("a.txt", f"line {number}\n", f"changed {number}\n") for number in (1, 5, 9)
        ]
        await person.write("b.txt", b"later\n")
        await person.undo(seq=changes[1].seq)
        expected = lines.copy()
        expected[1], expected[9] = "changed 1\n", "changed 9\n"
        assert place.look() == {"a.txt": file("".join(expected).encode()), "b.txt": file(b"later\n")}
        await person.undo(seq=changes[0].seq)
        expected[1] = "line 1\n"
        assert place.look()["a.txt"] == file("".join(expected).encode())
        await person.redo()
        await person.redo()
        expected[1], expected[5] = "changed 1\n", "changed 5\n"
        assert place.look()["a.txt"] == file("".join(expected).encode())

    told(place, story)


# --- Twice ---


def test_two_undos_of_one_run(place: Place) -> None:
    """C-36: the second one has nothing to do, and says so; after a redo it has."""

    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("a", b"1\n")
        start = place.look()
        await agent.write("a", b"2\n")
        await agent.write("n/b", b"2\n")
        end = place.look()
        await person.undo("r1")
        assert place.look() == start
        number = await head(computer)
        with pytest.raises(Rejected) as refusal:
            await person.undo("r1")
        assert (refusal.value.code, "already" in str(refusal.value)) == ("undo.nothing", True)
        assert (place.look(), await head(computer)) == (start, number)
        await person.redo()
        assert place.look() == end
        await person.undo("r1")
        assert place.look() == start

    told(place, story)


def test_a_run_that_goes_on_after_its_undo_is_taken_back_for_the_rest(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await agent.write("a", b"1\n")
        await person.undo("r1")
        await agent.write("b", b"2\n")
        await person.undo("r1")
        assert place.look() == {}
        await person.redo()
        assert place.look() == {"b": file(b"2\n")}

    told(place, story)


# --- Restoring over unfinished work ---


def test_restoring_on_a_dirty_tree_loses_nothing(place: Place, tmp_path: Path) -> None:
    """C-08, C-27: what was neither committed nor seen yet can be brought back, exactly."""

    async def story(computer: Computer) -> None:
        found = computer.workspaces.current()
        assert found is not None
        client = DirectClient(computer, resolve({"home": str(tmp_path / "home")}, {}), workspace=found)
        person = Hand(computer)
        await person.write("a", b"committed\n", 0o755)
        await person.write("gone", b"committed\n")
        await person.mkdir("empty")
        await client.checkpoint("good")
        point = computer.checkpoints.last("main")
        assert point is not None
        assert point.commit is not None
        good = place.look()
        place.write("a", b"half finished\n")
        place.remove("gone")
        place.write("untracked/new", b"never seen\n")
        place.link("link", "a")
        dirty, number = place.look(), await head(computer)
        preview = await client.preview_restore(str(point.seq))
        assert {change.path for change in preview.changes} >= {"a", "gone", "untracked/new", "link"}
        assert place.look() == dirty
        assert [kept.seq for kept in await client.checkpoints(9)] == [point.seq]
        assert computer.checkpoints.last("main") == point
        await client.restore(str(point.seq))
        assert place.look() == good
        # The unfinished work is a checkpoint of its own, and one undo away.
        before = computer.checkpoints.last("main")
        assert before is not None
        assert before.seq > number
        assert await standing(computer, at=before.seq) == dirty
        await person.undo()
        assert place.look() == dirty
        await client.restore(str(before.seq))
        assert place.look() == dirty

    told(place, story)
