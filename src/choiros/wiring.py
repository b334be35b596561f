"""The one place that names engines and features together and makes a computer of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from msgspec import Struct

from choiros.features.approvals.check import OnlyPeopleDecide
from choiros.features.approvals.commands import DecideApproval
from choiros.features.approvals.decide import ApprovalsLoader
from choiros.features.approvals.decide import decide as decide_approval
from choiros.features.approvals.events import EVENTS as APPROVAL_EVENTS
from choiros.features.approvals.view import ApprovalsProjector, ApprovalsView
from choiros.features.audit.check import SystemReports
from choiros.features.audit.commands import ReportSnapshot
from choiros.features.audit.decide import decide as decide_snapshot
from choiros.features.audit.decide import load_nothing
from choiros.features.audit.events import EVENTS as AUDIT_EVENTS
from choiros.features.audit.events import SnapshotKept
from choiros.features.audit.view import AuditProjector, AuditView
from choiros.features.checkpoints.check import CheckpointsQuiet, LeavingAsks
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint, ReportCommit, ReportPush
from choiros.features.checkpoints.decide import (
    CheckpointsLoader,
    decide_make,
    decide_push,
    decide_pushed,
    decide_report,
)
from choiros.features.checkpoints.events import EVENTS as CHECKPOINT_EVENTS
from choiros.features.checkpoints.react import AutomaticCheckpoints, Committer
from choiros.features.checkpoints.view import CheckpointsProjector, CheckpointsView
from choiros.features.files.capture import Capturer
from choiros.features.files.check import ProtectedNames, WorkspaceChanges
from choiros.features.files.commands import CaptureFiles, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.files.decide import (
    decide_capture,
    decide_change,
    decide_edit,
    decide_move,
    decide_remove,
)
from choiros.features.files.events import EVENTS as FILE_EVENTS
from choiros.features.files.ignore import Ignore
from choiros.features.files.load import FilesLoader
from choiros.features.files.react import Merger
from choiros.features.files.reverse import FilesReverser
from choiros.features.files.view import FilesProjector, FilesView, ShownTable
from choiros.features.sessions.events import EVENTS as SESSION_EVENTS
from choiros.features.sessions.view import SessionsProjector
from choiros.features.undo.check import UndoAllowed
from choiros.features.undo.commands import Redo, Undo
from choiros.features.undo.decide import Planner
from choiros.features.undo.decide import decide as decide_undo
from choiros.features.undo.events import EVENTS as UNDO_EVENTS
from choiros.features.undo.view import UndoProjector, UndoView
from choiros.features.workspaces.check import OwnWorkspaces
from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
)
from choiros.features.workspaces.decide import WorkspacesLoader
from choiros.features.workspaces.decide import decide as decide_workspace
from choiros.features.workspaces.events import EVENTS as WORKSPACE_EVENTS
from choiros.features.workspaces.reverse import WorkspacesReverser
from choiros.features.workspaces.view import Workspace, WorkspacesProjector, WorkspacesView
from choiros.kernel.blob import BlobStore
from choiros.kernel.clock import Clock
from choiros.kernel.command import CommandType, Context
from choiros.kernel.dispatch import Asked, Done, Kernel
from choiros.kernel.errors import Corrupt, Rejected, Unavailable
from choiros.kernel.event import Event, Source
from choiros.kernel.gate import GATE_EVENTS, Check, Gate
from choiros.kernel.ids import Ids
from choiros.kernel.journal import Journal
from choiros.kernel.lock import Lock
from choiros.kernel.log import EventLog
from choiros.kernel.projector import Projector, ProjectorRunner, Stale
from choiros.kernel.reactor import ReactorRunner
from choiros.kernel.registry import Registry
from choiros.kernel.repository import Repository
from choiros.kernel.tables import Cabinet, Snapshot, Tables
from choiros.kernel.tree import Tree
from choiros.kernel.watch import Watcher
from choiros.settings import Resolved, Settings

REGISTRY_TYPES = (
    *GATE_EVENTS,
    *AUDIT_EVENTS,
    *APPROVAL_EVENTS,
    *CHECKPOINT_EVENTS,
    *FILE_EVENTS,
    *SESSION_EVENTS,
    *UNDO_EVENTS,
    *WORKSPACE_EVENTS,
)


def registry() -> Registry:
    """Return every event type there is."""
    return Registry(REGISTRY_TYPES)


def projectors(known: Registry) -> list[Projector]:
    """Return every view in the order in which they are applied."""
    reversible = frozenset(kind.name for kind in known if kind.effect == "reversible") - {"undo"}
    return [
        AuditProjector(),
        WorkspacesProjector(),
        FilesProjector(),
        UndoProjector(reversible, unplaced=frozenset(kind.name for kind in WORKSPACE_EVENTS)),
        ApprovalsProjector(),
        CheckpointsProjector(),
        SessionsProjector(),
    ]


def checks() -> list[Check]:
    """Return every check of the gate in the order in which they are asked."""
    return [
        ProtectedNames(),
        WorkspaceChanges(),
        UndoAllowed(),
        OwnWorkspaces(),
        OnlyPeopleDecide(),
        CheckpointsQuiet(),
        LeavingAsks(),
        SystemReports(),
    ]


class Parts(Struct, frozen=True):
    """The engines that one person's computer is made of."""

    log: EventLog
    blobs: BlobStore
    cabinet: Cabinet
    clock: Clock
    ids: Ids
    lock: Lock
    folder: Callable[[str, str | None], tuple[Tree, bool]]
    """Gives the folder of a workspace (its id, and the person's own folder or None), and whether it is new."""
    repository: Callable[[str, str | None], Repository]
    """Gives the repository of a workspace, named likewise."""
    place: Callable[[str, str | None], str]
    """Says where the folder of a workspace is, named likewise."""
    watcher: Callable[[str, str | None], Watcher]
    """Gives a watcher of the folder of a workspace, named likewise."""


