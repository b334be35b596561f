"""One person's computer: every room connected with the kernel and with its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.features.approvals.decide import ApprovalsLoader
from choiros.features.approvals.decide import command_types as approval_commands
from choiros.features.approvals.view import ApprovalsView
from choiros.features.audit.commands import ReportSnapshot
from choiros.features.audit.decide import command_types as snapshot_commands
from choiros.features.audit.view import AuditView
from choiros.features.backups.decide import command_types as backup_commands
from choiros.features.backups.view import BackupsView
from choiros.features.checkpoints.decide import (
    CheckpointsLoader,
)
from choiros.features.checkpoints.decide import command_types as checkpoint_commands
from choiros.features.checkpoints.react import AutomaticCheckpoints, Committer
from choiros.features.checkpoints.view import CheckpointsView
from choiros.features.effects.commands import ReportUnknown
from choiros.features.effects.decide import EffectsLoader
from choiros.features.effects.decide import command_types as effect_commands
from choiros.features.effects.view import EffectsView
from choiros.features.files.capture import Capturer
from choiros.features.files.load import FilesLoader
from choiros.features.files.load import command_types as file_commands
from choiros.features.files.react import Merger
from choiros.features.files.reverse import FilesReverser
from choiros.features.files.view import FilesView, ShownTable
from choiros.features.proof.commands import SignLog
from choiros.features.proof.decide import ProofLoader
from choiros.features.proof.decide import command_types as proof_commands
from choiros.features.proof.react import SignatureMemory, WitnessCalls
from choiros.features.proof.view import ProofView
from choiros.features.undo.decide import Planner
from choiros.features.undo.decide import command_types as undo_commands
from choiros.features.undo.view import UndoView
from choiros.features.workspaces.commands import (
    CreateWorkspace,
)
from choiros.features.workspaces.decide import WorkspacesLoader
from choiros.features.workspaces.decide import command_types as workspace_commands
from choiros.features.workspaces.reverse import WorkspacesReverser
from choiros.features.workspaces.view import Workspace, WorkspacesView
from choiros.kernel.command import Commands, Context
from choiros.kernel.dispatch import Asked, Done, Kernel
from choiros.kernel.gate import Gate
from choiros.kernel.journal import Journal
from choiros.kernel.projector import ProjectorRunner
from choiros.kernel.reactor import ReactorRunner
from choiros.wiring.parts import Folders, Parts, checks, projectors, registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from choiros.features.files.commands import CaptureFiles
    from choiros.kernel.errors import Corrupt
    from choiros.kernel.event import Event, Source
    from choiros.kernel.repository import Repository
    from choiros.kernel.tables import Snapshot, Tables
    from choiros.settings import Settings


class Computer:
    """Everything that belongs to one person, ready for use."""

    def __init__(self, parts: Parts, settings: Settings, *, tables: Tables) -> None:
        self.parts = parts
        self.settings = settings
        self.tables = tables
        self.holds_lock = False
        self.remembers_folders = True
        self.journal = Journal(parts.log, registry(), user=settings.user)
        self.files = FilesView(tables)
        self.shown = ShownTable(tables)
        self.audit = AuditView(tables)
        self.effects = EffectsView(tables)
        self.workspaces = WorkspacesView(tables)
        self.approvals = ApprovalsView(tables)
        self.checkpoints = CheckpointsView(tables)
        self.backups = BackupsView(tables)
        self.undo_view = UndoView(tables)
        self.proof = ProofView(tables)
        self.proofs = ProofLoader(self.proof, self.journal, signer=parts.signer, clock=parts.clock)
        self.fault: Corrupt | None = None
        self.folders = Folders(self.workspaces, parts.folder)
        self.files_loader = FilesLoader(self.files, parts.blobs, workspaces=self.workspaces)
        self._capturer = Capturer(
            view=self.files,
            shown=self.shown,
            loader=self.files_loader,
            blobs=parts.blobs,
            clock=parts.clock,
            record=self._captured,
        )
        self.merger = Merger(
            self.folders,
            self._capturer,
            view=self.files,
            shown=self.shown,
            blobs=parts.blobs,
            clock=parts.clock,
        )
        reversers = [
            FilesReverser(self.files, parts.blobs, check_open=self.workspaces.check_open),
            WorkspacesReverser(self.workspaces),
        ]
        self.planner = Planner(self.undo_view, self.journal, reversers=reversers)
        self.projectors = ProjectorRunner(self.journal, tables, projectors=projectors(self.journal.registry))
        self.automatic = self._automatic_checkpoints()
        self.reactors = ReactorRunner(
            self.journal,
            tables,
            reactors=[
                self.merger,
                self._committer(),
                self.automatic,
                SignatureMemory(parts.signer, user=settings.user),
                WitnessCalls(self.proof, parts.witnesses, handle=self._reported),
            ],
        )
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

    def _commands(self) -> Commands:
        points = CheckpointsLoader(
            self.checkpoints, self.repository, blobs=self.parts.blobs, check_open=self.workspaces.check_open
        )
        return [
            *file_commands(self.files_loader),
            *undo_commands(self.planner),
            *approval_commands(ApprovalsLoader(self.approvals)),
            *checkpoint_commands(points),
            *snapshot_commands(),
            *effect_commands(EffectsLoader(self.effects)),
            *proof_commands(self.proofs),
            *backup_commands(),
            *workspace_commands(WorkspacesLoader(self.workspaces)),
        ]

    def _committer(self) -> Committer:
        return Committer(
            self.files,
            self.repository,
            view=self.checkpoints,
            blobs=self.parts.blobs,
            rules=self.files_loader,
            handle=self._reported,
        )

    def _automatic_checkpoints(self) -> AutomaticCheckpoints:
        wanted = self.settings.checkpoints
        return AutomaticCheckpoints(
            self.checkpoints,
            self.audit,
            clock=self.parts.clock,
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
        if not isinstance(outcome, Done):
            return ()
        if outcome.events and self.projectors.position().seq < outcome.events[-1].seq:
            # Compared with views that lack what was just recorded, the folder would seem to hold too much, and
            # what a person made there would be taken away.
            raise outcome.troubles[0]
        return outcome.facts

    async def _reported(self, command: Struct) -> Done | Asked:
        return await self.kernel.handle(command, Context(self.settings.user, source="system"))

    async def start(self) -> None:
        """Bring every view and effect up to the log; on the very first start make the first workspace."""
        self.projectors.prepare()
        before = self.projectors.position()
        position = await self.projectors.catch_up()
        await self.proofs.check_tail(self.parts.signer.remembered(self.settings.user))
        # Views behind the log have lost their newest changes, and with them what was known about the folders.
        memory = before.seq if self.remembers_folders else 0
        self._capturer.remembered_until = memory if memory < position.seq else None
        waiting = self.checkpoints.open_since()
        self.reactors.prepare(position.seq, earlier={} if waiting is None else {Committer.name: waiting - 1})
        await self._end_unknown()
        await self.reactors.catch_up()
        if not self.workspaces.all():
            await self.kernel.handle(CreateWorkspace("main"), Context(self.settings.user, source="system"))

    async def _end_unknown(self) -> None:
        """Record that nobody knows what became of what must not be done again; the program ended in between."""
        lost = tuple((effect.seq, effect.event_type) for effect in self.effects.open() if not effect.again)
        if lost:
            await self._reported(ReportUnknown(lost))

    def stop(self, fault: Corrupt) -> None:
        """Change nothing any more, because the log is not what it was; what is known can still be looked at."""
        self.fault = fault
        self.kernel.stop(fault)

    async def sign_when_due(self) -> None:
        """Sign the log when enough has happened since the last time, or enough time has passed."""
        wanted, last = self.settings.proof, self.proof.last()
        since, head = last.seq if last else 0, self.projectors.position().seq
        begun = self.audit.time_of(since + 1)
        is_old = begun is not None and self.parts.clock.now_ms() - begun >= wanted.minutes_max * 60_000
        if is_old or head - since >= wanted.events_max:
            await self._reported(SignLog())

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
