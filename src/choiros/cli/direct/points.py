"""The verbs for checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from choiros.cli.arguments import NUMBER_DIGITS_MAX
from choiros.cli.client import (
    Asked,
    Changed,
    CheckpointLine,
    GitState,
    RestorePreview,
)
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.features.checkpoints.react import kept_in_commits
from choiros.features.files.commands import Change, ChangeFiles
from choiros.kernel.errors import Rejected

if TYPE_CHECKING:
    from choiros.features.checkpoints.view import Checkpoint
    from choiros.kernel.tree import Entry


from choiros.cli.direct.reads import Reads

BACKUPS_MAX = 100
"""So many restores may be broken off at one event before one is refused."""


class Points(Reads):
    """Makes, compares, restores and sends checkpoints."""

    async def checkpoint(self, message: str) -> Changed | Asked:
        """Name the present state and commit it."""
        await self._capture()
        return await self._handle(MakeCheckpoint(self._id, message))

    async def checkpoints(self, limit: int) -> list[CheckpointLine]:
        """Return the newest checkpoints."""
        return [_checkpoint(one) for one in self._computer.checkpoints.all(self._id, limit)]

    async def git_state(self) -> GitState:
        """Return what has changed since the newest checkpoint."""
        changes = await self.diff(None, None, path=None)
        last = self._computer.checkpoints.last(self._id)
        head = await self._computer.repository(self._id).head()
        line = _checkpoint(last) if last else None
        unkept = await self._capture()
        return GitState(self._workspace.name, line, head.id if head else None, changes, unkept)

    async def preview_restore(self, commit: str) -> RestorePreview:
        """Return what restoring a checkpoint would change."""
        await self._capture()
        name, command = await self._restoring(commit)
        proposal = await self._computer.kernel.propose(command, self._computer.context())
        return RestorePreview(name, await self._answers.changes_of(proposal.decision.payloads))

    async def restore(self, commit: str) -> Changed | Asked:
        """Bring the files of a checkpoint back; the present state is kept as a checkpoint first."""
        await self._capture()
        name, command = await self._restoring(commit)
        await self._backup()
        message = f"Before restoring {name[:10]}"
        kept = await self._handle(MakeCheckpoint(self._id, message, automatic=True))
        restored = await self._handle(command)
        if isinstance(kept, Changed) and isinstance(restored, Changed):
            return replace(restored, warnings=[*kept.warnings, *restored.warnings])
        return restored

    async def _backup(self) -> None:
        """Keep head and index; a backup that a restore left when it was broken off is kept beside."""
        name = f"before-{(await self._computer.journal.head()).seq}"
        repository = self._computer.repository(self._id)
        for attempt in range(1, BACKUPS_MAX + 1):
            try:
                await repository.backup(name if attempt == 1 else f"{name}.{attempt}")
            except Rejected as taken:
                if taken.code != "repository.name_taken" or attempt == BACKUPS_MAX:
                    raise
            else:
                return

    async def _restoring(self, commit: str) -> tuple[str, ChangeFiles]:
        """Return the name of the point and the changes that lead to it."""
        is_seq = commit.isascii() and commit.isdecimal() and len(commit) <= NUMBER_DIGITS_MAX
        found = self._computer.checkpoints.get(int(commit)) if is_seq else None
        now = self._computer.files.below(self._id)
        if found is not None and found.workspace == self._id:
            wanted: dict[str, Entry] = self._computer.files.below_at(self._id, "", seq=found.seq)
            gone = [path for path in now if path not in wanted]
            name = found.commit or str(found.seq)
        else:
            repository = self._computer.repository(self._id)
            found_there = await repository.files(commit, self._computer.parts.blobs)
            wanted = {path: _as_it_stands(entry, now.get(path)) for path, entry in found_there.items()}
            rules = await self._computer.files_loader.ignore_in_commits(now)
            kept = kept_in_commits(now, rules.matches)
            gone = [path for path in kept if path not in wanted]
            name = commit
        changes = [Change(path, None) for path in gone]
        changes += [Change(path, entry) for path, entry in wanted.items() if now.get(path) != entry]
        return name, ChangeFiles(self._id, tuple(changes))

    async def push(self, url: str, branch: str) -> Changed | Asked:
        """Send the newest commit to another repository."""
        return await self._handle(PushCheckpoint(self._id, url, branch))


def _as_it_stands(entry: Entry, present: Entry | None) -> Entry:
    """Return the file of a commit with the permissions it has now: git knows only whether it can be executed."""
    if present is None or present.kind != entry.kind or (present.mode ^ entry.mode) & 0o100:
        return entry
    return replace(entry, mode=present.mode)


def _checkpoint(one: Checkpoint) -> CheckpointLine:
    return CheckpointLine(one.seq, one.timestamp, one.message, one.automatic, one.commit, one.error)
