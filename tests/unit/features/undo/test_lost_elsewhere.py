"""The cases of undo in which other systems lost data, each in memory and on a real disk."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path

import pytest

from choiros.cli.direct import DirectClient
from choiros.features.files.events import FileMoved
from choiros.kernel.errors import Conflict, Rejected
from choiros.settings import resolve
from choiros.wiring import Computer
from tests.places import SIZE_MAX, DiskPlace, Hand, MemoryPlace, Place, head, recorded, standing

BIG = b"x" * (SIZE_MAX + 1)
DIRECTORY = ("dir", 0o755, b"")

Story = Callable[[Computer], Awaitable[None]]


@pytest.fixture(params=["memory", "disk"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return MemoryPlace(tmp_path) if request.param == "memory" else DiskPlace(tmp_path / "home")


@pytest.fixture
def old_umask() -> Generator[None]:
    """Modes come from the wish alone, whatever the person's umask."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def told(place: Place, story: Story) -> None:
    """Tell a story at a fresh computer; in the end the folder and the log must agree, and the log must verify."""

    async def whole() -> None:
        computer = await place.open()
        await story(computer)
        events = await recorded(computer)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        await computer.close()

    asyncio.run(whole())


def file(data: bytes, mode: int = 0o644) -> tuple[str, int, bytes]:
    return ("file", mode, data)


# --- A file over the size limit ---


def test_a_file_over_the_size_limit_is_named_and_never_deleted_by_an_undo(place: Place) -> None:
    async def story(computer: Computer) -> None:
        agent, person = Hand(computer, run="r1", source="agent"), Hand(computer)
        await agent.write("data/small.bin", b"1")
        place.write("data/big.bin", BIG)
        captured = await computer.merger.capture("main")
        assert "65536" in captured.unkept["data/big.bin"]
        assert captured.events == ()
        await person.undo("r1")
        assert place.look() == {"data": DIRECTORY, "data/big.bin": file(BIG)}
        again = await computer.merger.capture("main")
        assert list(again.unkept) == ["data/big.bin"]
        await person.redo()
        assert place.look() == {
            "data": DIRECTORY,
            "data/big.bin": file(BIG),
            "data/small.bin": file(b"1"),
        }

    told(place, story)


@pytest.mark.parametrize("act", ["undo", "undo everything", "remove the directory"])
def test_a_file_that_grew_over_the_size_limit_is_never_overwritten_nor_deleted(
    place: Place, act: str
) -> None:
    async def story(computer: Computer) -> None:
        agent, person = Hand(computer, run="r1", source="agent"), Hand(computer)
        await agent.write("data/video.bin", b"first take")
        await agent.write("notes.txt", b"1")
        place.write("data/video.bin", BIG)
        captured = await computer.merger.capture("main")
        assert "65536" in captured.unkept["data/video.bin"]
        if act == "undo":
            outcome = await person.undo("r1")
        elif act == "undo everything":
            outcome = await person.undo(since=0)
        else:
            outcome = await person.remove("data", recursive=True)
        # The folder differs from the log at this one file: that is said, and everything else is done.
        assert outcome.troubles == ("files.unsettled",)
        assert place.look()["data/video.bin"] == file(BIG)
        assert ("notes.txt" in place.look()) == (act == "remove the directory")
        # The person puts it somewhere else: then the log can bring back the old one.
        place.remove("data/video.bin")
        assert (await computer.merger.capture("main")).unkept == {}
        assert "data/video.bin" not in place.look()
        await (person.undo() if act == "remove the directory" else person.redo())
        assert place.look()["data/video.bin"] == file(b"first take")

    told(place, story)


# --- Hand edits after the agent's ---


