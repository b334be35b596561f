"""The client that opens the data directory itself, under the lock; for as long as there is no server."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from choiros.cli.answers import Answers
from choiros.cli.client import (
    ApprovalLine,
    Asked,
    Changed,
    CheckpointLine,
    Collected,
    EventDetail,
    EventLine,
    FileLine,
    FileList,
    GitState,
    LogQuery,
    RebuiltState,
    RestorePreview,
    Status,
    UndoPreview,
    Why,
    WorkspaceLine,
)
from choiros.features.approvals.commands import DecideApproval
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.features.checkpoints.react import kept_in_commits
from choiros.features.files.changeset import not_directory, not_empty
from choiros.features.files.commands import Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.files.decide import not_a_file, not_found
from choiros.features.files.events import FileWritten
from choiros.features.undo.commands import Redo, Undo
from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
    WorkspaceCommand,
)
from choiros.features.workspaces.view import Workspace, unknown
from choiros.kernel.dispatch import Asked as Question
from choiros.kernel.dispatch import Done
from choiros.kernel.errors import Rejected
from choiros.kernel.gate import ApprovalRequested
from choiros.kernel.path import check_path, is_below, is_protected
from choiros.kernel.tree import Entry
from choiros.wiring import Computer, disk_parts, open_computer, rebuild

if TYPE_CHECKING:
    from msgspec import Struct

    from choiros.cli.client import Difference
    from choiros.features.approvals.view import Approval
    from choiros.features.checkpoints.view import Checkpoint
    from choiros.kernel.event import Event
    from choiros.settings import Resolved


async def connect(resolved: Resolved, *, workspace: str | None, write: bool) -> DirectClient:
    """Open a person's computer; `workspace` is the name of the one that is meant, None for the current one.

    Raises Rejected (`workspaces.unknown`), Unavailable (`lock.held`) and Corrupt.
    """
    computer = await open_computer(disk_parts(resolved), resolved.settings, write=write, notice=_notice)
    try:
        return DirectClient(computer, resolved, _chosen(computer, workspace))
    except BaseException:
        await computer.close()
        raise


def _notice(text: str) -> None:
    print(text, file=sys.stderr)


def _chosen(computer: Computer, name: str | None) -> Workspace:
    found = computer.workspaces.current() if name is None else computer.workspaces.named(name)
    if found is None:
        raise unknown(name or "main")
    return found


_digest = re.compile(r"\b[0-9a-f]{64}\b")
TICK_S = 30


class DirectClient:
    """Answers every question of the command line from the data directory."""

    def __init__(self, computer: Computer, resolved: Resolved, workspace: Workspace) -> None:
        self._computer = computer
        self._resolved = resolved
        self._workspace = workspace
        self._id = workspace.id
        self._answers = Answers(computer, workspace.id)

    async def status(self) -> Status:
        """Return the computer at a glance."""
        computer = self._computer
        head = await computer.journal.head()
        return Status(
            user=computer.settings.user,
            home=str(self._resolved.home),
            workspace=self._workspace.name,
            folder=str(computer.place(self._workspace)),
            events=head.seq,
            head=head.hash.hex(),
            pending_approvals=len(computer.approvals.pending()),
            state="ready" if computer.projectors.position() == head else "behind",
        )

    async def log(self, query: LogQuery) -> list[EventLine]:
        """Return matching events, the oldest first."""
        return await self._answers.log(query)

    def follow(self, query: LogQuery) -> AsyncIterator[EventLine]:
        """Return matching events behind `query.after`, then new ones, for ever."""
        self._computer.release()
        return self._answers.follow(query)

    async def show(self, seq: int) -> EventDetail:
        """Return one event in detail."""
        return await self._answers.show(seq)

    async def why(self, path: str) -> Why:
        """Return who wrote each line of a file."""
        return await self._answers.why(path)

    async def files(self, directory: str, at: int | None) -> FileList:
        """Return what stands below a directory now, or right after an event."""
        if at is not None:
            await self._check_seq(at)
            entries = self._computer.files.below_at(self._id, directory, at)
            return FileList(
                self._workspace.name, at, [_file(path, one, at) for path, one in entries.items()], {}
            )
        captured = await self._capture()
        seqs = self._computer.files.seqs(self._id, directory)
        entries = self._computer.files.below(self._id, directory)
        head = await self._computer.journal.head()
        found = [_file(path, entry, seqs[path]) for path, entry in entries.items()]
        return FileList(self._workspace.name, head.seq, found, captured)

    async def cat(self, path: str, at: int | None) -> AsyncIterator[bytes]:
        """Return the content of a file now, or right after an event."""
        if at is None:
            await self._capture([path])
            entry = self._computer.files.entry(self._id, path)
        else:
            await self._check_seq(at)
            version = self._computer.files.at(self._id, path, at)
            entry = version.entry if version else None
        if entry is None:
            raise not_found(path)
        if entry.kind == "link":
            yield entry.target.encode()
        elif entry.kind == "dir":
            raise not_a_file(path, entry)
        else:
            async for chunk in self._computer.parts.blobs.read(entry.content):
                yield chunk

    async def diff(self, before: int | None, after: int | None, path: str | None) -> list[Difference]:
        """Return what differs between two events."""
        computer = self._computer
        for seq in (before, after):
            if seq is not None:
                await self._check_seq(seq)
        if after is None:
            await self._capture()
        last = computer.checkpoints.last(self._id)
        start = before if before is not None else last.seq if last else 0
        end = after if after is not None else (await computer.journal.head()).seq
        low, high = min(start, end), max(start, end)
        paths = [one for one in computer.files.paths_changed(self._id, low, high) if _within(one, path)]
        return await self._answers.differences(self._at(paths, start), self._at(paths, end))

    def _at(self, paths: Sequence[str], seq: int) -> dict[str, Entry | None]:
        versions = {path: self._computer.files.at(self._id, path, seq) for path in paths}
        return {path: version.entry if version else None for path, version in versions.items()}

    async def write(
        self, path: str, chunks: AsyncIterator[bytes], *, mode: int | None, run: str | None, base: int | None
    ) -> Changed | Asked:
        """Write a whole file in constant memory."""
        check_path(path)
        await self._capture([path])
        blobs = self._computer.parts.blobs
        digest = await blobs.put(chunks)
        size = await blobs.size(digest) or 0
        current = self._computer.files.entry(self._id, path)
        kept = current.mode if current is not None and current.kind == "file" else 0o644
        entry = Entry("file", kept if mode is None else mode, size, digest)
        if base is None:
            change = Change(path, entry)
        else:
            await self._check_seq(base)
            version = self._computer.files.at(self._id, path, base)
            change = Change(path, entry, version.entry if version else None)
        return await self._handle(ChangeFiles(self._id, (change,)), run=run)

    async def make_directory(self, path: str, run: str | None) -> Changed | Asked:
        """Make a directory and those above it."""
        await self._capture([path])
        current = self._computer.files.entry(self._id, path)
        if current is not None and current.kind != "dir":
            raise not_directory(path, path)
        entry = current or Entry("dir", 0o755)
        return await self._handle(ChangeFiles(self._id, (Change(path, entry),)), run=run)

    async def make_link(self, path: str, target: str, run: str | None) -> Changed | Asked:
        """Make a symbolic link."""
        await self._capture([path])
        return await self._handle(
            ChangeFiles(self._id, (Change(path, Entry("link", 0o777, target=target)),)), run=run
        )

    async def edit(
        self, path: str, old: str, new: str, *, everywhere: bool, run: str | None
    ) -> Changed | Asked:
        """Replace text in a file."""
        await self._capture([path])
        return await self._handle(EditFile(self._id, path, old, new, everywhere), run=run)

    async def move(self, path: str, to: str, run: str | None) -> Changed | Asked:
        """Give a file or directory another path."""
        await self._capture([path, to])
        target = self._computer.files.entry(self._id, to)
        if target is not None and target.kind == "dir":
            to = f"{to}/{path.rpartition('/')[2]}"
            await self._capture([to])
        return await self._handle(MoveFile(self._id, path, to), run=run)

    async def remove(self, paths: Sequence[str], *, recursive: bool, run: str | None) -> Changed | Asked:
        """Remove files, or directories with what they hold, all or none."""
        await self._capture(paths)
        if len(paths) == 1:
            changed = await self._handle(RemoveFile(self._id, paths[0], recursive), run=run)
        else:
            wish = ChangeFiles(self._id, self._removals(paths, recursive=recursive))
            changed = await self._handle(wish, run=run)
        left = [
            path for path, entry in self._computer.files.entries(self._id, paths).items() if entry is not None
        ]
        if left and isinstance(changed, Changed):
            words = [f"The directory {path} stays, because it holds what is not kept." for path in left]
            return replace(changed, warnings=[*changed.warnings, *words])
        return changed

    def _removals(self, paths: Sequence[str], *, recursive: bool) -> tuple[Change, ...]:
        gone: dict[str, Change] = {}
        for path in paths:
            entry = self._computer.files.entry(self._id, check_path(path))
            if entry is None:
                raise not_found(path)
            below = self._computer.files.below(self._id, path) if entry.kind == "dir" else {}
            if below and not recursive:
                raise not_empty(path)
            gone.update({one: Change(one, None) for one in [*below, path]})
        return tuple(gone.values())

    async def set_mode(self, path: str, mode: int, run: str | None) -> Changed | Asked:
        """Set the permission bits of a file or directory."""
        await self._capture([path])
        entry = self._computer.files.entry(self._id, check_path(path))
        if entry is None:
            raise not_found(path)
        if entry.kind == "link":
            raise not_a_file(path, entry)
        change = Change(path, replace(entry, mode=mode), entry)
        return await self._handle(ChangeFiles(self._id, (change,)), run=run)

    async def preview_undo(
        self, *, run: str | None, seq: int | None, since: int | None, leave: Sequence[str]
    ) -> UndoPreview:
        """Return what an undo would do."""
        await self._capture()
        command = Undo(self._id, run, seq, since, tuple(leave))
        return await self._answers.preview(
            await self._computer.planner.undo(command, self._computer.context())
        )

    async def undo(
        self, *, run: str | None, seq: int | None, since: int | None, leave: Sequence[str]
    ) -> Changed | Asked:
        """Take something back."""
        await self._capture()
        return await self._handle(Undo(self._id, run, seq, since, tuple(leave)))

    async def preview_redo(self, leave: Sequence[str]) -> UndoPreview:
        """Return what a redo would do."""
        await self._capture()
        plan = await self._computer.planner.redo(Redo(self._id, tuple(leave)), self._computer.context())
        return await self._answers.preview(plan)

    async def redo(self, leave: Sequence[str]) -> Changed | Asked:
        """Bring back what the newest undo took."""
        await self._capture()
        return await self._handle(Redo(self._id, tuple(leave)))

    async def checkpoint(self, message: str) -> Changed | Asked:
        """Name the present state and commit it."""
        await self._capture()
        return await self._handle(MakeCheckpoint(self._id, message))

    async def checkpoints(self, limit: int) -> list[CheckpointLine]:
        """Return the newest checkpoints."""
        return [_checkpoint(one) for one in self._computer.checkpoints.all(self._id, limit)]

    async def git_state(self) -> GitState:
        """Return what has changed since the newest checkpoint."""
        changes = await self.diff(None, None, None)
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
        await self._computer.repository(self._id).backup(
            f"before-{(await self._computer.journal.head()).seq}"
        )
        await self._handle(MakeCheckpoint(self._id, f"Before restoring {name[:10]}", automatic=True))
        return await self._handle(command)

    async def _restoring(self, commit: str) -> tuple[str, ChangeFiles]:
        """Return the name of the point and the changes that lead to it."""
        found = self._computer.checkpoints.get(int(commit)) if commit.isdecimal() else None
        now = self._computer.files.below(self._id)
        if found is not None and found.workspace == self._id:
            wanted: dict[str, Entry] = self._computer.files.below_at(self._id, "", found.seq)
            gone = [path for path in now if path not in wanted]
            name = found.commit or str(found.seq)
        else:
            repository = self._computer.repository(self._id)
            wanted = await repository.files(commit, self._computer.parts.blobs)
            kept = kept_in_commits(now, self._computer.left_out)
            gone = [path for path in kept if path not in wanted]
            name = commit
        changes = [Change(path, None) for path in gone]
        changes += [Change(path, entry) for path, entry in wanted.items() if now.get(path) != entry]
        return name, ChangeFiles(self._id, tuple(changes))

    async def push(self, url: str, branch: str) -> Changed | Asked:
        """Send the newest commit to another repository."""
        return await self._handle(PushCheckpoint(self._id, url, branch))

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
                files=len(self._computer.files.below(one.id)),
            )
            for one in self._computer.workspaces.all()
        ]

    async def change_workspace(
        self,
        act: Literal["new", "add", "use", "rename", "archive", "open", "rm"],
        name: str,
        argument: str | None,
    ) -> Changed | Asked:
        """Arrange workspaces."""
        if act in {"archive", "rm"}:
            found = self._computer.workspaces.named(name)
            if found is not None:
                await self._computer.merger.capture(found.id)
        if act == "add":
            argument = _own_folder(argument or "", self._resolved.home)
        changed = await self._handle(_workspace_command(act, name, argument))
        if act in {"add", "open"}:
            found = self._computer.workspaces.named(name)
            if found is not None:
                await self._computer.merger.capture(found.id)
        return changed

    async def approvals(self) -> list[ApprovalLine]:
        """Return the open requests."""
        pending = self._computer.approvals.pending()
        events = {
            one.head.id: one for one in await self._computer.journal.fetch([one.seq for one in pending])
        }
        return [_approval(one, events[one.request]) for one in pending]

    async def decide(
        self, request: str, digest: str, answer: Literal["allow", "deny"], note: str
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
        old.tables.close()
        rebuilt = await rebuild(old.parts, old.settings, full=full)
        await old.close()
        self._computer = await open_computer(parts, old.settings, write=True, notice=_notice)
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
        blobs = self._computer.parts.blobs
        named = set(self._computer.files.contents())
        # A request that is still open may come to name contents that no event of a file names yet.
        for waiting in self._computer.approvals.unfinished():
            named |= set(_digest.findall(waiting.recorded))
        count = size = 0
        for digest in [one async for one in blobs.digests() if one not in named]:
            count += 1
            size += await blobs.size(digest) or 0
            if not preview:
                await blobs.delete(digest)
        return Collected(count, size, preview)

    async def watch(self) -> AsyncIterator[Changed]:
        """Record outside edits as they happen; others may work in between."""
        computer = self._computer
        computer.release()
        watcher = computer.parts.watcher(self._id, self._workspace.folder)
        changes = watcher.changes()
        hint = asyncio.ensure_future(anext(changes))
        try:
            while True:
                await asyncio.wait({hint}, timeout=TICK_S)
                paths = await hint if hint.done() else frozenset[str]()
                if hint.done():
                    hint = asyncio.ensure_future(anext(changes))
                changed = await self._record_hints(paths)
                if changed.lines or changed.warnings:
                    yield changed
        except StopAsyncIteration:
            return
        finally:
            hint.cancel()
            await watcher.close()

    async def _record_hints(self, paths: frozenset[str]) -> Changed:
        computer = self._computer
        await computer.hold()
        try:
            named = None if "" in paths else [path for path in paths if not is_protected(path)]
            captured = await computer.merger.capture(self._id, named)
            await computer.automatic.tick(self._id)
        finally:
            computer.release()
        lines = [self._answers.line(event) for event in captured.events]
        warnings = [f"{path} is not kept: {reason}" for path, reason in captured.unkept.items()]
        return Changed([line.seq for line in lines], lines, [], warnings)

    async def close(self) -> None:
        """Let go of everything."""
        try:
            if self._computer.holds_lock:
                await self._computer.keep_snapshot()
        finally:
            await self._computer.close()

    async def _check_seq(self, seq: int) -> None:
        head = await self._computer.journal.head()
        if not 0 <= seq <= head.seq:
            await self._answers.event(seq)

    async def _capture(self, paths: Sequence[str] | None = None) -> dict[str, str]:
        """Record outside edits first, so that nothing is decided from an old state; return what cannot be kept."""
        if not self._computer.holds_lock:
            return {}
        captured = await self._computer.merger.capture(self._id, paths)
        return dict(captured.unkept)

    async def _handle(self, command: Struct, *, run: str | None = None) -> Changed | Asked:
        return await self._changed(
            await self._computer.kernel.handle(command, self._computer.context(run=run))
        )

    async def _changed(self, outcome: Done | Question) -> Changed | Asked:
        if isinstance(outcome, Question):
            found = self._computer.approvals.get(outcome.request)
            assert found is not None
            event = await self._answers.event(found.seq)
            line = _approval(found, event)
            return Asked(line.request, line.digest, line.reasons, line.facts)
        lines = [self._answers.line(event) for event in outcome.facts]
        conflicts = [
            event.payload.path
            for event in outcome.facts
            if isinstance(event.payload, FileWritten) and event.payload.conflict_of is not None
        ]
        warnings = [f"{trouble.message} {trouble.fix}" for trouble in outcome.troubles]
        return Changed([line.seq for line in lines], lines, conflicts, warnings)


def _file(path: str, entry: Entry, seq: int) -> FileLine:
    return FileLine(path, entry.kind, entry.mode, entry.size, entry.content, entry.target, seq)


def _checkpoint(one: Checkpoint) -> CheckpointLine:
    return CheckpointLine(one.seq, one.timestamp, one.message, one.automatic, one.commit, one.error)


def _approval(one: Approval, event: Event) -> ApprovalLine:
    facts = list(event.payload.facts) if isinstance(event.payload, ApprovalRequested) else []
    return ApprovalLine(one.request, one.seq, one.command, one.digest, one.reasons, one.state, facts)


def _within(path: str, wanted: str | None) -> bool:
    return wanted is None or path == wanted or is_below(path, wanted)


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


def _workspace_command(act: str, name: str, argument: str | None) -> WorkspaceCommand:
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
