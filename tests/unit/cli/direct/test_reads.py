"""The verbs that only look, on a real data directory."""

from __future__ import annotations

import asyncio

import pytest

from choiros.cli.client import EventLine, LogQuery
from choiros.cli.direct import connect
from choiros.kernel.errors import Rejected
from choiros.settings import resolve
from tests.unit.cli.direct.homes import Home, changed, pieces


def test_the_log_shows_the_newest_events_oldest_first_and_hides_routine(home: Home) -> None:
    home.write("a.txt", b"1")
    home.write("a.txt", b"2")
    lines = home.do(lambda client: client.log(LogQuery(limit=2)))
    assert [line.sentence for line in lines] == ["created a.txt (1 byte)", "changed a.txt (1 byte)"]
    everything = home.do(lambda client: client.log(LogQuery(limit=100, routine=True)))
    assert "policy.verdict" in {line.event_type for line in everything}


def test_the_log_can_be_narrowed_to_a_path_a_run_and_a_type(home: Home) -> None:
    home.write("d/a.txt", b"1", run="r")
    home.write("b.txt", b"2")
    below = home.do(lambda client: client.log(LogQuery(path="d")))
    assert {line.sentence for line in below} == {"made the directory d", "created d/a.txt (1 byte)"}
    assert {line.run_id for line in home.do(lambda client: client.log(LogQuery(run="r")))} == {"r"}
    kinds = home.do(lambda client: client.log(LogQuery(event_type="workspace.*")))
    assert [line.event_type for line in kinds] == ["workspace.create"]


def test_following_shows_what_is_there_and_then_what_another_process_adds(home: Home) -> None:
    seq = home.write("a.txt", b"1").seqs[-1]

    async def follow() -> list[EventLine]:
        resolved = resolve({"home": str(home.path)}, {})
        reader = await connect(resolved, workspace=None, write=False)
        stream = reader.follow(LogQuery(after=seq - 1))
        lines = [await anext(stream)]
        writer = await connect(resolved, workspace=None, write=True)
        await writer.write("b.txt", pieces(b"2"), mode=None, run=None, base=None)
        await writer.close()
        lines.append(await asyncio.wait_for(anext(stream), 10))
        await reader.close()
        return lines

    assert [line.sentence for line in asyncio.run(follow())] == [
        "created a.txt (1 byte)",
        "created b.txt (1 byte)",
    ]


def test_an_event_is_shown_with_its_cause_its_effect_and_its_difference(home: Home) -> None:
    home.write("a.txt", b"one\n")
    seq = home.write("a.txt", b"two\n").seqs[0]
    detail = home.do(lambda client: client.show(seq))
    assert detail.effect == "reversible"
    assert [line.event_type for line in detail.causes] == ["policy.verdict"]
    assert "-one\n+two\n" in detail.diff
    cause = home.do(lambda client: client.show(detail.causes[0].seq))
    assert [line.seq for line in cause.consequences] == [seq]


@pytest.mark.parametrize("seq", [0, -1, 10_000])
def test_an_event_that_does_not_exist_is_named(home: Home, seq: int) -> None:
    with pytest.raises(Rejected, match="There is no event"):
        home.do(lambda client: client.show(seq))


def test_why_follows_a_file_through_a_rename(home: Home) -> None:
    first = home.write("a.txt", b"one\ntwo\n").seqs[0]
    home.do(lambda client: client.move("a.txt", "b.txt", run=None))
    last = home.write("b.txt", b"one\n2\n").seqs[0]
    why = home.do(lambda client: client.why("b.txt"))
    assert [(line.text, line.seq) for line in why.lines] == [("one", first), ("2", last)]
    assert set(why.events) >= {first, last}
    assert why.history[0].seq == last


def test_a_file_renamed_by_hand_keeps_its_history_when_only_its_new_name_is_looked_at(home: Home) -> None:
    first = home.write("a.txt", b"one\ntwo\n", run="draft").seqs[-1]
    home.write("other.txt", b"x")
    (home.folder / "other.txt").unlink()
    (home.folder / "a.txt").rename(home.folder / "b.txt")
    assert home.read("b.txt") == b"one\ntwo\n"
    why = home.do(lambda client: client.why("b.txt"))
    assert [line.seq for line in why.lines] == [first, first]
    assert why.history[0].sentence == "moved a.txt to b.txt"
    (home.folder / "b.txt").rename(home.folder / "c.txt")
    last = home.write("c.txt", b"one\nTWO\n").seqs[-1]
    why = home.do(lambda client: client.why("c.txt"))
    assert [line.seq for line in why.lines] == [first, last]


def test_a_second_name_of_a_file_is_a_file_of_its_own(home: Home) -> None:
    home.write("a.txt", b"one\n")
    (home.folder / "b.txt").hardlink_to(home.folder / "a.txt")
    assert home.read("b.txt") == b"one\n"
    assert home.paths() == ["a.txt", "b.txt"]


def test_why_names_what_led_to_a_line_that_an_undo_brought_back(home: Home) -> None:
    first = home.write("a.txt", b"one\ntwo\n").seqs[0]
    home.write("a.txt", b"one\nTWO\n", run="polish")
    undone = home.undo(run="polish").seqs
    why = home.do(lambda client: client.why("a.txt"))
    assert [(line.text, line.seq) for line in why.lines] == [("one", first), ("two", undone[-1])]
    assert {seq: cause.sentence for seq, cause in why.causes.items()} == {
        undone[-1]: "took back the run polish (1 change)"
    }


