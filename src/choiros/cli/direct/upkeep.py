"""The verbs for workspaces, approvals, repair and watching."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from choiros.cli.client import (
    ApprovalLine,
    Asked,
    Changed,
    Collected,
    RebuiltState,
    WorkspaceLine,
)
from choiros.cli.direct.answers import Answers
from choiros.cli.direct.carrying import back_up_when_due
from choiros.cli.direct.opened import Opened, approval_line, tell
from choiros.cli.errors import explained
from choiros.features.approvals.commands import DecideApproval
from choiros.features.files.load import IGNORE_FILE
from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
    WorkspaceCommand,
)
from choiros.kernel.errors import ChoirError, Conflict, Rejected, Unavailable
from choiros.kernel.path import is_protected
from choiros.wiring import disk_parts, open_computer, rebuild, unnamed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

TICK_S = 30
"""How long nothing may happen before it is asked whether a checkpoint is due."""

RETRY_S = 1
"""How long to wait before trying again what could not be recorded."""


class Upkeep(Opened):
    """Arranges workspaces, answers requests, repairs and watches."""

    async def workspaces(self) -> list[WorkspaceLine]:
        """Return every workspace."""
        current = self._computer.workspaces.current()
        return [
            WorkspaceLine(
                id=one.id,
                name=one.name,
                folder=str(self._computer.place(one)),
                state=one.state,
                current=current is not None and one.id == current.id,
                files=self._computer.files.count(one.id),
            )
            for one in self._computer.workspaces.all()
        ]

    async def change_workspace(
        self,
        act: Literal["new", "add", "use", "rename", "archive", "open", "rm"],
        name: str,
        *,
        argument: str | None,
    ) -> Changed | Asked:
        """Arrange workspaces."""
        if act in {"archive", "rm"}:
            found = self._computer.workspaces.named(name)
            if found is not None:
                await self._computer.merger.capture(found.id)
        if act == "add":
            argument = _own_folder(argument or "", self._resolved.home)
        changed = await self._handle(_workspace_command(act, name, argument=argument))
        if act in {"add", "open"}:
            found = self._computer.workspaces.named(name)
            if found is not None:
                await self._computer.merger.capture(found.id, adopt=act == "add")
        return changed

    async def approvals(self) -> list[ApprovalLine]:
        """Return the open requests."""
        pending = self._computer.approvals.pending()
        events = {
            one.head.id: one for one in await self._computer.journal.fetch([one.seq for one in pending])
        }
        return [approval_line(one, events[one.request]) for one in pending]

    async def decide(
        self, request: str, digest: str, *, answer: Literal["allow", "deny"], note: str
    ) -> Changed | Asked:
        """Answer a request; when it is allowed, what it asked for is carried out now."""
        decided = await self._handle(DecideApproval(request, digest, answer, note))
        if answer == "deny":
            return decided
        found = self._computer.approvals.get(request)
        assert found is not None
        event = await self._answers.event(found.seq)
        return await self._changed(await self._computer.kernel.recorded(event, request))

    async def rebuild(self, *, full: bool) -> RebuiltState:
        """Make everything that is derived again, the files in the folders included."""
        old = self._computer
        parts = disk_parts(self._resolved)
        rebuilt = await rebuild(old.parts, old.settings, full=full)
        await old.close()
        self._computer = await open_computer(parts, old.settings, write=True, notice=tell)
        self._answers = Answers(self._computer, self._id)
        restored, unkept = 0, dict[str, str]()
        for one in self._computer.workspaces.all():
            if one.state == "open":
                captured = await self._computer.merger.capture(one.id)
                restored += captured.restored
                unkept.update(captured.unkept)
        return RebuiltState(
            rebuilt.seq, rebuilt.snapshot, rebuilt.digests, list(rebuilt.differed), restored, unkept
        )

    async def collect(self, *, preview: bool) -> Collected:
        """Remove stored contents that no event names."""
        blobs, garbage = self._computer.parts.blobs, await unnamed(self._computer)
        size = 0
        for digest in garbage:
            size += await blobs.size(digest) or 0
            if not preview:
                await blobs.delete(digest)
        return Collected(len(garbage), size, preview)

    async def watch(self) -> AsyncGenerator[Changed]:
        """Record outside edits as they happen; others may work in between."""
        self._computer.release()
        while True:
            # The rules about what is left out hold for one watch: when they change, a new one begins.
            async for changed in self._watch_once():
                yield changed

    async def _watch_once(self) -> AsyncGenerator[Changed]:
        """Watch until the ignore rules change."""
        computer = self._computer
        ignore = await computer.files_loader.ignore(self._id)
        watcher = computer.parts.watcher(self._id, self._workspace.folder, ignore.matches)
        changes = watcher.changes()
        hint = asyncio.ensure_future(anext(changes))
        waiting: set[str] = set()
        ended = False
        try:
            while not ended:
                await asyncio.wait({hint}, timeout=RETRY_S if waiting else TICK_S)
                if hint.done():
                    waiting |= hint.result()
                    hint = asyncio.ensure_future(anext(changes))
                ended = IGNORE_FILE in waiting
                changed = await self._record_hints(waiting)
                if changed.lines or changed.warnings:
                    yield changed
        finally:
            hint.cancel()
            await watcher.close()

    async def _record_hints(self, waiting: set[str]) -> Changed:
        """Record what is to be found at these paths; they are kept for later while others hold the data."""
        computer = self._computer
        try:
            await computer.hold()
        except Unavailable as held:
            if held.code != "lock.held":
                raise
            return Changed([], [], [], [f"{held.message} It is recorded as soon as that is over."])
        try:
            named = None if "" in waiting else [path for path in waiting if not is_protected(path)]
            captured = await computer.merger.capture(self._id, named)
            await computer.automatic.tick(self._id)
            await back_up_when_due(computer, self._resolved)
        except Conflict as unsettled:
            return Changed([], [], [], [f"{unsettled.message} {unsettled.fix}"])
        finally:
            computer.release()
        waiting.clear()
        lines = [self._answers.line(event) for event in captured.events]
        warnings = [f"{path} is not kept: {reason}" for path, reason in captured.unkept.items()]
        return Changed([line.seq for line in lines], lines, [], warnings)

    async def close(self) -> None:
        """Let go of everything."""
        try:
            if self._computer.holds_lock and self._computer.fault is None:
                await self._sign()
                await self._keep_snapshot()
                await back_up_when_due(self._computer, self._resolved)
        finally:
            await self._computer.close()

    async def _sign(self) -> None:
        """Sign the log when it is time; what was asked for is done, whatever becomes of the signature."""
        try:
            await self._computer.sign_when_due()
        except ChoirError as trouble:
            tell(f"The log was not signed: {trouble.message} {trouble.fix}")

    async def _keep_snapshot(self) -> None:
        """Keep a snapshot when one is due; without it a rebuild takes longer, and what was done is done."""
        try:
            await self._computer.keep_snapshot()
        except (ChoirError, OSError) as error:
            trouble = explained(error)
            tell(f"No snapshot of the state was kept: {trouble.message} {trouble.fix}")


def _own_folder(folder: str, home: Path) -> str:
    """Return the real place of a folder that shall become a workspace, when it may."""
    place = Path(folder).resolve()
    if not place.is_dir():
        raise Rejected(
            "workspaces.no_folder",
            f"'{folder}' is not a folder.",
            fix="Name a folder that exists, or make it first.",
            folder=folder,
        )
    data = home.resolve()
    if place in [data, *data.parents] or data in place.parents:
        raise Rejected(
            "workspaces.overlap",
            f"'{folder}' and ChoirOS's own data directory lie inside each other.",
            fix="Choose a folder that shares nothing with the data directory.",
            folder=folder,
        )
    return str(place)


def _workspace_command(act: str, name: str, *, argument: str | None) -> WorkspaceCommand:
    match act:
        case "new":
            return CreateWorkspace(name)
        case "add":
            return CreateWorkspace(name, argument)
        case "use":
            return UseWorkspace(name)
        case "rename":
            return RenameWorkspace(name, argument or "")
        case "archive":
            return ArchiveWorkspace(name)
        case "open":
            return OpenWorkspace(name)
        case _:
            return RemoveWorkspace(name)
