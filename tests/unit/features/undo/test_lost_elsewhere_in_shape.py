"""Undo of names, renames, kinds and modes, where other systems lost data; each case in memory and on a real disk."""

import pytest

from choiros.features.files.events import FileMoved
from choiros.kernel.errors import Conflict, Rejected
from choiros.wiring import Computer
from tests.places import Hand, Place, head, standing
from tests.unit.features.undo.stories import DIRECTORY, file, told

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