class Folders:
    """Opens each workspace's folder once."""

    def __init__(self, view: WorkspacesView, folder: Callable[[str, str | None], tuple[Tree, bool]]) -> None:
        self._view = view
        self._folder = folder
        self._open: dict[str, Tree] = {}
        self._new: set[str] = set()

    def tree(self, workspace: str, *, closed: bool = False) -> Tree | None:
        """Return the folder; None when the workspace is not open, unless a closed one is wanted as well."""
        found = self._view.get(workspace)
        if found is None or (found.state != "open" and not closed):
            return None
        if workspace not in self._open:
            self._open[workspace], new = self._folder(workspace, found.folder)
            if new:
                self._new.add(workspace)
        return self._open[workspace]

    def owned(self, workspace: str) -> bool:
        """Return whether the folder was made by ChoirOS, so that it may be emptied."""
        found = self._view.get(workspace)
        return found is not None and found.folder is None

    def renewed(self, workspace: str) -> bool:
        """Return, once, whether the folder had to be made anew, so that what it lacks was not removed from it."""
        if workspace not in self._new:
            return False
        self._new.remove(workspace)
        return True


class Computer:
    """Everything that belongs to one person, ready for use."""

    def __init__(self, parts: Parts, settings: Settings, tables: Tables) -> None:
        self.parts = parts
        self.settings = settings
        self.tables = tables
        self.holds_lock = False
        self.left_out = Ignore("", checkpoint=True).matches
        self.journal = Journal(parts.log, registry(), settings.user)
        self.files = FilesView(tables)
        self.shown = ShownTable(tables)
        self.audit = AuditView(tables)
        self.workspaces = WorkspacesView(tables)
        self.approvals = ApprovalsView(tables)
        self.checkpoints = CheckpointsView(tables)
        self.undo_view = UndoView(tables)
        self.folders = Folders(self.workspaces, parts.folder)
        self.files_loader = FilesLoader(self.files, parts.blobs, self.workspaces)
        capturer = Capturer(
            view=self.files,
            shown=self.shown,
            loader=self.files_loader,
            blobs=parts.blobs,
            clock=parts.clock,
            record=self._captured,
        )
        self.merger = Merger(
            self.folders, capturer, view=self.files, shown=self.shown, blobs=parts.blobs, clock=parts.clock
        )
        reversers = [FilesReverser(self.files, parts.blobs), WorkspacesReverser(self.workspaces)]
        self.planner = Planner(self.undo_view, self.journal, reversers)
        self.projectors = ProjectorRunner(self.journal, tables, projectors(self.journal.registry))
        self.automatic = self._automatic_checkpoints()
        self.reactors = ReactorRunner(self.journal, tables, [self.merger, self._committer(), self.automatic])
        self.kernel = Kernel(
            self.journal,
            blobs=parts.blobs,
            clock=parts.clock,
            ids=parts.ids,
            gate=Gate(checks()),
            approvals=self.approvals,
            commands=self._commands(),
            projectors=self.projectors,
            reactors=self.reactors,
        )

    def _commands(self) -> list[CommandType[Struct, object]]:
        files, spaces = self.files_loader, WorkspacesLoader(self.workspaces)
        points = CheckpointsLoader(
            self.checkpoints, self.repository, self.parts.blobs, self.workspaces.check_open
        )
        answers = ApprovalsLoader(self.approvals)
        kinds = [
            CommandType(
                "files.change", ChangeFiles, load=files.change, decide=decide_change, effect="reversible"
            ),
            CommandType(
                "files.capture", CaptureFiles, load=files.change, decide=decide_capture, effect="reversible"
            ),
            CommandType("files.edit", EditFile, load=files.edit, decide=decide_edit, effect="reversible"),
            CommandType("files.move", MoveFile, load=files.move, decide=decide_move, effect="reversible"),
            CommandType(
                "files.remove", RemoveFile, load=files.remove, decide=decide_remove, effect="reversible"
            ),
            CommandType("undo", Undo, load=self.planner.undo, decide=decide_undo, effect="reversible"),
            CommandType("redo", Redo, load=self.planner.redo, decide=decide_undo, effect="reversible"),
            CommandType(
                "approvals.decide",
                DecideApproval,
                load=answers.load,
                decide=decide_approval,
                effect="pure",
                audited=True,
            ),
            CommandType(
                "checkpoints.make", MakeCheckpoint, load=points.nothing, decide=decide_make, effect="pure"
            ),
            CommandType(
                "checkpoints.report", ReportCommit, load=points.nothing, decide=decide_report, effect="pure"
            ),
            CommandType("checkpoints.push", PushCheckpoint, load=points.push, decide=decide_push),
            CommandType(
                "checkpoints.pushed", ReportPush, load=points.nothing, decide=decide_pushed, effect="pure"
            ),
            CommandType(
                "audit.snapshot", ReportSnapshot, load=load_nothing, decide=decide_snapshot, effect="pure"
            ),
            CommandType(
                "workspaces.new",
                CreateWorkspace,
                load=spaces.load,
                decide=decide_workspace,
                effect="reversible",
            ),
            CommandType(
                "workspaces.use", UseWorkspace, load=spaces.load, decide=decide_workspace, effect="reversible"
            ),
            CommandType(
                "workspaces.rename",
                RenameWorkspace,
                load=spaces.load,
                decide=decide_workspace,
                effect="reversible",
            ),
            CommandType(
                "workspaces.archive",
                ArchiveWorkspace,
                load=spaces.load,
                decide=decide_workspace,
                effect="reversible",
            ),
            CommandType(
                "workspaces.open",
                OpenWorkspace,
                load=spaces.load,
                decide=decide_workspace,
                effect="reversible",
            ),
            CommandType(
                "workspaces.rm",
                RemoveWorkspace,
                load=spaces.load,
                decide=decide_workspace,
                effect="reversible",
            ),
        ]
        return cast("list[CommandType[Struct, object]]", kinds)

    def _committer(self) -> Committer:
        return Committer(
            self.files,
            self.repository,
            self.parts.blobs,
            leave_out=self.left_out,
            handle=self._reported,
        )

    def _automatic_checkpoints(self) -> AutomaticCheckpoints:
        wanted = self.settings.checkpoints
        return AutomaticCheckpoints(
            self.checkpoints,
            self.audit,
            self.parts.clock,
            handle=self._reported,
            events_max=wanted.events_max,
            minutes_max=wanted.minutes_max,
        )

    def repository(self, workspace: str) -> Repository:
        """Return the repository of a workspace."""
        found = self.workspaces.get(workspace)
        return self.parts.repository(workspace, found.folder if found else None)

    def place(self, workspace: Workspace) -> str:
        """Return where the folder of a workspace is."""
        return self.parts.place(workspace.id, workspace.folder)

    def context(self, **fields: str | None) -> Context:
        """Return the context of the person's own wishes."""
        return Context(self.settings.user, run=fields.get("run"), session=fields.get("session"))

    async def _captured(self, command: CaptureFiles, source: Source) -> Sequence[Event]:
        outcome = await self.kernel.handle(command, Context(self.settings.user, source=source))
        return outcome.facts if isinstance(outcome, Done) else ()

    async def _reported(self, command: Struct) -> Done | Asked:
        return await self.kernel.handle(command, Context(self.settings.user, source="system"))

    async def start(self) -> None:
        """Bring every view and effect up to the log; on the very first start make the first workspace."""
        self.projectors.prepare()
        position = await self.projectors.catch_up()
        self.reactors.prepare(position.seq)
        await self.reactors.catch_up()
        if not self.workspaces.all():
            await self.kernel.handle(CreateWorkspace("main"), Context(self.settings.user, source="system"))

    async def keep_snapshot(self) -> Snapshot | None:
        """Keep a snapshot of the tables when enough has happened since the last one, and drop the oldest."""
        wanted, cabinet = self.settings.snapshots, self.parts.cabinet
        kept = cabinet.snapshots()
        position = self.projectors.position()
        if position.seq - (kept[0].seq if kept else 0) < wanted.events_max:
            return None
        snapshot = cabinet.save(self.tables, position.seq)
        await self._reported(ReportSnapshot(snapshot.seq, snapshot.digest))
        for old in cabinet.snapshots()[max(wanted.kept, 1) :]:
            cabinet.drop(old)
        return snapshot

    async def hold(self) -> None:
        """Wait for the lock, then bring every view up to what others wrote meanwhile; `release` lets go again."""
        await self.parts.lock.acquire(self.settings.lock_timeout_s)
        self.holds_lock = True
        await self.start()

    def release(self) -> None:
        """Let others change this person's data."""
        if self.holds_lock:
            self.holds_lock = False
            self.parts.lock.release()

    async def close(self) -> None:
        """Let go of everything."""
        self.tables.close()
        await self.parts.log.close()
        self.release()


