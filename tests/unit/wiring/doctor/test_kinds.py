"""The list of everything that can be wrong: complete, explained, and every command in it understood."""

import re
import shlex

import pytest

from choiros.cli.arguments import parse
from choiros.cli.find import find
from choiros.cli.verb import build
from choiros.wiring.doctor import AREAS, KINDS, MENDS, Kind

COMMAND = re.compile(r"choir [a-z](?:[^;:']|'[^']*')*")


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.code)
def test_a_kind_says_what_it_means_and_what_mends_it(kind: Kind) -> None:
    assert kind.means.endswith(".")
    assert kind.fix
    assert kind.code.partition(".")[0] in {*AREAS, "doctor"}
    assert kind.mend in {"", *MENDS}
    assert (kind.fix == "choir doctor --fix") == (kind.mend != "")


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.code)
def test_every_command_that_a_fix_names_is_one(kind: Kind) -> None:
    """C-71: a fix that cannot be typed is none."""
    for text in (kind.fix, kind.otherwise):
        for command in COMMAND.findall(text.replace("{workspace}", "main").replace("SEQ", "7")):
            verb, program, rest = find(shlex.split(command.rstrip("."))[1:])
            parse(build(verb, program), rest)


def test_the_commands_of_the_fixes_are_really_found() -> None:
    commands = {command for kind in KINDS.values() for command in COMMAND.findall(kind.fix)}
    assert {"choir gc", "choir doctor --fix", "choir keys rotate", "choir checkpoint 'Again'"} <= commands
