"""Which verb a command line means."""

import pytest

from choiros.cli.arguments import WrongUsage
from choiros.cli.find import find


def found(*words: str) -> tuple[str, list[str]]:
    _, program, rest = find(words)
    return program, rest


def test_nothing_means_help() -> None:
    assert found() == ("choir help", [])
    assert found("--help") == ("choir help", [])


def test_options_in_front_of_the_verb_are_handed_to_it() -> None:
    assert found("--json", "--user", "ann", "log", "-n", "3") == (
        "choir log",
        ["--json", "--user", "ann", "-n", "3"],
    )


def test_a_family_without_an_act_lists() -> None:
    assert found("workspaces") == ("choir workspaces list", [])
    assert found("workspaces", "--json") == ("choir workspaces list", ["--json"])
    assert found("checkpoints", "-n", "3") == ("choir checkpoints list", ["-n", "3"])
    assert found("--json", "workspaces", "new", "x") == ("choir workspaces new", ["--json", "x"])
    assert found("workspaces", "--help") == ("choir workspaces", ["--help"])


def test_at_stands_for_another_verb() -> None:
    assert found("--json", "at", "12", "cat", "a") == ("choir cat", ["--json", "--at", "12", "a"])
    assert found("at", "--help") == ("choir at", ["--help"])
    assert found("at", "12", "--help") == ("choir at", ["12", "--help"])


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["lgo"], "choir log"),
        (["workspaces", "nwe"], "choir workspaces new"),
        (["--jsn", "log"], "--json"),
        (["-n", "3", "log"], "behind"),
        (["--"], "--help"),
    ],
)
def test_a_mistake_is_answered_with_what_was_probably_meant(words: list[str], fix: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        find(words)
    assert fix in refused.value.fix


def test_a_name_that_is_not_utf8_is_refused_with_a_way_out() -> None:
    with pytest.raises(WrongUsage, match=r"'a\\xff' is not valid UTF-8") as refused:
        find(["cat", "a\udcff"])
    assert "pipe" in refused.value.fix
