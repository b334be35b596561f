"""The verbs that change files, on a real data directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from choiros.kernel.errors import Corrupt, Rejected
from tests.unit.cli.direct.homes import Home, changed


def test_a_written_file_is_in_the_folder_and_in_the_log(home: Home) -> None:
    done = home.write("notes/today.md", b"one\n")
    assert (home.folder / "notes/today.md").read_bytes() == b"one\n"
    assert [line.event_type for line in done.lines] == ["file.write", "file.write"]


def test_writing_the_same_again_records_nothing(home: Home) -> None:
    home.write("a.txt", b"same")
    assert home.write("a.txt", b"same").lines == []


@pytest.mark.parametrize("damage", [b"2", b"12", None])
@pytest.mark.parametrize("again", ["written", "touched", "elsewhere"])
def test_content_that_the_disk_spoilt_is_whole_again_when_it_comes_again(
    home: Home, damage: bytes | None, again: str
) -> None:
    seq = home.write("a.txt", b"1").seqs[0]
    stored = next((home.path / "users/me/.choir/blobs").glob("??/*"))
    stored.unlink() if damage is None else stored.write_bytes(damage)
    with pytest.raises(Corrupt):
        home.read("a.txt", seq)
    if again == "written":
        assert home.write("a.txt", b"1").seqs == []
    elif again == "touched":
        (home.folder / "a.txt").touch()
        home.files()
    else:
        home.write("b.txt", b"1")
    assert home.read("a.txt", seq) == b"1"


def test_a_write_keeps_the_mode_that_the_file_has(home: Home) -> None:
    home.write("run.sh", b"#!/bin/sh\n")
    home.do(lambda client: client.set_mode("run.sh", 0o755, run=None))
    home.write("run.sh", b"#!/bin/sh\ntrue\n")
    assert (home.folder / "run.sh").stat().st_mode & 0o777 == 0o755


def test_a_write_from_an_older_reading_is_merged(home: Home) -> None:
    base = home.write("a.txt", b"1\n2\n3\n4\n5\n").seqs[-1]
    home.write("a.txt", b"1\n2\n3\n4\nfive\n")
    home.write("a.txt", b"one\n2\n3\n4\n5\n", base=base)
    assert home.read("a.txt") == b"one\n2\n3\n4\nfive\n"


def test_what_cannot_be_merged_is_kept_beside_and_said(home: Home) -> None:
    base = home.write("a.txt", b"1\n").seqs[-1]
    home.write("a.txt", b"ours\n")
    done = home.write("a.txt", b"theirs\n", base=base)
    assert done.conflicts == ["a (conflict).txt"]
    assert (home.read("a.txt"), home.read("a (conflict).txt")) == (b"ours\n", b"theirs\n")


def test_a_hand_edit_is_recorded_before_a_write_over_it(home: Home) -> None:
    home.write("a.txt", b"1\n")
    (home.folder / "a.txt").write_bytes(b"by hand\n")
    home.write("a.txt", b"2\n")
    home.undo()
    assert home.read("a.txt") == b"by hand\n"


def test_an_edit_replaces_one_piece_of_text(home: Home) -> None:
    home.write("a.txt", b"buy milk\n")
    home.do(lambda client: client.edit("a.txt", "milk", new="bread", everywhere=False, run=None))
    assert home.read("a.txt") == b"buy bread\n"


def test_a_move_into_a_directory_keeps_the_name(home: Home) -> None:
    home.write("a.txt", b"1")
    home.do(lambda client: client.make_directory("box", None))
    home.do(lambda client: client.move("a.txt", "box", run=None))
    assert home.paths() == ["box", "box/a.txt"]


def test_a_link_is_a_link_and_never_followed(home: Home) -> None:
    home.do(lambda client: client.make_link("out", "/etc/passwd", run=None))
    assert (home.folder / "out").readlink() == Path("/etc/passwd")
    assert home.read("out") == b"/etc/passwd"
    with pytest.raises(Rejected):
        home.write("out/x", b"1")


def test_removing_several_paths_is_one_change_or_none(home: Home) -> None:
    home.write("a.txt", b"1")
    home.write("b.txt", b"2")
    with pytest.raises(Rejected, match="Nothing stands at"):
        home.do(lambda client: client.remove(["a.txt", "c.txt"], recursive=False, run=None))
    assert home.paths() == ["a.txt", "b.txt"]
    home.do(lambda client: client.remove(["a.txt", "b.txt"], recursive=False, run=None))
    assert home.paths() == []
    home.undo()
    assert home.paths() == ["a.txt", "b.txt"]


def test_a_directory_stays_when_it_holds_what_is_not_kept_and_undo_means_the_removal(home: Home) -> None:
    home.write("d/kept.txt", b"1")
    os.mkfifo(home.folder / "d/pipe")
    done = changed(home.do(lambda client: client.remove(["d"], recursive=True, run=None)))
    assert done.warnings == ["The directory d stays, because it holds what is not kept."]
    home.undo()
    assert home.read("d/kept.txt") == b"1"


def test_an_undo_tells_which_directory_stays(home: Home) -> None:
    home.write("d/e/kept.txt", b"1")
    os.mkfifo(home.folder / "d/e/pipe")
    assert home.undo().warnings == ["The directory d stays, because it holds what is not kept."]
    assert (home.folder / "d/e/pipe").is_fifo()


def test_an_undo_tells_that_what_it_restored_stands_beside_what_is_in_its_way(home: Home) -> None:
    """The folder has a directory there that cannot go, so both are kept."""
    seq = home.write("d", b"was a file\n").seqs[-1]
    home.do(lambda client: client.remove(["d"], recursive=False, run=None))
    home.write("d/e/new.txt", b"2")
    os.mkfifo(home.folder / "d/e/pipe")
    done = home.undo(since=seq)
    assert done.conflicts == ["d (conflict)"]
    assert done.warnings == ["d is not as wished: what stood in the folder there was recorded as well."]
    assert home.read("d (conflict)") == b"was a file\n"
    assert (home.folder / "d/e/pipe").is_fifo()


def test_what_the_folder_cannot_show_is_told_and_keeps_nobody_from_working(home: Home) -> None:
    """A directory of the log gave way to something that is not kept."""
    home.write("d/a.txt", b"1")
    (home.folder / "d/a.txt").unlink()
    (home.folder / "d").rmdir()
    os.mkfifo(home.folder / "d")
    assert home.write("d/b.txt", b"2").warnings
    assert "d stands in the way" in home.files().unkept["d/b.txt"]
    home.write("other.txt", b"3")
    assert home.undo().lines[1].sentence == "removed other.txt"
    (home.folder / "d").unlink()
    assert home.files().unkept == {}
    assert (home.folder / "d/b.txt").read_bytes() == b"2"


def test_a_preview_changes_nothing(home: Home) -> None:
    home.write("a.txt", b"1\n")
    home.write("a.txt", b"2\n")
    before = home.do(lambda client: client.status()).events
    preview = home.do(lambda client: client.preview_undo(run=None, seq=None, since=None, leave=()))
    assert [change.path for change in preview.changes] == ["a.txt"]
    assert home.do(lambda client: client.status()).events == before
    assert (home.folder / "a.txt").read_bytes() == b"2\n"


def test_redo_brings_back_what_undo_took(home: Home) -> None:
    home.write("a.txt", b"1")
    home.undo()
    assert home.paths() == []
    assert home.do(lambda client: client.preview_redo(())).target == "redo"
    home.do(lambda client: client.redo(()))
    assert home.read("a.txt") == b"1"


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("last", [b"third\n", b"first\n"])
@pytest.mark.parametrize(("standing", "events"), [(b"second\n", 0), (b"third\n", 0), (b"of mine\n", 2)])
def test_views_that_a_power_cut_set_back_take_none_of_our_work_for_a_persons(
    home: Home, standing: bytes, events: int, last: bytes, is_new: bool
) -> None:
    """C-18: the folder may show more than is remembered of it, and less than the log says."""
    state = home.path / "users/me/.choir/state.sqlite"
    home.write("a.txt", b"first\n")
    remembered = b"" if is_new else state.read_bytes()
    for content in (b"second\n", b"third\n", last):
        home.write("a.txt", content)
    seq = home.files().at
    state.write_bytes(remembered)
    (home.folder / "a.txt").write_bytes(standing)
    recorded = home.files().at - seq
    assert bool(recorded) == bool(events)
    kept = [(home.folder / path).read_bytes() for path in home.paths()]
    assert kept in ([last], [standing], [standing, last]) if events else kept == [last]
    assert (standing in kept) == (standing == last or events > 0)
