"""The pages of the help."""

import json

import pytest

from choiros.cli.arguments import WrongUsage
from choiros.cli.help import help_of
from choiros.cli.verbs import OVERVIEW
from tests.unit.cli.fake_client import choir


def test_without_a_verb_the_overview_is_shown() -> None:
    for words in ([], ["help"], ["--help"], ["-h"]):
        outcome = choir(*words)
        assert (outcome.code, outcome.out) == (0, OVERVIEW + "\n")


def test_a_verb_and_its_acts_have_pages() -> None:
    assert "--follow" in help_of(["log"])
    assert "usage: choir workspaces new" in help_of(["workspaces", "new"])
    assert choir("log", "--help").out.rstrip() == help_of(["log"])
    assert choir("workspaces", "new", "--help").out.rstrip() == help_of(["workspaces", "new"])


def test_an_unknown_page_is_refused() -> None:
    for words in (["lgo"], ["workspaces", "nwe"], ["log", "x"]):
        with pytest.raises(WrongUsage):
            help_of(words)


def test_help_and_version_are_there_as_json() -> None:
    assert json.loads(choir("help", "--json").out) == {"help": OVERVIEW}
    assert set(json.loads(choir("--json", "--version").out)) == {"version"}


def test_the_page_of_a_verb_is_there_as_json_wherever_the_option_stands() -> None:
    for words in (["log", "--help", "--json"], ["log", "--json", "-h"], ["--json", "log", "--help"]):
        assert json.loads(choir(*words).out) == {"help": help_of(["log"])}
