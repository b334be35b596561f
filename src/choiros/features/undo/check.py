"""What the undo room says at the gate: taking back is allowed to whoever may change, because it can be redone."""

from __future__ import annotations

from choiros.features.undo.events import Undone
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict


class UndoAllowed:
    """Allows decisions that are an undo."""

    name = "undo.allowed"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return an allowance for an undo; protected names are blocked by their own check all the same."""
        payloads = proposal.decision.payloads
        if payloads and isinstance(payloads[0], Undone):
            return Verdict(self.name, "allow", "What is taken back can be brought back.")
        return None
