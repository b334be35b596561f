"""Every verb can be loaded, and the overview names it."""

import re

import pytest

from choiros.cli.arguments import WrongUsage
from choiros.cli.verb import Verb, build
from choiros.cli.verbs import OVERVIEW, ROOMS, load

EVERY = [
    (name if act is None else f"{name} {act}", verb if act is None else verb.acts[act])
    for name in ROOMS
    for verb in [load(name)]
    for act in [None, *verb.acts]
]


@pytest.mark.parametrize(("name", "verb"), EVERY, ids=[name for name, _ in EVERY])
def test_a_verb_has_a_sentence_two_examples_and_exit_codes(name: str, verb: Verb) -> None:
    page = build(verb, f"choir {name}").format_help()
    assert verb.sentence.endswith(".")
    assert verb.sentence[0].isupper()
    assert all("choir " + name.split(maxsplit=1)[0] in example for example in verb.examples)
    assert len(set(verb.examples)) == 2
    assert "exit codes:" in page
    assert "--user ID" in page
    assert max(map(len, page.splitlines())) <= 80


def test_the_overview_names_every_verb_and_fits_on_one_screen() -> None:
    words = set(re.findall(r"[a-z]+", OVERVIEW.replace("checkpoint(s)", "checkpoint checkpoints")))
    assert set(ROOMS) <= words
    assert len(OVERVIEW.splitlines()) <= 24
    assert max(map(len, OVERVIEW.splitlines())) <= 80


def test_the_examples_are_understood() -> None:
    import shlex  # noqa: PLC0415 (only this test needs it)

    from choiros.cli.arguments import parse  # noqa: PLC0415
    from choiros.cli.find import find  # noqa: PLC0415

    for _, verb in EVERY:
        for example in verb.examples:
            words = shlex.split(re.sub(r".*?\bchoir |\)\"$| >.*$", "", example))
            found, program, rest = find(words)
            parse(build(found, program), rest)


def test_an_unknown_verb_names_the_nearest() -> None:
    with pytest.raises(WrongUsage) as refused:
        load("stats")
    assert refused.value.fix == "Did you mean 'choir status'?"


def test_a_whole_task_is_answered_honestly() -> None:
    with pytest.raises(WrongUsage) as refused:
        load("do my taxes")
    assert "no agent yet" in refused.value.fix
