"""What all parts of the direct client share: the open computer and the way of a wish."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from choiros.cli.client import (
    ApprovalLine,
    Asked,
    Changed,
)
from choiros.cli.direct.answers import Answers
from choiros.features.checkpoints.events import CheckpointMade, PushRequested
from choiros.features.files.events import FileWritten
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked as Question
from choiros.kernel.dispatch import Done
from choiros.kernel.gate import ApprovalRequested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from choiros.features.approvals.view import Approval
    from choiros.features.workspaces.view import Workspace
    from choiros.kernel.event import Event, Source
    from choiros.settings import Resolved
    from choiros.wiring import Computer


def tell(text: str) -> None:
    """Say something to the person beside the answer."""
    print(text, file=sys.stderr)


class Opened:
    """A computer that is open, the workspace that is meant, and what every kind of verb needs."""

    def __init__(self, computer: Computer, resolved: Resolved, *, workspace: Workspace) -> None:
        self._computer = computer
        self._resolved = resolved
        self._workspace = workspace
        self._id = workspace.id
        self._answers = Answers(computer, workspace.id)

    async def _check_seq(self, seq: int) -> None:
        head = await self._computer.journal.head()
        if not 0 <= seq <= head.seq:
            await self._answers.event(seq)

    async def _capture(self, paths: Sequence[str] | None = None) -> dict[str, str]:
        """Record outside edits first, so that nothing is decided from an old state; return what cannot be kept."""
        if not self._computer.holds_lock or self._computer.fault is not None:
            return {}
        captured = await self._computer.merger.capture(self._id, paths)
        return dict(captured.unkept)

    def _own(self, source: Source) -> Context:
        """Return the context of what ChoirOS does by itself."""
        return Context(self._computer.settings.user, source=source)

    async def _handle(self, command: Struct, *, run: str | None = None) -> Changed | Asked:
        return await self._changed(
            await self._computer.kernel.handle(command, self._computer.context(run=run))
        )

    async def _changed(self, outcome: Done | Question) -> Changed | Asked:
        if isinstance(outcome, Question):
            found = self._computer.approvals.get(outcome.request)
            assert found is not None
            event = await self._answers.event(found.seq)
            line = approval_line(found, event)
            return Asked(line.request, line.digest, line.reasons, line.facts)
        lines = [self._answers.line(event) for event in outcome.facts]
        conflicts = [
            event.payload.path
            for event in outcome.facts
            if isinstance(event.payload, FileWritten) and event.payload.conflict_of is not None
        ]
        warnings = [f"{trouble.message} {trouble.fix}" for trouble in outcome.troubles]
        warnings += [reason for event in outcome.facts if (reason := self._failure(event)) is not None]
        return Changed([line.seq for line in lines], lines, conflicts, warnings)

    def _failure(self, event: Event) -> str | None:
        """Return why what an event announced did not come about."""
        match event.payload:
            case PushRequested():
                return self._computer.checkpoints.push_error(event.seq)
            case CheckpointMade():
                found = self._computer.checkpoints.get(event.seq)
                return found.error if found else None
            case _:
                return None


def approval_line(one: Approval, event: Event) -> ApprovalLine:
    """Return a request as a list shows it."""
    facts = list(event.payload.facts) if isinstance(event.payload, ApprovalRequested) else []
    return ApprovalLine(one.request, one.seq, one.command, one.digest, one.reasons, one.state, facts)
