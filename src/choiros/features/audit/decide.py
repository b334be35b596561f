"""The rule for snapshots. Pure."""

from __future__ import annotations

from choiros.features.audit.commands import ReportSnapshot
from choiros.features.audit.events import SnapshotKept
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command


async def load_nothing(command: ReportSnapshot, context: Context) -> None:
    """Nothing is needed."""
    del command, context


def decide(command: ReportSnapshot, state: None) -> Decision:
    """Record the snapshot."""
    del state
    return Decision((Fact(SnapshotKept(command.at, command.digest)),))


def command_types() -> Commands:
    """Return this room's commands."""
    return [
        any_command(
            CommandType("audit.snapshot", ReportSnapshot, load=load_nothing, decide=decide, effect="pure")
        )
    ]