def test_why_tells_the_lines_of_a_merge_apart_by_who_wrote_them(home: Home) -> None:
    first = home.write("a.txt", b"a\nb\nc\nd\n").seqs[-1]
    left = home.write("a.txt", b"A\nb\nc\nd\n", run="left").seqs[-1]
    right = home.write("a.txt", b"a\nb\nc\nD\n", run="right", base=first).seqs[-1]
    (home.folder / "a.txt").write_bytes(b"A\nb\nc\nD\nby hand\n")
    why = home.do(lambda client: client.why("a.txt"))
    hand = why.lines[-1].seq
    assert [(line.text, line.seq) for line in why.lines] == [
        ("A", left),
        ("b", first),
        ("c", first),
        ("D", right),
        ("by hand", hand),
    ]
    assert [why.events[seq].run_id for seq in (left, right, hand)] == ["left", "right", None]
    assert why.events[hand].source == "user"


def test_why_of_binary_content_gives_the_history_alone(home: Home) -> None:
    home.write("a.bin", b"\x00\x01")
    why = home.do(lambda client: client.why("a.bin"))
    assert why.lines == []
    assert len(why.history) == 1


def test_files_and_contents_are_there_as_of_any_event(home: Home) -> None:
    first = home.write("a.txt", b"1").seqs[-1]
    home.write("a.txt", b"2")
    home.write("b.txt", b"3")
    assert home.paths(first) == ["a.txt"]
    assert home.read("a.txt", first) == b"1"
    assert home.read("a.txt") == b"2"
    with pytest.raises(Rejected, match="Nothing stands at"):
        home.read("b.txt", first)


def test_each_file_names_the_event_that_last_changed_it_now_and_back_then(home: Home) -> None:
    first = home.write("a.txt", b"1").seqs[-1]
    second = home.write("d/b.txt", b"2").seqs[-1]
    third = home.write("a.txt", b"3").seqs[-1]
    moved = changed(home.do(lambda client: client.move("d/b.txt", "d/c.txt", run=None))).seqs[-1]

    def seqs(at: int | None) -> dict[str, int]:
        return {line.path: line.seq for line in home.files(at).files if line.kind == "file"}

    assert seqs(second) == {"a.txt": first, "d/b.txt": second}
    assert seqs(third) == {"a.txt": third, "d/b.txt": second}
    assert seqs(moved) == seqs(None) == {"a.txt": third, "d/c.txt": moved}


def test_following_a_path_shows_this_workspace_alone_and_what_is_below(home: Home) -> None:
    home.do(lambda client: client.change_workspace("new", "work", argument=None))
    Home(home.path, {}, workspace="work").write("d/a.txt", b"1")
    home.write("da.txt", b"2")
    seq = home.write("d/a.txt", b"3").seqs[-1]
    home.do(lambda client: client.move("d/a.txt", "b.txt", run=None))

    async def follow(path: str) -> list[str]:
        reader = await connect(resolve({"home": str(home.path)}, {}), workspace=None, write=False)
        found: list[str] = []
        async for line in reader.follow(LogQuery(path=path)):
            found.append(line.sentence)
            if line.event_type == "file.move":
                break
        await reader.close()
        return found

    assert asyncio.run(follow("d")) == [
        "made the directory d",
        "created d/a.txt (1 byte)",
        "moved d/a.txt to b.txt",
    ]
    assert asyncio.run(follow("d/a.txt"))[0] == home.do(lambda client: client.show(seq)).line.sentence


def test_what_cannot_be_kept_is_listed_with_its_reason(home: Home) -> None:
    home.write("a.txt", b"1")
    (home.folder / "big.bin").write_bytes(b"x" * 4000)
    listed = Home(home.path, {"files.size_bytes_max": "1000"}).files()
    assert [line.path for line in listed.files] == ["a.txt"]
    assert "1000" in listed.unkept["big.bin"]
    assert (home.folder / "big.bin").stat().st_size == 4000


def test_a_difference_compares_any_two_events_or_the_last_checkpoint_with_now(home: Home) -> None:
    first = home.write("a.txt", b"1\n").seqs[-1]
    second = home.write("a.txt", b"2\n").seqs[-1]
    home.do(lambda client: client.checkpoint("two"))
    home.write("b.txt", b"3\n")
    between = home.do(lambda client: client.diff(first, second, path=None))
    assert [(one.path, one.change) for one in between] == [("a.txt", "changed")]
    since = home.do(lambda client: client.diff(None, None, path=None))
    assert [(one.path, one.change) for one in since] == [("b.txt", "added")]
    assert home.do(lambda client: client.diff(None, None, path="a.txt")) == []


def test_the_status_names_the_place_and_the_state(home: Home) -> None:
    home.write("a.txt", b"1")
    status = home.do(lambda client: client.status())
    assert (status.user, status.workspace, status.state) == ("me", "main", "ready")
    assert status.folder == str(home.folder)
    assert status.pending_approvals == 0
