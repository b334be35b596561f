"""The rules for checkpoints. Pure but for loading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from choiros.features.checkpoints.secrets import find_secrets
from choiros.features.checkpoints.view import CheckpointsView
from choiros.kernel.blob import BlobStore
from choiros.kernel.command import Context, Decision, Fact
from choiros.kernel.errors import Rejected
from choiros.kernel.path import is_protected
from choiros.kernel.repository import Commit, Repository
from choiros.kernel.tree import Entry

PUSH_FILE_BYTES_MAX = 100 * 1024 * 1024
SCAN_BYTES_MAX = 8 * 1024 * 1024
MESSAGE_MAX = 2000


class WorkspaceFiles(Protocol):
    """What this room must know about files."""

    def below(self, workspace: str, directory: str = "") -> dict[str, Entry]:
        """Return everything that stands in a workspace."""
        ...

    def below_at(self, workspace: str, directory: str, seq: int) -> dict[str, Entry]:
        """Return everything that stood in a workspace right after an event."""
        ...


Repositories = Callable[[str], Repository]
LeaveOut = Callable[[str, bool], bool]
"""Says which paths never enter a commit: secrets, logs, databases, what can be made again."""


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
        blobs: BlobStore,
        check_open: Callable[[str], None],
    ) -> None:
        self._view = view
        self._repositories = repositories
        self._blobs = blobs
        self._check_open = check_open

    async def nothing(self, command: MakeCheckpoint | ReportCommit | ReportPush, context: Context) -> None:
        """Check that the workspace is there."""
        del context
        self._check_open(command.workspace)

    async def push(self, command: PushCheckpoint, context: Context) -> PushState:
        """Read every commit that would leave the machine and look for what must not."""
        del context
        self._check_open(command.workspace)
        repository = self._repositories(command.workspace)
        head = await repository.head()
        known = set(self._view.pushed(command.workspace, command.url))
        findings: list[str] = []
        seen: set[tuple[str, str]] = set()
        for commit in await repository.log(limit=10_000):
            if commit.id in known:
                break
            files = await repository.files(commit.id, self._blobs)
            fresh = {path: entry for path, entry in files.items() if (path, entry.content) not in seen}
            seen |= {(path, entry.content) for path, entry in fresh.items()}
            findings += [f"{commit.id[:10]} {finding}" for finding in await self._look(fresh)]
        return PushState(head, findings)

    async def _look(self, files: Mapping[str, Entry]) -> list[str]:
        findings: list[str] = []
        for path, entry in files.items():
            if is_protected(path):
                findings.append(f"{path}: the name is protected")
            elif entry.size > PUSH_FILE_BYTES_MAX:
                findings.append(f"{path}: {entry.size} bytes are more than {PUSH_FILE_BYTES_MAX}")
            elif entry.kind == "file" and entry.size <= SCAN_BYTES_MAX:
                content = b"".join([chunk async for chunk in self._blobs.read(entry.content)])
                found = find_secrets(path, content)
                findings += [f"{path}:{one.line}: looks like a secret ({one.kind})" for one in found]
        return findings


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


def decide_report(command: ReportCommit, state: None) -> Decision:
    """Record what became of a commit."""
    del state
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
        shown = "; ".join(state.findings[:5])
        more = f"; and {len(state.findings) - 5} more" if len(state.findings) > 5 else ""
        raise Rejected(
            "checkpoint.push_refused",
            f"The push is refused: {shown}{more}.",
            fix="Take these out of the files and out of history (a fresh repository), then push again.",
            findings=list(state.findings),
        )
    return Decision((Fact(PushRequested(command.workspace, state.head.id, command.url, command.branch)),))


def decide_pushed(command: ReportPush, state: None) -> Decision:
    """Record what became of a push."""
    del state
    return Decision((Fact(PushDone(command.workspace, command.request, command.commit, command.error)),))
