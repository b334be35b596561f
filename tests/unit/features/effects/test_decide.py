"""Each effect whose outcome nobody knows is recorded, once."""

import asyncio

from choiros.features.effects.commands import ReportUnknown
from choiros.features.effects.decide import EffectsLoader, command_types, decide
from choiros.features.effects.events import EffectUnknown
from choiros.features.effects.view import EffectsProjector, EffectsView
from choiros.kernel.command import Context
from choiros.wiring import registry
from tests.places import empty_tables

COMMAND = ReportUnknown(((3, "checkpoint.push"), (9, "checkpoint.push")))


def test_those_that_are_open_are_recorded() -> None:
    facts = [EffectUnknown(3, "checkpoint.push"), EffectUnknown(9, "checkpoint.push")]
    assert decide(COMMAND, frozenset({3, 9, 12})).payloads == facts


def test_one_that_came_to_its_end_meanwhile_is_left_out() -> None:
    assert decide(COMMAND, frozenset({9})).payloads == [EffectUnknown(9, "checkpoint.push")]
    assert decide(COMMAND, frozenset()).payloads == []


def test_the_rule_is_given_what_is_open() -> None:
    loader = EffectsLoader(EffectsView(empty_tables(EffectsProjector(registry()))))
    (kind,) = command_types(loader)
    assert (kind.name, kind.command, kind.effect) == ("effects.unknown", ReportUnknown, "pure")
    assert asyncio.run(loader.unknown(COMMAND, Context("me"))) == frozenset()
