"""Who may report backups and imports."""

from __future__ import annotations

from choiros.features.backups.events import EVENTS
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict

_kinds = tuple(kind.payload for kind in EVENTS)


class BackupsReported:
    """Lets a person and ChoirOS itself make and report backups, and no agent."""

    name = "backups.reported"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return a verdict on reports about backups."""
        reports = [isinstance(payload, _kinds) for payload in proposal.decision.payloads]
        if not any(reports):
            return None
        if proposal.context.source == "agent":
            return Verdict(self.name, "block", "Backups are a matter of the person.")
        return Verdict(self.name, "allow", "A backup changes nothing that it copies.")
