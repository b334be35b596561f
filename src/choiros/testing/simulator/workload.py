"""What people and agents do at a simulated computer, by chance, one after the other and at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.features.approvals.commands import DecideApproval
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.features.files.commands import Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.undo.commands import Redo, Undo
from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
)
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked, Done
from choiros.kernel.errors import ChoirError
from choiros.kernel.tree import Entry
from choiros.testing.simulator.hand import PATHS, text
from choiros.wiring import unnamed

if TYPE_CHECKING:
    from msgspec import Struct

    from choiros.testing.simulator.chance import Chance
    from choiros.wiring import Computer

PLACE = "/elsewhere"


class Worker:
    """One of those who work at the computer, a person or an agent in a run."""

    def __init__(self, computer: Computer, chance: Chance, *, number: int) -> None:
        self.computer = computer
        self._chance = chance
        self._number = number
        self._run = f"r{number}" if chance.one_in(2) else None
        self.undone: list[tuple[str, int, int, int]] = []
        """Undos back to a number: the workspace, the number, and the first and last event of the undo."""
        self.done: list[str] = []

    async def act(self) -> None:
        """Do one thing; being refused is an answer too."""
        try:
            name = await self._act()
        except ChoirError as refusal:
            self.done.append(refusal.code)
        else:
            self.done.append(name)

    async def _act(self) -> str:
        workspace, kind = self._workspace(), self._chance.below(100)
        if kind < 60:
            return await self._change_files(workspace, kind)
        if kind < 80:
            return await self._take_back(workspace)
        if kind < 86:
            await self._do(MakeCheckpoint(workspace, "a point"))
            return "checkpoint"
        if kind < 90:
            return await self._push(workspace)
        if kind < 95:
            await self.computer.merger.capture(workspace)
            return "capture"
        await self._do(self._about_workspaces())
        return "workspace"

    def _workspace(self) -> str:
        others = [one.id for one in self.computer.workspaces.all() if one.state == "open"]
        return self._chance.choice(others) if others and self._chance.one_in(4) else "main"

    async def _do(self, command: Struct) -> Done | Asked:
        source = "user" if self._run is None else "agent"
        context = Context(self.computer.settings.user, source=source, run=self._run)
        return await self.computer.kernel.handle(command, context)

    async def _change_files(self, workspace: str, kind: int) -> str:
        path = self._chance.choice(PATHS)
        if self._chance.one_in(2):
            await self.computer.merger.capture(workspace, [path])
        if kind < 35:
            await self._do(ChangeFiles(workspace, await self._changes(path)))
            return "write"
        if kind < 45:
            line = self._chance.below(9)
            await self._do(EditFile(workspace, path, f"line {line}\n", f"edited {self._chance.below(99)}\n"))
            return "edit"
        if kind < 53:
            await self._do(MoveFile(workspace, path, self._chance.choice(PATHS)))
            return "move"
        await self._do(RemoveFile(workspace, path, recursive=self._chance.one_in(2)))
        return "remove"

    async def _changes(self, path: str) -> tuple[Change, ...]:
        match self._chance.below(8):
            case 0:
                return (Change(path, Entry("dir", 0o755)),)
            case 1:
                return (Change(path, Entry("link", 0o777, target="a")),)
            case 2:
                paths = [one for one in PATHS if "/" in one and self._chance.one_in(2)]
            case _:
                paths = [path]
        changes: list[Change] = []
        for one in paths or [path]:
            content = text(self._chance, self._chance.below(1_000_000))
            digest = await self.computer.parts.blobs.put(content)
            changes.append(Change(one, Entry("file", 0o644, len(content), digest)))
        return tuple(changes)

    async def _take_back(self, workspace: str) -> str:
        head = (await self.computer.journal.head()).seq
        match self._chance.below(6):
            case 0 | 1:
                await self._do(Undo(workspace))
                return "undo"
            case 2:
                await self._do(Undo(workspace, run=f"r{self._chance.below(3)}"))
                return "undo run"
            case 3:
                await self._do(Undo(workspace, seq=self._chance.between(1, max(head, 1))))
                return "undo event"
            case 4:
                await self._back_to(workspace, self._chance.between(max(0, head - 20), head))
                return "undo since"
            case _:
                await self._do(Redo(workspace))
                return "redo"

    async def _back_to(self, workspace: str, seq: int) -> None:
        outcome = await self._do(Undo(workspace, since=seq))
        if isinstance(outcome, Done) and outcome.events:
            self.undone.append((workspace, seq, outcome.events[0].seq, outcome.events[-1].seq))

    async def _push(self, workspace: str) -> str:
        outcome = await self._do(PushCheckpoint(workspace, PLACE))
        if not isinstance(outcome, Asked):
            return "push"
        found = self.computer.approvals.get(outcome.request)
        if found is None or self._chance.one_in(4):
            return "push asked"
        person = Context(self.computer.settings.user)
        await self.computer.kernel.handle(DecideApproval(outcome.request, found.digest, "allow"), person)
        events = await self.computer.journal.fetch([found.seq])
        if events:
            await self.computer.kernel.recorded(events[0], outcome.request)
        return "push allowed"

    def _about_workspaces(self) -> Struct:
        name = f"w{self._chance.below(2)}"
        return self._chance.choice(
            [
                CreateWorkspace(name),
                UseWorkspace(name),
                UseWorkspace("main"),
                RenameWorkspace(name, f"w{self._chance.below(2)}"),
                ArchiveWorkspace(name),
                OpenWorkspace(name),
                RemoveWorkspace(name),
            ]
        )


async def collect(computer: Computer) -> int:
    """Remove stored contents that no event names; nobody else may be at work."""
    digests = await unnamed(computer)
    for digest in digests:
        await computer.parts.blobs.delete(digest)
    return len(digests)
