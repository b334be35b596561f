"""The rule for reports about backups. Pure."""

from __future__ import annotations

from choiros.features.backups.commands import (
    BackupCommand,
    ReportBackup,
    ReportDrill,
    ReportFailure,
    ReportImport,
)
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command


async def load_nothing(command: BackupCommand, context: Context) -> None:
    """Nothing is needed."""
    del command, context


def decide(command: BackupCommand, state: None) -> Decision:
    """Record what is reported."""
    del state
    match command:
        case ReportBackup(made):
            return Decision((Fact(made),))
        case ReportFailure(failed):
            return Decision((Fact(failed),))
        case ReportDrill(done):
            return Decision((Fact(done),))
        case ReportImport(imported):
            return Decision((Fact(imported),))


def command_types() -> Commands:
    """Return this room's commands."""
    classes: dict[str, type[BackupCommand]] = {
        "backups.report": ReportBackup,
        "backups.report_failure": ReportFailure,
        "backups.report_drill": ReportDrill,
        "backups.report_import": ReportImport,
    }
    return [
        any_command(CommandType(name, one, load=load_nothing, decide=decide, effect="pure"))
        for name, one in classes.items()
    ]
