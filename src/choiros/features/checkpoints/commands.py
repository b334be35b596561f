"""What one may wish for checkpoints, and how the outcome of their effects is reported."""

from __future__ import annotations

from msgspec import Struct


class MakeCheckpoint(Struct, frozen=True):
    """Give the present state of a workspace a name."""

    workspace: str
    message: str
    automatic: bool = False


class ReportCommit(Struct, frozen=True):
    """Report what became of the commit of a checkpoint; `reason` is empty when it was made."""

    workspace: str
    checkpoint: int
    commit: str = ""
    files: int = 0
    left_out: int = 0
    reason: str = ""


class PushCheckpoint(Struct, frozen=True):
    """Send the newest commit to a branch of another repository."""

    workspace: str
    url: str
    branch: str = "main"


class ReportPush(Struct, frozen=True):
    """Report what became of a push; `error` is empty when it arrived."""

    workspace: str
    request: int
    commit: str
    error: str = ""
