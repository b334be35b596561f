"""The fact that a point was named, and what became of its commit."""

from __future__ import annotations

from msgspec import Struct

from choiros.kernel.registry import EventType


class CheckpointMade(Struct, frozen=True):
    """The state of a workspace right before this event has a name; its commit follows."""

    workspace: str
    message: str
    automatic: bool = False


class CheckpointCommitted(Struct, frozen=True):
    """The checkpoint exists as a commit; `left_out` counts files that never enter one (secrets, logs, databases)."""

    workspace: str
    checkpoint: int
    commit: str
    files: int
    left_out: int


class CheckpointFailed(Struct, frozen=True):
    """The commit could not be made; the checkpoint itself holds, because the log does."""

    workspace: str
    checkpoint: int
    reason: str


class PushRequested(Struct, frozen=True):
    """A commit is about to leave the machine; recorded before it does."""

    workspace: str
    commit: str
    url: str
    branch: str


class PushDone(Struct, frozen=True):
    """What became of a push, named by the number of the event that announced it."""

    workspace: str
    request: int
    commit: str
    error: str = ""


EVENTS = (
    EventType("checkpoint", CheckpointMade, effect="pure", intent="again"),
    EventType("checkpoint.commit", CheckpointCommitted, effect="pure", ends="checkpoint"),
    EventType("checkpoint.failed", CheckpointFailed, effect="pure", ends="checkpoint"),
    EventType("checkpoint.push", PushRequested, effect="irreversible", intent="once"),
    EventType("checkpoint.pushed", PushDone, effect="pure", ends="request"),
)
