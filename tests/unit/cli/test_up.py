"""choir up."""

import json

import pytest

from choiros.cli import tour
from choiros.cli.show import Screen
from tests.unit.cli.fake_client import choir


def test_without_a_terminal_it_says_what_to_do_next() -> None:
    outcome = choir("up")
    assert outcome.code == 0
    assert "choir write" in outcome.out
    assert json.loads(choir("up", "--json").out)["ready"] is True


def test_on_a_terminal_the_tour_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Screen] = []

    def open_tour(screen: Screen) -> int:
        opened.append(screen)
        return 0

    monkeypatch.setattr(tour, "tour", open_tour)
    assert choir("up", terminal=True).code == 0
    assert len(opened) == 1
