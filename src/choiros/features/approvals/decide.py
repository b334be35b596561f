"""The rule for answers: only an open request can be answered, and only what was shown. Pure."""

from __future__ import annotations

from choiros.features.approvals.commands import DecideApproval
from choiros.features.approvals.events import ApprovalDecided
from choiros.features.approvals.view import Approval, ApprovalsView
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command
from choiros.kernel.errors import Conflict, Rejected


class ApprovalsLoader:
    """Loads the request that an answer is about."""

    def __init__(self, view: ApprovalsView) -> None:
        self._view = view

    async def load(self, command: DecideApproval, context: Context) -> Approval | None:
        """Return the request, None when there is none with this id."""
        del context
        return self._view.get(command.request)


def decide(command: DecideApproval, approval: Approval | None) -> Decision:
    """Record the answer."""
    if approval is None:
        raise Rejected(
            "approval.unknown",
            f"There is no request '{command.request}'.",
            fix="'choir approvals' lists the open ones.",
            request=command.request,
        )
    if approval.state != "pending":
        raise Conflict(
            "approval.answered",
            f"The request was answered before: {approval.state}.",
            fix="The first answer holds; ask again for what you want.",
            request=command.request,
        )
    if approval.digest != command.digest:
        raise Conflict(
            "approval.other_content",
            "What was shown is not what would be carried out.",
            fix="Look at the request again, then answer.",
            request=command.request,
        )
    return Decision((Fact(ApprovalDecided(command.request, command.answer, command.note)),))


def command_types(loader: ApprovalsLoader) -> Commands:
    """Return this room's commands; a refused answer is recorded, whoever gave it."""
    kind = CommandType(
        "approvals.decide", DecideApproval, load=loader.load, decide=decide, effect="pure", audited=True
    )
    return [any_command(kind)]
