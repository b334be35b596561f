"""What stands on the command line."""

from argparse import ArgumentTypeError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.cli.arguments import (
    Words,
    WrongUsage,
    amount,
    event_number,
    mode_bits,
    nearest,
    one_of,
    parse,
)
from choiros.cli.verb import build
from choiros.cli.verbs import load


def refusal(name: str, *words: str) -> WrongUsage:
    with pytest.raises(WrongUsage) as refused:
        parse(build(load(name), f"choir {name}"), words)
    return refused.value


def test_a_missing_argument_is_named_with_the_way_to_call_the_verb() -> None:
    error = refusal("mv", "a")
    assert error.message == "'choir mv' needs B."
    assert error.fix == "Call it so: choir mv [--run RUN] A B"
    assert refusal("log", "-n", "x").fix == "'choir help log' tells how to call it."


def test_an_unknown_option_is_answered_with_the_nearest_one() -> None:
    assert refusal("log", "--folow").fix == "Did you mean '--follow'?"
    assert refusal("log", "--jsn").fix == "Did you mean '--json'?"


def test_an_option_is_not_guessed_from_its_beginning() -> None:
    assert refusal("log", "--foll").code == "usage.unknown_option"


def test_too_many_words_are_refused() -> None:
    assert refusal("cat", "a", "b").code == "usage.too_much"
    assert "'b'" in refusal("cat", "a", "--", "b").message


def test_a_missing_value_says_how_to_write_one_that_begins_with_a_dash() -> None:
    assert "--old=VALUE" in refusal("edit", "a", "--old", "-x", "--new", "y").fix


@pytest.mark.parametrize("text", ["", "-1", "x", "1.5", "٣", "1" * 16, " 1"])
def test_what_is_no_number_of_an_event_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        event_number(text)


def test_numbers_are_read() -> None:
    assert (event_number("0"), event_number("12"), amount("3")) == (0, 12, 3)
    with pytest.raises(ArgumentTypeError):
        amount("0")


@pytest.mark.parametrize(("text", "bits"), [("755", 0o755), ("0644", 0o644), ("000", 0)])
def test_modes_are_octal(text: str, bits: int) -> None:
    assert mode_bits(text) == bits


@pytest.mark.parametrize("text", ["u+x", "8", "7777", "888", "-755", ""])
def test_other_modes_are_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        mode_bits(text)


def test_a_choice_names_the_nearest() -> None:
    with pytest.raises(ArgumentTypeError, match="did you mean 'agent'"):
        one_of("user", "agent")("agnet")
    assert nearest("zzzz", ["log"]) is None


def test_the_line_is_cut_at_the_verb_wherever_options_stand() -> None:
    cut = Words(["--json", "--user", "ann", "--set=a=b", "log", "-n", "3"])
    assert (cut.front, cut.name, cut.rest) == (["--json", "--user", "ann", "--set=a=b"], "log", ["-n", "3"])
    assert Words(["--help"]).name is None
    assert Words(["--user"]).name is None


@given(st.lists(st.sampled_from(["--json", "--user", "log", "-n", "--", "3", "--set=x"])))
def test_no_word_gets_lost_when_the_line_is_cut(words: list[str]) -> None:
    cut = Words(words)
    assert [*cut.front, *([] if cut.name is None else [cut.name]), *cut.rest] == words


def test_arguments_are_typed() -> None:
    given_ = parse(
        build(load("log"), "choir log"), ["-n", "3", "--run", "r", "--json", "--set", "a=b", "--set", "c=d"]
    )
    assert (given_.number("count"), given_.maybe("run"), given_.flag("json")) == (3, "r", True)
    assert given_.texts("set") == ["a=b", "c=d"]
    assert given_.maybe("path") is None


def test_two_dashes_are_a_value_like_any_other_where_they_stand_behind_an_equals_sign() -> None:
    edit = parse(build(load("edit"), "choir edit"), ["a.md", "--old=--", "--new=-- "])
    assert (edit.text("old"), edit.text("new")) == ("--", "-- ")
    undo = parse(build(load("undo"), "choir undo"), ["--except=--", "--except", "b"])
    assert undo.texts("leave") == ["--", "b"]
    assert refusal("log", "--until=--").code == "usage.bad_value"
    assert refusal("log", "--source=--").code == "usage.bad_value"
