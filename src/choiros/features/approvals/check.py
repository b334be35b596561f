"""Who may answer: a person, never an agent or the system itself."""

from __future__ import annotations

from choiros.features.approvals.events import ApprovalDecided
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict


class OnlyPeopleDecide:
    """Allows answers of the person and blocks those of anybody else."""

    name = "approvals.person"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return a verdict on answers to requests."""
        if not any(isinstance(payload, ApprovalDecided) for payload in proposal.decision.payloads):
            return None
        if proposal.context.source != "user":
            return Verdict(self.name, "block", "Only a person can answer a request.")
        return Verdict(self.name, "allow", "The person has answered.")
