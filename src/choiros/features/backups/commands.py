"""What is reported to the log about backups and imports."""

from __future__ import annotations

from msgspec import Struct

from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone, HistoryImported


class ReportBackup(Struct, frozen=True):
    """Report a backup that is whole, before older ones are removed for it."""

    made: BackupMade


class ReportFailure(Struct, frozen=True):
    """Report a backup that could not be made."""

    failed: BackupFailed


class ReportDrill(Struct, frozen=True):
    """Report what came of restoring a backup in a place of its own."""

    done: DrillDone


class ReportImport(Struct, frozen=True):
    """Report that the history up to here was brought in."""

    imported: HistoryImported


BackupCommand = ReportBackup | ReportFailure | ReportDrill | ReportImport
