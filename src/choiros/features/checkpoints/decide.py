"""The rules for checkpoints. Pure but for loading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint, ReportCommit, ReportPush
from choiros.features.checkpoints.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointMade,
    PushDone,
    PushRequested,
)
from choiros.features.checkpoints.leaving import Inspector, history, leaving
from choiros.features.checkpoints.view import CheckpointsView
from choiros.kernel.address import check_address
from choiros.kernel.blob import BlobStore
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command
from choiros.kernel.errors import Rejected
from choiros.kernel.repository import Commit, Repository
from choiros.kernel.tree import Entry

MESSAGE_MAX = 2000
FINDINGS_SHOWN = 5


class WorkspaceFiles(Protocol):
    """What this room must know about files."""

    def below(self, workspace: str, directory: str = "") -> dict[str, Entry]:
        """Return everything that stands in a workspace."""
        ...

    def below_at(self, workspace: str, directory: str, *, seq: int) -> dict[str, Entry]:
        """Return everything that stood in a workspace right after an event."""
        ...


Repositories = Callable[[str], Repository]


class PushState(Struct, frozen=True):
    """The newest commit, and why it must not leave the machine."""

    head: Commit | None
    findings: Sequence[str]


class CheckpointsLoader:
    """Loads what the rules of this room need to know."""

    def __init__(
        self,
        view: CheckpointsView,
        repositories: Repositories,
        *,
        blobs: BlobStore,
        check_open: Callable[[str], None],
    ) -> None:
        self._view = view
        self._repositories = repositories
        self._blobs = blobs
        self._check_open = check_open

    async def make(self, command: MakeCheckpoint, context: Context) -> None:
        """Check that the workspace is there and open."""
        del context
        self._check_open(command.workspace)

    async def report(self, command: ReportCommit, context: Context) -> bool:
        """Return whether the outcome is recorded already; it can be told even if the workspace was put away."""
        del context
        return self._view.is_ended(command.checkpoint)

    async def pushed(self, command: ReportPush, context: Context) -> bool:
        """Return whether the outcome is recorded already."""
        del context
        return self._view.is_push_ended(command.request)

    async def push(self, command: PushCheckpoint, context: Context) -> PushState:
        """Read every commit that would leave the machine and look for what must not."""
        del context
        check_address(command.url)
        self._check_open(command.workspace)
        repository = self._repositories(command.workspace)
        commits = await history(repository)
        fresh = leaving(commits, self._view.pushed(command.workspace, command.url))
        findings = await Inspector(repository, self._blobs).findings(fresh)
        return PushState(commits[0] if commits else None, findings)


def decide_make(command: MakeCheckpoint, state: None) -> Decision:
    """Name the present state."""
    del state
    message = command.message.strip()
    if not message or len(message) > MESSAGE_MAX:
        raise Rejected(
            "checkpoint.bad_message",
            f"A checkpoint's message has between 1 and {MESSAGE_MAX} characters.",
            fix="Say in a few words what this point is.",
        )
    return Decision((Fact(CheckpointMade(command.workspace, message, command.automatic)),))


def decide_report(command: ReportCommit, state: bool) -> Decision:  # noqa: FBT001 - every rule takes its state so
    """Record what became of a commit, once."""
    if state:
        return Decision(())
    if command.reason:
        return Decision((Fact(CheckpointFailed(command.workspace, command.checkpoint, command.reason)),))
    fact = CheckpointCommitted(
        command.workspace, command.checkpoint, command.commit, command.files, command.left_out
    )
    return Decision((Fact(fact),))


def decide_push(command: PushCheckpoint, state: PushState) -> Decision:
    """Announce a push, unless something in it must not leave the machine."""
    if state.head is None:
        raise Rejected(
            "checkpoint.none", "There is no commit yet.", fix="Make a checkpoint first: 'choir checkpoint'."
        )
    if state.findings:
        rest = len(state.findings) - FINDINGS_SHOWN
        shown = "; ".join(state.findings[:FINDINGS_SHOWN])
        more = f"; and {rest} more" if rest > 0 else ""
        raise Rejected(
            "checkpoint.push_refused",
            f"The push is refused: {shown}{more}.",
            fix="Take these out of the files and out of history (a fresh repository), then push again.",
            findings=list(state.findings),
        )
    return Decision((Fact(PushRequested(command.workspace, state.head.id, command.url, command.branch)),))


def decide_pushed(command: ReportPush, state: bool) -> Decision:  # noqa: FBT001 - every rule takes its state so
    """Record what became of a push, once."""
    if state:
        return Decision(())
    return Decision((Fact(PushDone(command.workspace, command.request, command.commit, command.error)),))


def command_types(loader: CheckpointsLoader) -> Commands:
    """Return this room's commands; a push is irreversible, which is what a command is unless it says otherwise."""
    make, report, pushed = loader.make, loader.report, loader.pushed
    return [
        any_command(
            CommandType("checkpoints.make", MakeCheckpoint, load=make, decide=decide_make, effect="pure")
        ),
        any_command(
            CommandType("checkpoints.report", ReportCommit, load=report, decide=decide_report, effect="pure")
        ),
        any_command(CommandType("checkpoints.push", PushCheckpoint, load=loader.push, decide=decide_push)),
        any_command(
            CommandType("checkpoints.pushed", ReportPush, load=pushed, decide=decide_pushed, effect="pure")
        ),
    ]
