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
from choiros.features.checkpoints.secrets import SecretFinding, find_secrets
from choiros.features.checkpoints.view import CheckpointsView
from choiros.kernel.blob import BlobStore
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command
from choiros.kernel.errors import Rejected
from choiros.kernel.path import is_protected
from choiros.kernel.repository import Commit, Repository
from choiros.kernel.tree import Entry

PUSH_FILE_BYTES_MAX = 100 * 1024 * 1024
SCAN_BYTES_MAX = 8 * 1024 * 1024
"""So much of a content is looked through at once, with this much of what came before it."""
OVERLAP_BYTES = 64 * 1024
BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")

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
            elif entry.kind == "file":
                found = await self._secrets(path, entry.content)
                findings += [f"{path}:{one.line}: looks like a secret ({one.kind})" for one in found]
        return findings

    async def _secrets(self, path: str, content: str) -> list[SecretFinding]:
        """Look through a content piece by piece, each with the end of the one before, in constant memory."""
        found: list[SecretFinding] = []
        mark, piece, line = b"", b"", 1
        async for chunk in self._blobs.read(content):
            mark = mark or chunk[:2]
            piece += chunk
            if len(piece) >= SCAN_BYTES_MAX:
                found += _from_line(line, find_secrets(path, piece))
                end = len(piece) - len(piece) % 2 - OVERLAP_BYTES
                line += piece.count(b"\n", 0, end)
                piece = (mark if mark in BYTE_ORDER_MARKS else b"") + piece[end:]
        return list(dict.fromkeys([*found, *_from_line(line, find_secrets(path, piece))]))


def _from_line(first: int, found: Sequence[SecretFinding]) -> list[SecretFinding]:
    return [SecretFinding(one.kind, one.line + first - 1) for one in found]


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
