"""What 'choir at' stands for."""

import pytest

from choiros.cli.arguments import WrongUsage
from choiros.cli.at import rewritten
from tests.unit.cli.fake_client import choir


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["12"], ["files", "--at", "12"]),
        (["12", "--"], ["files", "--at", "12"]),
        (["12", "--", "cat", "a"], ["cat", "--at", "12", "a"]),
        (["12", "files", "notes", "-l"], ["files", "--at", "12", "notes", "-l"]),
        (["12", "diff"], ["diff", "12"]),
        (["12", "diff", "20", "--path", "a"], ["diff", "12", "20", "--path", "a"]),
        (["12", "log", "-n", "3"], ["log", "--until", "12", "-n", "3"]),
        (
            ["--json", "12", "--user", "ann", "cat", "a"],
            ["--json", "--user", "ann", "cat", "--at", "12", "a"],
        ),
        (["12", "-l"], ["files", "--at", "12", "-l"]),
    ],
)
def test_a_look_at_the_past_is_an_ordinary_verb(words: list[str], meant: list[str]) -> None:
    assert rewritten(words) == meant


@pytest.mark.parametrize("words", [[], ["x"], ["12", "rm", "a"], ["12", "undo"], ["12", "fles"]])
def test_the_past_cannot_be_changed(words: list[str]) -> None:
    with pytest.raises(WrongUsage) as refused:
        rewritten(words)
    assert "choir at SEQ" in refused.value.fix


def test_it_has_a_page_of_its_own() -> None:
    assert "Look at everything as it was" in choir("at", "--help").out
