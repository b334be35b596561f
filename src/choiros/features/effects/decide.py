"""The rule for effects that were broken off. Pure."""

from __future__ import annotations

from choiros.features.effects.commands import ReportUnknown
from choiros.features.effects.events import EffectUnknown
from choiros.features.effects.view import EffectsView
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command


class EffectsLoader:
    """Loads which effects are open."""

    def __init__(self, view: EffectsView) -> None:
        self._view = view

    async def unknown(self, command: ReportUnknown, context: Context) -> frozenset[int]:
        """Return the numbers of the effects that have no outcome yet."""
        del command, context
        return frozenset(effect.seq for effect in self._view.open())


def decide(command: ReportUnknown, state: frozenset[int]) -> Decision:
    """Record once for each that its outcome is not known."""
    return Decision(tuple(Fact(EffectUnknown(*one)) for one in command.intents if one[0] in state))


def command_types(loader: EffectsLoader) -> Commands:
    """Return this room's commands."""
    return [
        any_command(
            CommandType("effects.unknown", ReportUnknown, load=loader.unknown, decide=decide, effect="pure")
        )
    ]