def test_hand_edits_made_after_the_agents_are_kept(place: Place) -> None:
    """C-36: only the agent's lines go, also when the person's edit was not seen yet."""

    async def story(computer: Computer) -> None:
        agent, person = Hand(computer, run="r1", source="agent"), Hand(computer)
        lines = [f"line {number}\n" for number in range(9)]
        await person.write("plan.md", "".join(lines).encode())
        await agent.edit("plan.md", "line 1\n", "the agent's line\n")
        await agent.write("new.md", b"by the agent\n")
        by_hand = place.look()["plan.md"][2].replace(b"line 7\n", b"by hand\n")
        place.write("plan.md", by_hand)
        await computer.merger.capture("main")
        await person.undo("r1")
        expected = "".join(lines).replace("line 7\n", "by hand\n").encode()
        assert place.look() == {"plan.md": file(expected)}
        await person.redo()
        assert place.look() == {"plan.md": file(by_hand), "new.md": file(b"by the agent\n")}

    told(place, story)


def test_hand_edits_that_nobody_has_seen_yet_survive_an_undo(place: Place) -> None:
    async def story(computer: Computer) -> None:
        agent, person = Hand(computer, run="r1", source="agent"), Hand(computer)
        await agent.write("a.bin", b"\x00agent")
        await agent.write("b.txt", b"agent\n")
        await agent.write("c.txt", b"agent\n")
        place.write("a.bin", b"\x00by hand")
        place.remove("b.txt")
        place.write("mine.txt", b"mine\n")
        await person.undo("r1")
        assert sorted(thing[2] for thing in place.look().values()) == [b"\x00by hand", b"mine\n"]
        await computer.merger.capture("main")
        assert await standing(computer) == place.look()

    told(place, story)


def test_what_was_changed_by_hand_in_the_same_place_is_not_taken_back_in_silence(place: Place) -> None:
    async def story(computer: Computer) -> None:
        agent, person = Hand(computer, run="r1", source="agent"), Hand(computer)
        await person.write("a.txt", b"one\n")
        await agent.write("a.txt", b"two\n")
        await agent.write("b.txt", b"agent\n")
        place.write("a.txt", b"three\n")
        await computer.merger.capture("main")
        before, number = place.look(), await head(computer)
        with pytest.raises(Conflict) as conflict:
            await person.undo("r1")
        assert conflict.value.code == "undo.conflict"
        assert "a.txt" in str(conflict.value)
        assert place.look() == before
        assert await head(computer) == number
        await person.undo("r1", leave=["a.txt"])
        assert place.look() == {"a.txt": file(b"three\n")}

    told(place, story)


# --- Names ---


@pytest.mark.parametrize(
    "path",
    [
        "Größe.txt",
        "日本語/メモ.md",
        "e\u0301.txt",
        "emoji 😀/ 🎉",
        "new\nline.txt",
        "-rf",
        "--",
        "tab\tand \\ back.txt",
        " leading and trailing ",
        "quote'\"`$HOME.txt",
        "%2e%2e",
        "ü" * 127,
    ],
)
def test_names_of_any_letters_survive_every_way_back(place: Place, path: str) -> None:
    async def story(computer: Computer) -> None:
        agent, person = Hand(computer, run="r1", source="agent"), Hand(computer)
        await agent.write(path, b"1")
        await agent.write(path, b"2")
        await person.move(path, "moved")
        await person.undo()
        assert place.look()[path] == file(b"2")
        await person.remove(path)
        place.write(path, b"by hand")
        await computer.merger.capture("main")
        assert await standing(computer) == place.look()
        assert place.look()[path] == file(b"by hand")
        await person.undo()
        assert path not in place.look()
        await person.undo()
        assert place.look()[path] == file(b"2")
        await person.undo("r1")
        assert place.look() == {}
        await person.redo()
        assert place.look()[path] == file(b"2")
        assert await standing(computer) == place.look()

    told(place, story)


# --- Renames ---


