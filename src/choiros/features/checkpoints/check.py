"""What the checkpoints room says at the gate: naming is quiet, leaving the machine asks."""

from __future__ import annotations

from choiros.features.checkpoints.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointMade,
    PushDone,
    PushRequested,
)
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict


class CheckpointsQuiet:
    """Allows naming a point; lets only ChoirOS itself report outcomes."""

    name = "checkpoints.quiet"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return an opinion on decisions about checkpoints."""
        payloads = proposal.decision.payloads
        if all(isinstance(payload, CheckpointMade) for payload in payloads):
            return Verdict(self.name, "allow", "A checkpoint only names what is there.")
        if not any(
            isinstance(payload, CheckpointCommitted | CheckpointFailed | PushDone) for payload in payloads
        ):
            return None
        if proposal.context.source != "system":
            return Verdict(self.name, "block", "Outcomes are reported by ChoirOS alone.")
        return Verdict(self.name, "allow", "ChoirOS reports an outcome.")


class LeavingAsks:
    """Asks before a commit leaves the machine."""

    name = "checkpoints.push"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return a question for every push."""
        for payload in proposal.decision.payloads:
            if isinstance(payload, PushRequested):
                reason = (
                    f"Commit {payload.commit[:10]} would be sent to {payload.url}; that cannot be undone."
                )
                return Verdict(self.name, "ask", reason)
        return None
