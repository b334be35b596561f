"""The verbs that write everything into one file, now and then by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from choiros.cli.carried import BackupDone, BackupLine, DrillResult, Exported
from choiros.cli.direct.opened import Opened, tell
from choiros.kernel.errors import ChoirError

if TYPE_CHECKING:
    from choiros.cli.carried import Progress
    from choiros.settings import Resolved
    from choiros.wiring import Computer


class Carrying(Opened):
    """Exports, makes backups and tries them."""

    async def export(self, file: str, progress: Progress) -> Exported:
        """Write everything of the person into one new file, edits made outside included."""
        from choiros.wiring.portable.backups import check_outside, tar_archive
        from choiros.wiring.portable.packing import export

        path = absolute(file)
        check_outside(self._computer, self._resolved.home, path=path)
        await self._capture_all()
        done = await export(self._computer, tar_archive(path), progress=progress)
        manifest, written = done.manifest, done.written
        return Exported(
            str(path),
            written.size_bytes,
            written.sha256,
            manifest.user,
            manifest.seq,
            manifest.hash,
            manifest.contents.count,
        )

    async def back_up(self, progress: Progress) -> BackupDone:
        """Make a backup, edits made outside included."""
        from choiros.wiring.portable.backups import Backups

        await self._capture_all()
        made = await Backups(self._computer, self._resolved).make(automatic=False, progress=progress)
        return BackupDone(made.file, made.size_bytes, made.sha256, made.seq, list(made.removed))

    async def backups(self) -> list[BackupLine]:
        """Return the backups in the folder with what the log knows about each."""
        from choiros.wiring.portable.backups import Backups

        view = self._computer.backups
        made, drills = view.made(), view.drills()
        found: list[BackupLine] = []
        for kept in Backups(self._computer, self._resolved).kept():
            name = Path(kept.file).name
            known, drill = made.get(name), drills.get(name)
            found.append(
                BackupLine(
                    kept.file,
                    kept.timestamp,
                    kept.seq,
                    kept.size_bytes,
                    known.sha256 if known else None,
                    drill.timestamp if drill else None,
                    drill.error if drill else "",
                )
            )
        return found

    async def drill(self, progress: Progress) -> DrillResult:
        """Restore the newest backup in a place of its own and compare everything."""
        from choiros.wiring.portable.backups import Backups

        done = await Backups(self._computer, self._resolved).drill(progress=progress)
        return DrillResult(done.file, done.seq, done.ok, done.reason)

    async def _capture_all(self) -> None:
        """Record what was edited outside in every open workspace whose folder is there."""
        for workspace in self._computer.workspaces.all():
            if workspace.state == "open":
                await self._computer.merger.capture(workspace.id)


async def back_up_when_due(computer: Computer, resolved: Resolved) -> None:
    """Make a backup if one is due; that it could not be made is told and recorded, and keeps nobody from anything."""
    if not resolved.settings.backup.directory or not resolved.settings.backup.every_hours:
        return
    from choiros.wiring.portable.backups import Backups

    backups = Backups(computer, resolved)
    if not await backups.is_due():
        return
    try:
        await backups.make(automatic=True, progress=_silent)
    except ChoirError as trouble:
        tell(f"The backup that was due could not be made: {trouble.message} {trouble.fix}")


def absolute(file: str) -> Path:
    """Return the whole path of a file that is named on the command line."""
    return Path(file).absolute()


def _silent(what: str, done: int, of: int) -> None:  # noqa: PLR0917 - called by position
    """Say nothing: nobody asked for this backup just now."""
    del what, done, of