class Rebuilt(Struct, frozen=True):
    """What a rebuild found: up to which event, from which snapshot, and the state hash of each view."""

    seq: int
    snapshot: int
    digests: dict[str, str]
    differed: tuple[str, ...]
    """The views whose former tables were not what the log gives."""


async def rebuild(parts: Parts, settings: Settings, *, full: bool = False) -> Rebuilt:
    """Make the tables again from the log beside the current ones, compare, then switch; the lock must be held.

    `full` reads the log from its beginning instead of from the newest snapshot that the log vouches for.
    """
    journal = Journal(parts.log, registry(), settings.user)
    snapshot = None if full else await _trusted_snapshot(parts.cabinet, journal)
    tables = _beside(parts.cabinet, snapshot)
    try:
        runner = ProjectorRunner(journal, tables, projectors(journal.registry))
        runner.prepare()
        position = await runner.catch_up()
        digests = runner.digests()
    finally:
        tables.close()
    before = _digests_now(parts.cabinet, journal, position.seq)
    parts.cabinet.switch()
    differed = tuple(name for name, digest in digests.items() if before.get(name, digest) != digest)
    return Rebuilt(position.seq, snapshot.seq if snapshot else 0, digests, differed)


def _beside(cabinet: Cabinet, snapshot: Snapshot | None) -> Tables:
    try:
        return cabinet.beside(snapshot)
    except Corrupt:
        return cabinet.beside(None)


