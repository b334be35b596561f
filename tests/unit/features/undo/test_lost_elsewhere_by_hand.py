"""Undo beside what people do by hand, where other systems lost data; each case in memory and on a real disk."""

import pytest

from choiros.kernel.errors import Conflict
from choiros.wiring import Computer
from tests.places import SIZE_MAX, Hand, Place, head, standing
from tests.unit.features.undo.stories import DIRECTORY, file, told

BIG = b"x" * (SIZE_MAX + 1)

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
