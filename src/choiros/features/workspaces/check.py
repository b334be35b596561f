"""What the workspaces room says at the gate."""

from __future__ import annotations

from choiros.features.workspaces.events import EVENTS
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict

_kinds = tuple(kind.payload for kind in EVENTS)


class OwnWorkspaces:
    """Lets a person arrange workspaces; an agent has to ask."""

    name = "workspaces.own"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return an opinion on decisions that arrange workspaces, by whatever command."""
        arranging = [isinstance(payload, _kinds) for payload in proposal.decision.payloads]
        if any(arranging) and proposal.context.source == "agent":
            return Verdict(self.name, "ask", "Workspaces are arranged by the person.")
        if arranging and all(arranging):
            return Verdict(self.name, "allow", "Changes of workspaces can be undone.")
        return None
