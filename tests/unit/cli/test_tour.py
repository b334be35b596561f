"""The first tour; with real commands and a real terminal it is tried in tests/e2e."""

import subprocess
from pathlib import Path

import pytest

from choiros.cli import tour
from choiros.cli.arguments import parse
from choiros.cli.find import find
from choiros.cli.verb import build
from tests.unit.cli.fake_client import Outcome, choir


@pytest.fixture
def done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the tour ran; nothing is really run."""
    commands: list[list[str]] = []

    def record(command: list[str], **options: object) -> None:
        assert Path(str(options["cwd"])).parent == tmp_path
        commands.append(command)

    monkeypatch.setattr(subprocess, "run", record)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return commands


def toured(keys: bytes) -> Outcome:
    return choir("up", keys=keys, terminal=True)


def test_every_step_is_a_command_that_is_understood() -> None:
    for step in tour.STEPS:
        verb, program, rest = find(step.words)
        parse(build(verb, program), rest)
        assert step.sentence.endswith(".")
    assert {step.words[0] for step in tour.STEPS} >= {"write", "edit", "log", "undo", "redo", "why"}


def test_enter_runs_every_step_on_a_home_of_its_own(done: list[list[str]], tmp_path: Path) -> None:
    outcome = toured(b"\n" * len(tour.STEPS))
    assert outcome.code == 0
    assert len(done) == len(tour.STEPS)
    assert all("--home" in command and "--user" in command for command in done)
    assert list(tmp_path.iterdir()) == []


def test_a_step_can_be_skipped_and_the_tour_quit(done: list[list[str]], tmp_path: Path) -> None:
    assert toured(b"s\n\nq\n").code == 0
    assert len(done) == 1
    assert "edit" in done[0]
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_input_ends_the_tour(done: list[list[str]]) -> None:
    assert toured(b"").code == 0
    assert done == []


def test_ctrl_c_in_the_middle_leaves_nothing_behind(
    done: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupt)
    assert toured(b"\n").code == 130
    assert list(tmp_path.iterdir()) == []


def test_a_command_is_shown_as_one_types_it() -> None:
    assert tour.in_words(tour.STEPS[0]).startswith("printf 'bread\\nmilk")
    assert "--new 'oat milk'" in tour.in_words(tour.STEPS[1])
