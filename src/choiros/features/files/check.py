"""What the files room says at the gate: protected names never, other changes of workspaces are quiet."""

from __future__ import annotations

from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.kernel.command import Proposal
from choiros.kernel.gate import Verdict
from choiros.kernel.path import is_protected


class ProtectedNames:
    """Blocks every change of ChoirOS's own data and of version control, by whatever command."""

    name = "files.protected"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return a block when a fact touches a protected name."""
        for payload in proposal.decision.payloads:
            for path in _paths(payload):
                if is_protected(path):
                    return Verdict(self.name, "block", f"'{path}' is protected and can be changed by nobody.")
        return None


class WorkspaceChanges:
    """Allows changes of files inside a workspace, because every one of them can be undone."""

    name = "files.workspace"

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return an allowance when every fact is a change of a file."""
        payloads = proposal.decision.payloads
        if all(isinstance(payload, FileWritten | FileDeleted | FileMoved) for payload in payloads):
            return Verdict(self.name, "allow", "Changes of files in a workspace can be undone.")
        return None


def _paths(payload: object) -> tuple[str, ...]:
    match payload:
        case FileMoved(_, path, to):
            return (path, to)
        case FileWritten(_, path) | FileDeleted(_, path):
            return (path,)
        case _:
            return ()
