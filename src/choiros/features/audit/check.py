"""Who may report a snapshot."""

from __future__ import annotations

from choiros.features.audit.events import SnapshotKept
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict


class SystemReports:
    """Lets ChoirOS alone report snapshots."""

    name = "audit.system"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return a verdict on reports of snapshots."""
        if not any(isinstance(payload, SnapshotKept) for payload in proposal.decision.payloads):
            return None
        if proposal.context.source != "system":
            return Verdict(self.name, "block", "Snapshots are reported by ChoirOS alone.")
        return Verdict(self.name, "allow", "ChoirOS reports a snapshot.")
