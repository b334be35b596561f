"""What all parts of the direct client share: the open computer and the way of a wish."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from choiros.cli.client import (
    ApprovalLine,
    Asked,
    Changed,
)
from choiros.cli.direct.answers import Answers
from choiros.features.checkpoints.events import CheckpointMade, PushRequested
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked as Question
from choiros.kernel.dispatch import Done
from choiros.kernel.gate import ApprovalRequested
from choiros.kernel.path import parents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from choiros.features.approvals.view import Approval
    from choiros.features.workspaces.view import Workspace
    from choiros.kernel.event import Event, Source
    from choiros.kernel.tree import Entry
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
        since = await self._since(outcome.facts)
        conflicts = [
            event.payload.path
            for event in [*outcome.facts, *since]
            if isinstance(event.payload, FileWritten) and event.payload.conflict_of is not None
        ]
        warnings = [f"{trouble.message} {trouble.fix}" for trouble in outcome.troubles]
        warnings += [reason for event in outcome.facts if (reason := self._failure(event)) is not None]
        warnings += self._unlike(outcome.facts) if since else []
        return Changed([line.seq for line in lines], lines, conflicts, warnings)

    async def _since(self, facts: Sequence[Event]) -> list[Event]:
        """Return what was recorded behind these facts, while the folder was brought to what they say."""
        if not facts:
            return []
        behind = self._computer.journal.events(facts[-1].point)
        return [event async for events in behind for event in events]

    def _unlike(self, facts: Sequence[Event]) -> list[str]:
        """Return a sentence for each path that did not become what these facts say, the outermost first."""
        wished: defaultdict[str, dict[str, Entry | None]] = defaultdict(dict)
        for event in facts:
            match event.payload:
                case FileWritten(workspace, path, entry):
                    wished[workspace][path] = entry
                case FileDeleted(workspace, path):
                    wished[workspace][path] = None
                case FileMoved(workspace, path, to, entry):
                    wished[workspace] |= {path: None, to: entry}
                case _:
                    pass
        found: list[str] = []
        for workspace, entries in wished.items():
            now = self._computer.files.entries(workspace, entries)
            other = {path for path, entry in entries.items() if now[path] != entry}
            outermost = sorted(path for path in other if other.isdisjoint(parents(path)))
            found += [_stayed(path, entries[path], now=now[path]) for path in outermost]
        return found

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


def _stayed(path: str, wished: Entry | None, *, now: Entry | None) -> str:
    if wished is None and now is not None and now.kind == "dir":
        return f"The directory {path} stays, because it holds what is not kept."
    return f"{path} is not as wished: what stood in the folder there was recorded as well."


def approval_line(one: Approval, event: Event) -> ApprovalLine:
    """Return a request as a list shows it."""
    facts = list(event.payload.facts) if isinstance(event.payload, ApprovalRequested) else []
    return ApprovalLine(one.request, one.seq, one.command, one.digest, one.reasons, one.state, facts)
