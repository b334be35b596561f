"""How events and states become answers."""

from __future__ import annotations

import json

from tests.unit.cli.direct.homes import Home


def test_an_answer_carries_the_whole_event_as_json(home: Home) -> None:
    line = home.write("a.txt", b"1").lines[0]
    event = json.loads(bytes(line.event))
    assert (event["seq"], event["id"], event["payload"]["path"]) == (line.seq, line.id, "a.txt")
    assert len(event["hash"]) == len(event["prev"]) == 64


def test_an_event_that_is_taken_back_says_by_which(home: Home) -> None:
    seq = home.write("a.txt", b"1").seqs[0]
    undo = home.undo().seqs[0]
    assert home.do(lambda client: client.show(seq)).line.undone_by == undo


def test_a_mode_a_link_and_binary_content_are_told_in_one_sentence(home: Home) -> None:
    start = home.write("a.bin", b"\x00").seqs[0]
    home.do(lambda client: client.set_mode("a.bin", 0o600, run=None))
    home.do(lambda client: client.make_link("l", "a.bin", run=None))
    found = {one.path: one for one in home.do(lambda client: client.diff(start, None, path=None))}
    assert found["a.bin"].change == "mode"
    assert "mode 600" in found["a.bin"].text
    assert found["l"].change == "added"


def test_a_preview_shows_merged_text_that_exists_nowhere_yet(home: Home) -> None:
    home.write("a.txt", b"1\n2\n3\n4\n5\n")
    seq = home.write("a.txt", b"one\n2\n3\n4\n5\n").seqs[0]
    home.write("a.txt", b"one\n2\n3\n4\nfive\n")
    preview = home.do(lambda client: client.preview_undo(run=None, seq=seq, since=None, leave=()))
    assert "-one\n+1\n" in preview.changes[0].text
    assert preview.obstacles == []


def test_a_preview_names_what_stands_against_an_undo(home: Home) -> None:
    home.write("a.txt", b"1\n")
    seq = home.write("a.txt", b"2\n").seqs[0]
    home.write("a.txt", b"3\n")
    preview = home.do(lambda client: client.preview_undo(run=None, seq=seq, since=None, leave=()))
    assert len(preview.obstacles) == 1
    assert preview.obstacles[0].startswith("a.txt")
