"""Backups in a folder on another disk: made, read back, tried out, and removed when newer ones stand in for them."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from choiros.features.backups.commands import ReportBackup, ReportDrill, ReportFailure
from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone
from choiros.features.backups.schedule import is_due, outdated
from choiros.kernel.command import Context
from choiros.kernel.errors import ChoirError, Corrupt, Rejected, Unavailable
from choiros.wiring.portable.arriving import rehearse
from choiros.wiring.portable.packing import export
from choiros.wiring.portable.unpacking import check

if TYPE_CHECKING:
    from choiros.features.backups.commands import BackupCommand
    from choiros.kernel.archive import Archive
    from choiros.settings import Resolved
    from choiros.wiring.computer import Computer
    from choiros.wiring.portable.packing import Progress

STAMP = "%Y%m%dT%H%M%S"


class Kept(Struct, frozen=True):
    """A backup that lies in the folder."""

    file: str
    timestamp: int
    seq: int
    size_bytes: int


def tar_archive(path: Path) -> Archive:
    """Return the archive in a file."""
    from choiros.engines.archive.tar import TarArchive  # noqa: PLC0415
    from choiros.engines.worker.inline import InlineWorker  # noqa: PLC0415

    return TarArchive(path, InlineWorker())


class Backups:
    """The backups of one person, whose lock is held."""

    def __init__(self, computer: Computer, resolved: Resolved) -> None:
        self._computer = computer
        self._resolved = resolved
        self._settings = resolved.settings.backup
        user = re.escape(resolved.settings.user)
        self._name = re.compile(rf"choir-{user}-(\d{{8}}T\d{{6}})Z-(\d{{1,18}})\.tar")

    @property
    def is_configured(self) -> bool:
        """Return whether there is a folder for backups."""
        return bool(self._settings.directory)

    async def is_due(self) -> bool:
        """Return whether an automatic backup is to be made now."""
        if not self.is_configured:
            return False
        newest = self._computer.backups.newest()
        failed = newest is not None and bool(newest.error)
        if newest is not None and not failed and (await self._computer.journal.head()).seq == newest.seq:
            return False
        now_ms = self._computer.parts.clock.now_ms()
        last_ms = newest.timestamp if newest else None
        return is_due(now_ms, last_ms, failed=failed, every_hours=self._settings.every_hours)

    def kept(self) -> list[Kept]:
        """Return the backups that lie in the folder, the newest first."""
        found: list[Kept] = []
        for path in self._directory().iterdir():
            match = self._name.fullmatch(path.name)
            if match and path.is_file() and not path.is_symlink():
                moment = datetime.strptime(match[1], STAMP).replace(tzinfo=UTC)
                found.append(
                    Kept(str(path), int(moment.timestamp()) * 1000, int(match[2]), path.stat().st_size)
                )
        return sorted(found, key=lambda one: (one.timestamp, one.seq), reverse=True)

    async def make(self, *, automatic: bool, progress: Progress) -> BackupMade:
        """Make a backup, read it back, record it, and only then remove older ones.

        Raises what keeps it from being made; that is recorded too.
        """
        try:
            made = await self._make(automatic=automatic, progress=progress)
        except ChoirError as trouble:
            await self._report(ReportFailure(BackupFailed(trouble.message, automatic)), automatic=automatic)
            raise
        await self._report(ReportBackup(made), automatic=automatic)
        for name in made.removed:
            with suppress(OSError):
                (self._directory() / name).unlink(missing_ok=True)
        return made

    async def _make(self, *, automatic: bool, progress: Progress) -> BackupMade:
        now_ms = self._computer.parts.clock.now_ms()
        stamp = datetime.fromtimestamp(now_ms // 1000, UTC).strftime(STAMP)
        seq = (await self._computer.journal.head()).seq
        path = self._directory() / f"choir-{self._resolved.settings.user}-{stamp}Z-{seq}.tar"
        archive = tar_archive(path)
        exported = await export(self._computer, archive, progress=progress)
        try:
            if await check(archive, progress=progress) != exported.manifest:
                raise _unlike(path)
        except ChoirError:
            path.unlink(missing_ok=True)
            raise
        written, manifest = exported.written, exported.manifest
        removed = self._outdated(path.name)
        return BackupMade(
            str(path), written.sha256, written.size_bytes, manifest.seq, manifest.hash, automatic, removed
        )

    def _outdated(self, newest: str) -> tuple[str, ...]:
        """Return the names of older backups that give way to the newest one.

        Only what this history knows is among them: after a restore, others may hold what came later.
        """
        known = {*self._computer.backups.made(), newest}
        moments = {name: one.timestamp for one in self.kept() if (name := Path(one.file).name) in known}
        settings = self._settings
        return tuple(outdated(moments, keep_daily=settings.keep_daily, keep_weekly=settings.keep_weekly))

    async def drill(self, *, progress: Progress) -> DrillDone:
        """Restore the newest backup in a place of its own, compare all views, and record whether it went well."""
        kept = self.kept()
        if not kept:
            raise Rejected(
                "backup.none",
                f"There is no backup in {self._settings.directory} that could be tried.",
                fix="Make one first: 'choir backup'.",
            )
        newest = kept[0]
        try:
            manifest = await rehearse(self._resolved, tar_archive(Path(newest.file)), progress=progress)
            done = DrillDone(newest.file, manifest.seq, ok=True)
        except ChoirError as trouble:
            done = DrillDone(newest.file, newest.seq, ok=False, reason=trouble.message)
        await self._report(ReportDrill(done), automatic=False)
        return done

    def _directory(self) -> Path:
        """Return the folder for backups; raises Rejected or Unavailable (`backup.*`) when there is none."""
        if not self.is_configured:
            raise Rejected(
                "backup.not_configured",
                "It is not set where backups shall go.",
                fix="Name a folder on another disk: choir config backup.directory /media/disk/choir",
            )
        path = Path(self._settings.directory).expanduser()
        if not path.is_absolute():
            raise Rejected(
                "backup.bad_directory",
                f"The setting backup.directory is '{path}', which does not begin at the root of all folders.",
                fix="Set it to a full path, such as /media/disk/choir.",
            )
        check_outside(self._computer, self._resolved.home, path=path)
        if not path.is_dir():
            # It is not made here: where a disk is missing, its place on this one would be filled.
            raise Unavailable(
                "backup.no_directory",
                f"The folder for backups is not there: {path}.",
                fix="Connect the disk it is on, or make the folder, then try again.",
            )
        return path

    async def _report(self, command: BackupCommand, *, automatic: bool) -> None:
        user = self._resolved.settings.user
        await self._computer.kernel.handle(command, Context(user, source="system" if automatic else "user"))


def check_outside(computer: Computer, home: Path, *, path: Path) -> None:
    """Raise Rejected (`backup.inside`) when a copy would become a part of what it copies."""
    place = path.resolve()
    for workspace in computer.workspaces.all():
        folder = Path(computer.place(workspace)).resolve()
        if workspace.state == "open" and folder in [place, *place.parents]:
            raise _inside(path, f"the workspace '{workspace.name}'")
    if home.resolve() in [place, *place.parents]:
        raise _inside(path, "ChoirOS's own data directory")


def _inside(path: Path, what: str) -> Rejected:
    return Rejected(
        "backup.inside",
        f"{path} lies inside {what}: the copy would become a part of what it copies.",
        fix="Choose a folder elsewhere, best on another disk.",
    )


def _unlike(path: Path) -> Corrupt:
    return Corrupt(
        "backup.unlike",
        f"{path.name} is not what was written when it is read back; it was removed.",
        fix="Check that disk, or choose another one. The older backups are as they were.",
    )
