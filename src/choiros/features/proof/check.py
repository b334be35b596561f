"""Who may sign, change the key, report for a witness, or make this computer a witness."""

from __future__ import annotations

from choiros.features.proof.events import KeyChanged, LogSeen, LogSigned, LogTrusted, WitnessAnswered
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict

BY_SYSTEM = (LogSigned, WitnessAnswered)
BY_PERSON = (LogTrusted, LogSeen)


class ProofsAreKept:
    """ChoirOS signs and reports; the key, and whom this computer watches, is a matter for the person."""

    name = "proof.kept"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return a verdict on what concerns proofs."""
        payloads = proposal.decision.payloads
        if not any(isinstance(one, (KeyChanged, *BY_SYSTEM, *BY_PERSON)) for one in payloads):
            return None
        source = proposal.context.source
        if any(isinstance(one, BY_SYSTEM) for one in payloads):
            if source != "system":
                return Verdict(
                    self.name, "block", "Only ChoirOS itself signs the log and reports for witnesses."
                )
            return Verdict(self.name, "allow", "ChoirOS keeps the proofs of its log.")
        if source == "agent":
            return Verdict(self.name, "block", "Keys and witnesses are a matter for people.")
        return Verdict(self.name, "allow", "The person arranges keys and witnesses.")
