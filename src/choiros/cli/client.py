"""What the command line may ask of a computer; the direct client answers today, the server will later.

Every answer is plain data that `--json` prints as it is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Raw, Struct

from choiros.cli.carried import BackupDone, BackupLine, DrillResult, Exported, Progress


class EventLine(Struct, frozen=True):
    """One event: the fields that a list shows, one sentence for people, and the whole event as JSON."""

    seq: int
    id: str
    timestamp: int
    source: str
    event_type: str
    run_id: str | None
    session_id: str | None
    cause: str | None
    undone_by: int | None
    sentence: str
    event: Raw


class EventDetail(Struct, frozen=True):
    """One event with what led to it, what it led to, and how it can be taken back."""

    line: EventLine
    effect: str
    causes: list[EventLine]
    """From the direct cause to the first one."""
    consequences: list[EventLine]
    diff: str
    """What it changed in a file, as a unified diff; empty when it changed none."""


class LogQuery(Struct, frozen=True):
    """Which events are wanted."""

    after: int = 0
    until: int | None = None
    event_type: str | None = None
    source: str | None = None
    run: str | None = None
    session: str | None = None
    path: str | None = None
    limit: int = 20
    newest: bool = True
    """Return the newest matching events instead of the first."""
    routine: bool = False
    """Return verdicts that allowed something as well; what they led to is there anyway."""


class FileLine(Struct, frozen=True):
    """What stands at a path; `seq` is the event that last changed it."""

    path: str
    kind: Literal["file", "link", "dir"]
    mode: int
    size: int
    content: str
    target: str
    seq: int


class FileList(Struct, frozen=True):
    """The files below a directory, and what lies in the folder but cannot be kept, with the reason."""

    workspace: str
    at: int
    files: list[FileLine]
    unkept: dict[str, str]


class Blamed(Struct, frozen=True):
    """One line of a file with the event that introduced it; `seq` is 0 where history does not tell."""

    number: int
    text: str
    seq: int


class Why(Struct, frozen=True):
    """Who wrote each line of a file, and the events that these lines name."""

    path: str
    lines: list[Blamed]
    events: dict[int, EventLine]
    history: list[EventLine]
    """Every change of the path, the newest first; also given for files that are not text."""
    causes: dict[int, EventLine] = {}
    """What led to an event that wrote one of these lines, where that was more than the wish to write it."""


class Difference(Struct, frozen=True):
    """How one path differs between two states."""

    path: str
    change: Literal["added", "removed", "changed", "mode", "moved"]
    moved_to: str | None
    text: str
    """A unified diff; one sentence for what is not text."""


class Changed(Struct, frozen=True):
    """What a wish led to: nothing when everything was so already."""

    seqs: list[int]
    lines: list[EventLine]
    conflicts: list[str]
    """Paths at which a version was kept beside because it could not be merged."""
    warnings: list[str]
    """What is recorded but could not be carried out yet, with the fix."""


class Asked(Struct, frozen=True):
    """Nothing has happened: a person must answer the request first."""

    request: str
    digest: str
    reasons: str
    facts: list[str]


class UndoPreview(Struct, frozen=True):
    """What an undo would do."""

    target: str
    name: str
    events: list[EventLine]
    changes: list[Difference]
    irreversible: list[EventLine]
    """What cannot be taken back."""
    notes: list[str]
    obstacles: list[str]
    """What stands against it; while there is any, nothing can be taken back."""


class CheckpointLine(Struct, frozen=True):
    """One checkpoint with its commit, or the reason why there is none."""

    seq: int
    timestamp: int
    message: str
    automatic: bool
    commit: str | None
    error: str | None


class GitState(Struct, frozen=True):
    """How the workspace stands to its newest checkpoint."""

    workspace: str
    last: CheckpointLine | None
    head: str | None
    changes: list[Difference]
    unkept: dict[str, str]


class RestorePreview(Struct, frozen=True):
    """Exactly which files a restore would change or remove; the present state is kept as a checkpoint first."""

    commit: str
    changes: list[Difference]


class WorkspaceLine(Struct, frozen=True):
    """One workspace."""

    id: str
    name: str
    folder: str
    state: Literal["open", "archived", "removed"]
    current: bool
    files: int


class ApprovalLine(Struct, frozen=True):
    """One question to the person."""

    request: str
    seq: int
    command: str
    digest: str
    reasons: str
    state: str
    facts: list[str]


class RebuiltState(Struct, frozen=True):
    """What a rebuild found."""

    seq: int
    snapshot: int
    digests: Mapping[str, str]
    differed: list[str]
    files_restored: int
    unkept: dict[str, str]


class Collected(Struct, frozen=True):
    """What a garbage collection removed, or would remove."""

    contents: int
    size_bytes: int
    preview: bool


class Status(Struct, frozen=True):
    """The computer at a glance."""

    user: str
    home: str
    workspace: str
    folder: str
    events: int
    head: str
    pending_approvals: int
    state: Literal["ready", "behind", "read-only"]


class Verification(Struct, frozen=True):
    """What a check of the log found; the chain held, or there would be an error instead."""

    first: int
    last: int
    root: str
    signed: int
    """How many signed points were compared with the log."""
    signed_until: int
    witnessed: int
    """How many signatures of known witnesses were checked."""
    claims: int
    """How many points that are remembered elsewhere were compared."""
    problems: list[tuple[int, str, str]]
    """The event, what is wrong, and what to do."""
    unasked: list[str]
    """Witnesses that could not be asked, and why."""


class ProofMade(Struct, frozen=True):
    """A proof file for one event: `size` is how far the log had come when it was signed."""

    seq: int
    size: int
    key: str
    text: str


class WitnessLine(Struct, frozen=True):
    """What a witness took last, or why it did not."""

    name: str
    size: int
    error: str


class KeyState(Struct, frozen=True):
    """With which key the log is signed, how far, and who has seen it; no key before the first signature."""

    origin: str
    keys: list[str]
    """Every key that the log was ever signed with, the newest last."""
    key: str | None
    witness_key: str | None
    """The same key as others must know it for whom this computer is a witness."""
    is_here: bool
    """Whether the private half is on this computer."""
    signed: int
    events: int
    witnesses: list[WitnessLine]


class Client(Protocol):
    """One person's computer. `workspace` is the one that the command line was told, or the current one.

    Wishes return Changed, or Asked when the gate wants a person's word. Every error is a ChoirError.
    """

    async def status(self) -> Status:
        """Return the computer at a glance."""
        ...

    async def log(self, query: LogQuery) -> list[EventLine]:
        """Return matching events, the oldest first."""
        ...

    def follow(self, query: LogQuery) -> AsyncIterator[EventLine]:
        """Return matching events behind `query.after`, then new ones as they happen, for ever."""
        ...

    async def show(self, seq: int) -> EventDetail:
        """Return one event in detail."""
        ...

    async def why(self, path: str) -> Why:
        """Return who wrote each line of a file."""
        ...

    async def files(self, directory: str, at: int | None) -> FileList:
        """Return what stands below a directory now (outside edits captured first), or right after an event."""
        ...

    def cat(self, path: str, at: int | None) -> AsyncIterator[bytes]:
        """Return the content of a file now, or as it was right after an event; a link gives its target."""
        ...

    async def diff(self, before: int | None, after: int | None, *, path: str | None) -> list[Difference]:
        """Return what differs between two events.

        With None before: since the newest checkpoint, or the beginning; with None after: until now.
        """
        ...

    async def write(
        self, path: str, chunks: AsyncIterator[bytes], *, mode: int | None, run: str | None, base: int | None
    ) -> Changed | Asked:
        """Write a whole file in constant memory; `base` is the event at which the writer had read it."""
        ...

    async def make_directory(self, path: str, run: str | None) -> Changed | Asked:
        """Make a directory and those above it."""
        ...

    async def make_link(self, path: str, target: str, *, run: str | None) -> Changed | Asked:
        """Make a symbolic link."""
        ...

    async def edit(
        self, path: str, old: str, *, new: str, everywhere: bool, run: str | None
    ) -> Changed | Asked:
        """Replace text in a file."""
        ...

    async def move(self, path: str, to: str, *, run: str | None) -> Changed | Asked:
        """Give a file or directory another path; into `to` when that is a directory."""
        ...

    async def remove(self, paths: Sequence[str], *, recursive: bool, run: str | None) -> Changed | Asked:
        """Remove files, or directories with what they hold, all or none."""
        ...

    async def set_mode(self, path: str, mode: int, *, run: str | None) -> Changed | Asked:
        """Set the permission bits of a file or directory."""
        ...

    async def preview_undo(
        self, *, run: str | None, seq: int | None, since: int | None, leave: Sequence[str]
    ) -> UndoPreview:
        """Return what an undo would do; nothing changes."""
        ...

    async def undo(
        self, *, run: str | None, seq: int | None, since: int | None, leave: Sequence[str]
    ) -> Changed | Asked:
        """Take something back."""
        ...

    async def preview_redo(self, leave: Sequence[str]) -> UndoPreview:
        """Return what a redo would do; nothing changes."""
        ...

    async def redo(self, leave: Sequence[str]) -> Changed | Asked:
        """Bring back what the newest undo took."""
        ...

    async def checkpoint(self, message: str) -> Changed | Asked:
        """Name the present state and commit it."""
        ...

    async def checkpoints(self, limit: int) -> list[CheckpointLine]:
        """Return the newest checkpoints, the newest first."""
        ...

    async def git_state(self) -> GitState:
        """Return what has changed since the newest checkpoint."""
        ...

    async def preview_restore(self, commit: str) -> RestorePreview:
        """Return what restoring a checkpoint (its event number, or a commit) would change; nothing changes."""
        ...

    async def restore(self, commit: str) -> Changed | Asked:
        """Bring the files of a checkpoint back, as a change that can be undone; the present state is kept first."""
        ...

    async def push(self, url: str, branch: str) -> Changed | Asked:
        """Send the newest commit to another repository."""
        ...

    async def workspaces(self) -> list[WorkspaceLine]:
        """Return every workspace."""
        ...

    async def change_workspace(
        self,
        act: Literal["new", "add", "use", "rename", "archive", "open", "rm"],
        name: str,
        *,
        argument: str | None,
    ) -> Changed | Asked:
        """Arrange workspaces; `argument` is the folder for `add` and the new name for `rename`."""
        ...

    async def approvals(self) -> list[ApprovalLine]:
        """Return the open requests."""
        ...

    async def decide(
        self, request: str, digest: str, *, answer: Literal["allow", "deny"], note: str
    ) -> Changed | Asked:
        """Answer a request; when it is allowed, what it asked for is carried out now."""
        ...

    async def rebuild(self, *, full: bool) -> RebuiltState:
        """Make everything that is derived again from the log and the stored contents."""
        ...

    async def collect(self, *, preview: bool) -> Collected:
        """Remove stored contents that no event names."""
        ...

    async def verify(self, first: int, last: int | None, *, progress: Progress) -> Verification:
        """Check the log from event `first` to `last`, and against everybody who remembers it."""
        ...

    async def unsigned_from(self) -> int:
        """Return the number of the first event that no signed point covers."""
        ...

    async def prove(self, what: int | str) -> ProofMade:
        """Return the proof of an event, or of the newest event that changed a path."""
        ...

    async def key_state(self) -> KeyState:
        """Return with which key the log is signed, how far, and what each witness said last."""
        ...

    async def sign(self) -> Changed | Asked:
        """Sign the log as it is now, and show it to the witnesses."""
        ...

    async def rotate_key(self) -> Changed | Asked:
        """Sign with a new key from now on."""
        ...

    async def trust_log(self, key: str) -> Changed | Asked:
        """Be a witness for another log."""
        ...

    async def witness(self, request: str) -> str:
        """Look at another log and return this computer's signature line."""
        ...

    async def witnessed(self, origin: str) -> str:
        """Return the newest note of another log that this computer has signed, '' for none."""
        ...

    async def export(self, file: str, progress: Progress) -> Exported:
        """Write everything of the person into one new file."""
        ...

    async def back_up(self, progress: Progress) -> BackupDone:
        """Make a backup in the folder that is set, read it back, and remove what retention no longer keeps."""
        ...

    async def backups(self) -> list[BackupLine]:
        """Return the backups in the folder, the newest first."""
        ...

    async def drill(self, progress: Progress) -> DrillResult:
        """Restore the newest backup in a place of its own and compare everything."""
        ...

    def watch(self) -> AsyncGenerator[Changed]:
        """Record outside edits as they happen, for ever."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...
