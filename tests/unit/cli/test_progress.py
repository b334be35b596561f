"""The line that tells how far a long piece of work has come."""

import pytest

from choiros.cli import progress
from choiros.cli.progress import ProgressLine
from tests.unit.cli.fake_client import Stream


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be moved by the test."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_on_a_terminal_it_tells_what_and_how_much_and_goes_away_at_the_end(moments: list[float]) -> None:
    stream = Stream(terminal=True)
    line = ProgressLine(stream, shown=True)
    moments[0] = 1
    line("packing events", 1000, 4000)
    assert stream.all() == "\rpacking events  25 % (1,000 of 4,000)"
    line.end()
    last = stream.all().split("\r")[-2]
    assert last.strip() == ""
    assert len(last) == len("packing events  25 % (1,000 of 4,000)")


def test_what_is_soon_done_shows_nothing_and_nothing_flickers(moments: list[float]) -> None:
    stream = Stream(terminal=True)
    line = ProgressLine(stream, shown=True)
    line("packing events", 1, 4)
    line.end()
    assert stream.all() == ""
    moments[0] = 1
    line("packing events", 2, 4)
    line("packing events", 3, 4)
    assert stream.all().count("\r") == 1


@pytest.mark.parametrize(("terminal", "shown"), [(False, True), (True, False)])
def test_nobody_else_sees_it(moments: list[float], terminal: bool, shown: bool) -> None:
    stream = Stream(terminal=terminal)
    line = ProgressLine(stream, shown=shown)
    moments[0] = 1
    line("packing events", 1, 4)
    line.end()
    assert stream.all() == ""


def test_work_of_unknown_length_has_no_share(moments: list[float]) -> None:
    stream = Stream(terminal=True)
    line = ProgressLine(stream, shown=True)
    moments[0] = 1
    line("hashing the state", 0, 0)
    assert stream.all() == "\rhashing the state"