async def _trusted_snapshot(cabinet: Cabinet, journal: Journal) -> Snapshot | None:
    """Return the newest snapshot whose hash the log has recorded."""
    head = (await journal.head()).seq
    for snapshot in cabinet.snapshots():
        if snapshot.seq < head:
            events = await journal.fetch(range(snapshot.seq + 1, snapshot.seq + 4))
            payloads = [event.payload for event in events]
            if SnapshotKept(snapshot.seq, snapshot.digest) in payloads:
                return snapshot
    return None


def _digests_now(cabinet: Cabinet, journal: Journal, seq: int) -> dict[str, str]:
    """Return the state hashes of the current tables when they can be read and are just as new."""
    try:
        tables = cabinet.open()
    except (Corrupt, Rejected):
        return {}
    try:
        runner = ProjectorRunner(journal, tables, projectors(journal.registry))
        runner.prepare()
        return runner.digests() if runner.position().seq == seq else {}
    except (Stale, Rejected):
        return {}
    finally:
        tables.close()


async def open_computer(
    parts: Parts, settings: Settings, *, write: bool, notice: Callable[[str], None]
) -> Computer:
    """Open a person's computer, every view as new as the log.

    To write, the lock is waited for. To read, it is taken if it is free; while somebody else holds it, the views
    are read as that one leaves them. It is kept until `release` or `close`.
    """
    held = await _acquire(parts.lock, settings.lock_timeout_s if write else 0, needed=write)
    try:
        computer = await _opened(parts, settings, fresh=held, notice=notice)
    except BaseException:
        if held:
            parts.lock.release()
        raise
    computer.holds_lock = held
    return computer


