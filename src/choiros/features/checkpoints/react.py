"""What checkpoints cause: commits, pushes, and the automatic checkpoint after enough changes or time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from choiros.features.checkpoints.commands import MakeCheckpoint, ReportCommit, ReportPush
from choiros.features.checkpoints.decide import Repositories, WorkspaceFiles
from choiros.features.checkpoints.events import CheckpointMade, PushRequested
from choiros.features.checkpoints.view import CheckpointsView
from choiros.kernel.blob import BlobStore
from choiros.kernel.clock import Clock
from choiros.kernel.errors import ChoirError, Rejected
from choiros.kernel.event import Event
from choiros.kernel.path import is_protected, parents
from choiros.kernel.repository import Commit, Repository
from choiros.kernel.tree import Entry

COMMITS_MAX = 10_000
"""So many commits are looked through for one that was made before a crash."""

AUTHOR = "ChoirOS <choir@localhost>"

OTHER_COMMIT = "There is a newer commit than the one that was looked through. Push again."

Handle = Callable[[Struct], Awaitable[object]]
LeaveOut = Callable[[str, bool], bool]
"""Says which paths never enter a commit: secrets, logs, databases, what can be made again."""


class CommitRules(Protocol):
    """What this room must know about ignore rules."""

    async def ignore_in_commits(self, files: Mapping[str, Entry]) -> Ignored:
        """Return the rules that hold for a commit of these files, their own ignore file included."""
        ...


class Ignored(Protocol):
    """Rules about what is left out."""

    def matches(self, path: str, is_directory: bool) -> bool:  # noqa: FBT001 - as the tree port calls it
        """Return whether the path is left out, itself or with a directory above it."""
        ...


class Committer:
    """Makes the commit of each checkpoint and sends what is to be pushed; a failure is recorded as one."""

    name = "checkpoints.committer"

    def __init__(
        self,
        files: WorkspaceFiles,
        repositories: Repositories,
        *,
        view: CheckpointsView,
        blobs: BlobStore,
        rules: CommitRules,
        handle: Handle,
    ) -> None:
        self._files = files
        self._repositories = repositories
        self._view = view
        self._blobs = blobs
        self._rules = rules
        self._handle = handle

    async def react(self, events: Sequence[Event]) -> None:
        """Carry out what these events announced, and report each outcome; what has one is not done again."""
        for event in events:
            match event.payload:
                case CheckpointMade() as made if not self._view.is_ended(event.seq):
                    await self._handle(await self._commit(event, made))
                case PushRequested() as push if not self._view.is_push_ended(event.seq):
                    await self._handle(await self._push(event, push))
                case _:
                    pass

    async def _commit(self, event: Event, made: CheckpointMade) -> ReportCommit:
        standing = self._files.below_at(made.workspace, "", seq=event.seq)
        kept = kept_in_commits(standing, (await self._rules.ignore_in_commits(standing)).matches)
        left_out = sum(entry.kind != "dir" for entry in standing.values()) - len(kept)
        repository = self._repositories(made.workspace)
        try:
            commit = await _made_before(repository, event.seq) or await repository.commit(
                kept,
                self._blobs,
                message=made.message,
                author=AUTHOR,
                timestamp=event.head.timestamp,
                seq=event.seq,
            )
        except ChoirError as error:
            return ReportCommit(made.workspace, event.seq, reason=f"{error.message} {error.fix}")
        return ReportCommit(made.workspace, event.seq, commit.id, len(kept), left_out)

    async def _push(self, event: Event, push: PushRequested) -> ReportPush:
        repository = self._repositories(push.workspace)
        try:
            head = await repository.head()
            if head is None or head.id != push.commit:
                return ReportPush(push.workspace, event.seq, push.commit, OTHER_COMMIT)
            arrived = await repository.push(push.url, push.branch)
        except ChoirError as error:
            return ReportPush(push.workspace, event.seq, push.commit, f"{error.message} {error.fix}")
        return ReportPush(push.workspace, event.seq, arrived)


async def _made_before(repository: Repository, seq: int) -> Commit | None:
    """Return the commit of an event that was made before a crash."""
    head = await repository.head()
    if head is None or head.seq is None or head.seq < seq:
        return None
    return next((commit for commit in await repository.log(COMMITS_MAX) if commit.seq == seq), None)


class Changes(Protocol):
    """What this room must know about the log."""

    def changes(self, workspace: str, after: int, *, limit: int) -> tuple[int, int]:
        """Return how many changes of files came behind an event, at most `limit`, and the time of the first."""
        ...


class AutomaticCheckpoints:
    """Makes a checkpoint after a number of changes, or some time after the first of them."""

    name = "checkpoints.automatic"

    def __init__(
        self,
        view: CheckpointsView,
        changes: Changes,
        *,
        clock: Clock,
        handle: Handle,
        events_max: int,
        minutes_max: int,
    ) -> None:
        self._view = view
        self._changes = changes
        self._clock = clock
        self._handle = handle
        self._events_max = events_max
        self._minutes_max = minutes_max

    async def react(self, events: Sequence[Event]) -> None:
        """Make the checkpoints that these changes made due."""
        payloads = [event.payload for event in events if event.head.event_type in FILE_CHANGES]
        for workspace in sorted({str(getattr(payload, "workspace", "")) for payload in payloads}):
            await self.tick(workspace)

    async def tick(self, workspace: str) -> None:
        """Make the checkpoint of a workspace if it is due by now; to be called now and then."""
        last = self._view.last(workspace)
        count, first = self._changes.changes(workspace, last.seq if last else 0, limit=self._events_max)
        old = count > 0 and self._clock.now_ms() - first >= self._minutes_max * 60_000
        if count >= self._events_max or old:
            message = f"Automatic, after {count} changes" if count > 1 else "Automatic, after one change"
            try:
                await self._handle(MakeCheckpoint(workspace, message, automatic=True))
            except Rejected as refusal:
                # Put away in the meantime: nothing changes in it, so there is nothing to keep.
                if refusal.code != "workspaces.closed":
                    raise


FILE_CHANGES = frozenset({"file.write", "file.delete", "file.move"})


def kept_in_commits(files: Mapping[str, Entry], leave_out: LeaveOut) -> dict[str, Entry]:
    """Return the files that enter a commit."""
    return {
        path: entry
        for path, entry in files.items()
        if entry.kind != "dir"
        and not is_protected(path)
        and not leave_out(path, False)  # noqa: FBT003 - the ignore rules take it by position
        and not any(leave_out(above, True) for above in parents(path))  # noqa: FBT003
    }
