"""The rule for snapshots. Pure."""

from __future__ import annotations

from choiros.features.audit.commands import ReportSnapshot
from choiros.features.audit.events import SnapshotKept
from choiros.kernel.command import Context, Decision, Fact


async def load_nothing(command: ReportSnapshot, context: Context) -> None:
    """Nothing is needed."""
    del command, context


def decide(command: ReportSnapshot, state: None) -> Decision:
    """Record the snapshot."""
    del state
    return Decision((Fact(SnapshotKept(command.at, command.digest)),))