async def _opened(
    parts: Parts, settings: Settings, *, fresh: bool, notice: Callable[[str], None]
) -> Computer:
    try:
        tables = parts.cabinet.open()
        computer = Computer(parts, settings, tables)
        if fresh:
            await computer.start()
    except (Corrupt, Stale) as trouble:
        if not fresh or (isinstance(trouble, Corrupt) and trouble.code != "state.damaged"):
            raise
        notice(f"{trouble} Rebuilding the state from the log; nothing is lost.")
        await rebuild(parts, settings)
        computer = Computer(parts, settings, parts.cabinet.open())
        await computer.start()
    return computer


async def _acquire(lock: Lock, timeout_s: float, *, needed: bool) -> bool:
    try:
        await lock.acquire(timeout_s)
    except Unavailable:
        if needed:
            raise
        return False
    return True


def disk_parts(resolved: Resolved) -> Parts:
    """Return the engines that keep everything below the data directory."""
    # Imported here, and some only where they are used: the start of every command waits for its imports.
    from choiros.engines.blob.disk import DiskBlobs  # noqa: PLC0415
    from choiros.engines.clock.system import SystemClock  # noqa: PLC0415
    from choiros.engines.ids.system import SystemIds  # noqa: PLC0415
    from choiros.engines.lock.file import FileLock  # noqa: PLC0415
    from choiros.engines.log.sqlite import SqliteLog  # noqa: PLC0415
    from choiros.engines.tables.sqlite import SqliteCabinet  # noqa: PLC0415
    from choiros.engines.tree.disk import DiskTree  # noqa: PLC0415
    from choiros.engines.worker.inline import InlineWorker  # noqa: PLC0415

    settings = resolved.settings
    base = resolved.home / "users" / settings.user
    data, worker, clock = base / ".choir", InlineWorker(), SystemClock()
    for directory in (resolved.home, base.parent, base, data):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    guard = resolved.home / ".gitignore"
    if not guard.exists():
        # Whoever makes a repository of the data directory shall not commit anybody's log, keys or settings.
        guard.write_text("*\n", encoding="ascii")

    def place(workspace: str, folder: str | None) -> Path:
        if folder is not None:
            return Path(folder)
        return base / "workspace" if workspace == "main" else base / "workspaces" / workspace

    def folder_of(workspace: str, folder: str | None) -> tuple[Tree, bool]:
        path = place(workspace, folder)
        fresh = not path.is_dir()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return DiskTree(path, worker), fresh

    def repository_of(workspace: str, folder: str | None) -> Repository:
        from choiros.engines.repository.libgit import LibgitRepository  # noqa: PLC0415

        return LibgitRepository(
            data / "git" / f"{workspace}.git", worker, work_folder=place(workspace, folder)
        )

    def watcher_of(workspace: str, folder: str | None) -> Watcher:
        from choiros.engines.watch.inotify import InotifyWatcher  # noqa: PLC0415

        return InotifyWatcher(place(workspace, folder))

    return Parts(
        log=SqliteLog(lambda _: data / "log.db", worker, clock),
        blobs=DiskBlobs(data / "blobs", worker, size_bytes_max=settings.files.size_bytes_max),
        cabinet=SqliteCabinet(data),
        clock=clock,
        ids=SystemIds(),
        lock=FileLock(data / "lock", clock),
        folder=folder_of,
        repository=repository_of,
        place=lambda workspace, folder: str(place(workspace, folder)),
        watcher=watcher_of,
    )
