"""How things are printed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.cli.show import Paint, Screen, amount_of, as_json, columns, cut, instant, moment, one_line
from choiros.kernel.errors import Rejected
from tests.unit.cli.fake_client import Stream

HOSTILE = "a\x1b[2Jb\x9bc\u202ed\u200be\rf\x07g\x7f"


def screen(**options: bool) -> tuple[Screen, Stream, Stream]:
    terminal = options.pop("terminal", False)
    out, err = Stream(terminal=terminal), Stream(terminal=terminal)
    return Screen(out, err, keys=Stream(terminal=terminal), **options), out, err


def test_foreign_text_shows_what_a_terminal_would_obey() -> None:
    assert one_line(HOSTILE).startswith(r"a\x1b[2Jb\x9bc\u202ed\u200be" + "\\")
    assert one_line("two\nlines\tand a tab") == r"two\nlines\tand a tab"


def test_nothing_that_is_printed_can_hold_an_escape_of_its_own() -> None:
    shown, out, err = screen(colour=True, terminal=True)
    shown.line(HOSTILE, Paint(HOSTILE, "red"))
    shown.row(HOSTILE)
    shown.fields([("name", HOSTILE)])
    shown.note(HOSTILE)
    shown.diff(f"+{HOSTILE}\n")
    shown.text(HOSTILE)
    shown.ask(HOSTILE)
    shown.trouble(Rejected("a.b", HOSTILE, fix=HOSTILE), 1)
    plain = (out.all() + err.all()).replace("\x1b[0m", "")
    for code in ("1", "2", "31", "32", "33", "36"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert not set(plain) & set("\x1b\x9b\u202e\u200b\r\x07\x7f")


def test_colours_are_used_only_where_they_are_wanted() -> None:
    shown, out, _ = screen(colour=False, terminal=True)
    shown.line(Paint("red", "red"))
    assert out.all() == "red\n"


def test_a_diff_is_exact_in_a_pipe() -> None:
    shown, out, _ = screen()
    shown.diff("+a\x1bb\r\n")
    assert out.all() == "+a\x1bb\r\n"


def test_a_row_is_cut_on_a_terminal_and_keeps_its_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown, out, _ = screen(terminal=True)
    shown.row("x" * 50, "y" * 30, tail=["  [run]"])
    assert out.all() == "x" * 50 + "...  [run]\n"
    assert len(out.all()) == 61


@pytest.mark.parametrize("width", ["20", "59"])
def test_a_row_is_wrapped_on_a_narrow_terminal_so_that_what_it_tells_stays(
    monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    shown, out, _ = screen(terminal=True)
    shown.row("    12  2026-11-19 21:40  user    ", "created notes/today.md", tail=["  [run]"])
    assert out.all() == "    12  2026-11-19 21:40  user    created notes/today.md  [run]\n"


def test_a_row_is_whole_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown, out, _ = screen()
    shown.row("x" * 90, tail=["!"])
    assert out.all() == "x" * 90 + "!\n"


def test_wide_and_combining_letters_are_counted_as_a_terminal_shows_them() -> None:
    assert columns("日本") == 4
    assert columns("e\u0301") == 1
    assert cut("日本語日本語", 8) == "日本..."


@given(st.text(max_size=30), st.integers(0, 40))
def test_cut_text_fits(text: str, width: int) -> None:
    assert columns(cut(text, width)) <= width


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_is_exact_and_holds_nothing_invisible(text: str) -> None:
    shown = as_json({"text": text})
    assert json.loads(shown) == {"text": text}
    assert one_line(shown) == shown


def test_an_error_is_three_lines_or_one_object() -> None:
    error = Rejected("files.not_found", "There is no file 'a'.", fix="'choir files' lists them.", path="a")
    shown, out, err = screen()
    shown.trouble(error, 1)
    assert (out.all(), err.all().count("\n")) == ("", 3)
    assert err.all().endswith("fix: 'choir files' lists them.\ncode: files.not_found\n")
    shown, out, err = screen(json=True)
    shown.trouble(error, 1)
    assert json.loads(out.all())["error"]["code"] == "files.not_found"
    assert json.loads(out.all())["exit"] == 1
    assert not err.all()


def test_nobody_is_asked_without_a_terminal_or_for_json() -> None:
    assert screen()[0].asks is False
    assert screen(terminal=True, json=True)[0].asks is False
    assert screen()[0].ask("Really?") is None


def test_times_that_cannot_be_do_not_break_the_list() -> None:
    assert moment(10**30) == "unknown time"
    assert len(moment(1_700_000_000_000)) == 16
    assert len(instant(1_700_000_000_000)) == 25


def test_one_thing_is_not_called_several() -> None:
    assert (amount_of(1, "file"), amount_of(0, "file"), amount_of(1200, "file")) == (
        "1 file",
        "0 files",
        "1,200 files",
    )
