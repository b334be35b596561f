"""Who may say that an outcome is not known."""

from __future__ import annotations

from choiros.features.effects.events import EffectUnknown
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict


class OnlySystemEnds:
    """Lets ChoirOS alone end an effect as unknown."""

    name = "effects.system"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return a verdict on such reports."""
        if not any(isinstance(payload, EffectUnknown) for payload in proposal.decision.payloads):
            return None
        if proposal.context.source != "system":
            return Verdict(self.name, "block", "Only ChoirOS itself reports that an outcome is not known.")
        return Verdict(self.name, "allow", "ChoirOS reports what it does not know.")
