"""One sentence for each event, in the words of the person who reads the log."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from choiros.features.approvals.events import ApprovalDecided
from choiros.features.audit.events import SnapshotKept
from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone, HistoryImported
from choiros.features.checkpoints.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointMade,
    PushDone,
    PushRequested,
)
from choiros.features.effects.events import EffectUnknown
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.proof.events import KeyChanged, LogSeen, LogSigned, LogTrusted, WitnessAnswered
from choiros.features.sessions.events import (
    MessageAdded,
    RunChanged,
    SessionStarted,
    ToolAnswered,
    ToolCalled,
)
from choiros.features.undo.events import Undone
from choiros.features.workspaces.events import (
    WorkspaceArchived,
    WorkspaceCreated,
    WorkspaceOpened,
    WorkspaceRemoved,
    WorkspaceRenamed,
    WorkspaceUsed,
)
from choiros.kernel.gate import ApprovalRequested, VerdictRecorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from choiros.kernel.event import Event

KILO = 1000


def sentence(event: Event, names: Mapping[str, str]) -> str:
    """Return what happened, without who and when; `names` gives the names of workspaces by their ids."""
    payload = event.payload
    if payload is None:
        return "the content of this event was erased"
    name = names.get(str(getattr(payload, "workspace", "")), "")
    for describe in (
        _of_file,
        _of_undo,
        _of_gate,
        _of_checkpoint,
        partial(_of_workspace, now=name),
        _of_session,
        _of_proof,
        _of_effect,
        _of_backup,
    ):
        words = describe(payload)
        if words is not None:
            return words
    return event.head.event_type


def _of_file(payload: object) -> str | None:
    match payload:
        case FileWritten():
            return _written(payload)
        case FileDeleted(_, path, before):
            return f"removed {_kinds[before.kind]}{path}"
        case FileMoved(_, path, to):
            return f"moved {path} to {to}"
        case _:
            return None


_kinds = {"file": "", "link": "the link ", "dir": "the directory "}


def _written(fact: FileWritten) -> str:
    entry, before, path = fact.entry, fact.before, fact.path
    if fact.conflict_of is not None:
        return f"kept the other version of {fact.conflict_of} as {path}"
    if entry.kind == "dir":
        return f"made the directory {path}" if before is None else f"set the mode of {path} to {entry.mode:o}"
    if entry.kind == "link":
        return f"linked {path} to {entry.target}"
    if before is not None and before.kind == "file" and before.content == entry.content:
        return f"set the mode of {path} to {entry.mode:o}"
    return f"{'created' if before is None else 'changed'} {path} ({size(entry.size)})"


def size(size_bytes: int) -> str:
    """Return a number of bytes in words."""
    if size_bytes == 1:
        return "1 byte"
    amount, units = float(size_bytes), ["bytes", "KB", "MB", "GB", "TB"]
    while amount >= KILO and len(units) > 1:
        amount, units = amount / KILO, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "bytes" else f"{amount:.1f} {units[0]}"


def _of_undo(payload: object) -> str | None:
    if not isinstance(payload, Undone):
        return None
    count = sum(last - first + 1 for first, last in payload.spans)
    changes = "1 change" if count == 1 else f"{count} changes"
    match payload.target:
        case "redo":
            return f"brought back what event {payload.name} had taken back ({changes})"
        case "since":
            return f"took back everything after event {payload.name} ({changes})"
        case "run":
            return f"took back the run {payload.name} ({changes})"
        case "event":
            return f"took back event {payload.name}"
        case "unit":
            return f"took back the last change ({changes})"


def _of_gate(payload: object) -> str | None:
    match payload:
        case VerdictRecorded(command, _, answer):
            words = {"allow": "allowed", "ask": "asked about", "block": "refused"}[answer]
            return f"{words} {command}"
        case ApprovalRequested(command, _, _, _, reasons):
            return f"asks to allow {command}: {reasons}"
        case ApprovalDecided(_, answer, note):
            return ("allowed a request" if answer == "allow" else "denied a request") + (
                f": {note}" if note else ""
            )
        case _:
            return None


def _of_checkpoint(payload: object) -> str | None:
    match payload:
        case CheckpointMade(_, message):
            return f"made the checkpoint '{message}'"
        case CheckpointCommitted(_, checkpoint, commit, files):
            amount = "1 file" if files == 1 else f"{files:,} files"
            return f"committed checkpoint {checkpoint} as {commit[:10]} ({amount})"
        case CheckpointFailed(_, checkpoint, reason):
            return f"could not commit checkpoint {checkpoint}: {reason}"
        case PushRequested(_, commit, url, branch):
            return f"is sending {commit[:10]} to {url} ({branch})"
        case PushDone(_, _, commit, error):
            return f"could not send {commit[:10]}: {error}" if error else f"sent {commit[:10]}"
        case SnapshotKept(at):
            return f"kept a snapshot of the state at event {at}"
        case _:
            return None


def _of_workspace(payload: object, *, now: str) -> str | None:
    match payload:
        case WorkspaceCreated(_, name, folder):
            return (
                f"made the workspace {name}" if folder is None else f"added {folder} as the workspace {name}"
            )
        case WorkspaceUsed():
            return f"works in {now} now"
        case WorkspaceRenamed(_, name, before):
            return f"renamed the workspace {before} to {name}"
        case WorkspaceArchived():
            return f"archived the workspace {now}"
        case WorkspaceOpened():
            return f"opened the workspace {now} again"
        case WorkspaceRemoved():
            return f"removed the workspace {now}"
        case _:
            return None


def _of_effect(payload: object) -> str | None:
    if isinstance(payload, EffectUnknown):
        return (
            f"what became of event {payload.intent} ({payload.event_type}) is not known: it is not repeated"
        )
    return None


def _of_proof(payload: object) -> str | None:
    match payload:
        case KeyChanged(_, before):
            return (
                "changed the key that the log is signed with"
                if before
                else "made the key for signing the log"
            )
        case LogSigned(size):
            return f"signed the log up to event {size}"
        case WitnessAnswered(witness, size, _, error):
            return (
                f"the witness {witness} was not told: {error}"
                if error
                else f"{witness} has seen event {size}"
            )
        case LogTrusted(origin):
            return f"became a witness for {origin}"
        case LogSeen(origin, size):
            return f"has seen {origin} at event {size}"
        case _:
            return None


def _of_session(payload: object) -> str | None:
    match payload:
        case SessionStarted(title):
            return f"began the conversation '{title}'"
        case MessageAdded(role, text):
            return f"{role}: {text[:200]}"
        case ToolCalled(tool):
            return f"is using {tool}"
        case ToolAnswered(_, outcome):
            return f"the tool answered: {outcome}"
        case RunChanged(state, reason):
            return f"the run is {state}" + (f": {reason}" if reason else "")
        case _:
            return None


def _of_backup(payload: object) -> str | None:
    match payload:
        case BackupMade(file, _, size_bytes):
            return f"made the backup {file} ({size(size_bytes)})"
        case BackupFailed(reason):
            return f"could not make a backup: {reason}"
        case DrillDone(file, _, ok, reason):
            return (
                f"restored {file} to try it"
                if ok
                else f"could not restore {file} when it was tried: {reason}"
            )
        case HistoryImported(file, seq):
            return f"brought in {seq} events from {file}"
        case _:
            return None
