"""What a computer is made of: its engines, and what every room brings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from choiros.features.approvals.check import OnlyPeopleDecide
from choiros.features.approvals.events import EVENTS as APPROVAL_EVENTS
from choiros.features.approvals.view import ApprovalsProjector
from choiros.features.audit.check import SystemReports
from choiros.features.audit.events import EVENTS as AUDIT_EVENTS
from choiros.features.audit.view import AuditProjector
from choiros.features.backups.check import BackupsReported
from choiros.features.backups.events import EVENTS as BACKUP_EVENTS
from choiros.features.backups.view import BackupsProjector
from choiros.features.checkpoints.check import CheckpointsQuiet, LeavingAsks
from choiros.features.checkpoints.events import EVENTS as CHECKPOINT_EVENTS
from choiros.features.checkpoints.view import CheckpointsProjector
from choiros.features.effects.check import OnlySystemEnds
from choiros.features.effects.events import EVENTS as EFFECT_EVENTS
from choiros.features.effects.view import EffectsProjector
from choiros.features.files.check import ProtectedNames, WorkspaceChanges
from choiros.features.files.events import EVENTS as FILE_EVENTS
from choiros.features.files.view import FilesProjector
from choiros.features.proof.check import ProofsAreKept
from choiros.features.proof.events import EVENTS as PROOF_EVENTS
from choiros.features.proof.view import ProofProjector
from choiros.features.sessions.events import EVENTS as SESSION_EVENTS
from choiros.features.sessions.view import SessionsProjector
from choiros.features.undo.check import UndoAllowed
from choiros.features.undo.events import EVENTS as UNDO_EVENTS
from choiros.features.undo.view import UndoProjector
from choiros.features.workspaces.check import OwnWorkspaces
from choiros.features.workspaces.events import EVENTS as WORKSPACE_EVENTS
from choiros.features.workspaces.view import WorkspacesProjector, WorkspacesView
from choiros.kernel.gate import GATE_EVENTS, Check
from choiros.kernel.registry import FINAL, Registry

if TYPE_CHECKING:
    from choiros.kernel.blob import BlobStore
    from choiros.kernel.clock import Clock
    from choiros.kernel.ids import Ids
    from choiros.kernel.lock import Lock
    from choiros.kernel.log import EventLog
    from choiros.kernel.projector import Projector
    from choiros.kernel.repository import Repository
    from choiros.kernel.signer import Signer
    from choiros.kernel.tables import Cabinet
    from choiros.kernel.tree import Tree
    from choiros.kernel.watch import Watcher
    from choiros.kernel.witness import Witness

REGISTRY_TYPES = (
    *GATE_EVENTS,
    *AUDIT_EVENTS,
    *APPROVAL_EVENTS,
    *BACKUP_EVENTS,
    *CHECKPOINT_EVENTS,
    *EFFECT_EVENTS,
    *FILE_EVENTS,
    *PROOF_EVENTS,
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
        EffectsProjector(known),
        WorkspacesProjector(),
        FilesProjector(),
        UndoProjector(
            reversible,
            unplaced=frozenset(kind.name for kind in WORKSPACE_EVENTS),
            final=frozenset(kind.name for kind in known if kind.effect in FINAL),
        ),
        ApprovalsProjector(),
        CheckpointsProjector(),
        ProofProjector(),
        SessionsProjector(),
        BackupsProjector(),
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
        OnlySystemEnds(),
        ProofsAreKept(),
        BackupsReported(),
    ]


Skip = Callable[[str, bool], bool]
"""Says of a path, and whether it is a directory, that it is left out."""


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
    watcher: Callable[[str, str | None, Skip], Watcher]
    """Gives a watcher of the folder of a workspace, named likewise, that leaves out what a rule says."""
    signer: Signer
    witnesses: tuple[Witness, ...] = ()


def verify_signature(public: bytes, message: bytes, *, signature: bytes) -> bool:
    """Return whether a signature is one of this key over this message; for who has no computer open."""
    from choiros.engines.signer.memory import MemorySigner  # noqa: PLC0415

    return MemorySigner().verify(public, message, signature=signature)


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