def test_a_chain_of_renames_with_an_edit_in_the_middle(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("a", b"one\n" * 3 + b"end\n", 0o755)
        start = place.look()
        first = await head(computer)
        await agent.move("a", "b")
        await agent.edit("b", "end\n", "edited\n")
        await agent.move("b", "sub/c")
        end = place.look()
        assert end == {"sub": DIRECTORY, "sub/c": file(b"one\n" * 3 + b"edited\n", 0o755)}
        outcome = await person.undo("r1")
        assert place.look() == start
        # The log still knows that it is the same file.
        assert [one.payload.to for one in outcome.events if isinstance(one.payload, FileMoved)] == ["a"]
        await person.redo()
        assert place.look() == end
        await person.undo(since=first)
        assert place.look() == start
        await person.redo()
        assert place.look() == end

    told(place, story)


def test_each_step_of_a_chain_of_renames_can_be_taken_back_alone(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person = Hand(computer)
        await person.write("a", b"one\ntwo\nthree\nfour\nfive\n")
        edited = await person.edit("a", "two\n", "2\n")
        moved = await person.move("a", "b")
        await person.edit("b", "five\n", "5\n")
        await person.move("b", "c")
        await person.undo(seq=edited.seq)
        assert place.look() == {"c": file(b"one\ntwo\nthree\nfour\n5\n")}
        with pytest.raises(Rejected) as refusal:
            await person.undo(seq=moved.seq)
        assert "moved on since" in str(refusal.value)
        assert place.look() == {"c": file(b"one\ntwo\nthree\nfour\n5\n")}

    told(place, story)


def test_a_rename_by_hand_with_the_agents_edit_before_it(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("a", b"one\ntwo\n")
        await agent.write("a", b"one\n2\n")
        place.move("a", "renamed")
        await computer.merger.capture("main")
        await person.undo("r1")
        assert place.look() == {"renamed": file(b"one\ntwo\n")}

    told(place, story)


# --- A directory becomes a file and back ---


def test_a_directory_is_replaced_by_a_file_and_back(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.mkdir("d", 0o700)
        await person.mkdir("d/empty", 0o750)
        await person.write("d/x", b"1", 0o600)
        await person.link("d/l", "x")
        start = place.look()
        await agent.remove("d", recursive=True)
        await agent.write("d", b"a file now")
        as_file = place.look()
        assert as_file == {"d": file(b"a file now")}
        await agent.remove("d")
        await agent.write("d/y", b"a directory again")
        end = place.look()
        await person.undo("r1")
        assert place.look() == start
        await person.redo()
        assert place.look() == end
        await person.undo("r1")
        place.remove("d")
        place.write("d", b"by hand")
        await computer.merger.capture("main")
        await person.undo()
        assert place.look() == start

    told(place, story)


def test_a_directory_that_became_a_file_is_not_brought_back_over_newer_content(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("d/x", b"1")
        await agent.remove("d", recursive=True)
        await agent.write("d", b"the agent's\n")
        await person.write("d", b"the person's own\n")
        before = place.look()
        with pytest.raises(Conflict):
            await person.undo("r1")
        assert place.look() == before

    told(place, story)


# --- Modes and links ---


@pytest.mark.usefixtures("old_umask")
def test_changes_of_modes_and_links_are_taken_back_exactly(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("run.sh", b"#!/bin/sh\n", 0o755)
        await person.write("secret", b"s", 0o600)
        await person.write("read-only", b"r", 0o444)
        await person.mkdir("closed", 0o500)
        await person.link("link", "run.sh")
        await person.link("dangling", "../nowhere/at all")
        start = place.look()
        assert start["closed"] == ("dir", 0o500, b"")
        await agent.chmod("run.sh", 0o644)
        await agent.chmod("secret", 0o666)
        await agent.chmod("closed", 0o777)
        await agent.write("closed/x", b"1", 0o640)
        await agent.write("read-only", b"w", 0o444)
        await agent.link("link", "secret")
        await agent.write("dangling", b"a file now", 0o711)
        end = place.look()
        assert end["closed/x"] == file(b"1", 0o640)
        await person.undo("r1")
        assert place.look() == start
        await person.redo()
        assert place.look() == end
        await person.undo(since=1)
        assert place.look() == {}
        await person.redo()
        assert place.look() == end

    told(place, story)


def test_a_mode_changed_by_hand_survives_the_undo_of_the_agents_content(place: Place) -> None:
    async def story(computer: Computer) -> None:
        person, agent = Hand(computer), Hand(computer, run="r1", source="agent")
        await person.write("tool", b"1\n")
        await agent.write("tool", b"2\n")
        place.chmod("tool", 0o755)
        await computer.merger.capture("main")
        await person.undo("r1")
        assert place.look() == {"tool": file(b"1\n", 0o755)}

    told(place, story)


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
