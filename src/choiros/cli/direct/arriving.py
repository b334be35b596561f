"""What brings a whole computer in from a file, so that nothing of it is open yet."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from choiros.cli.carried import Imported, RestoreSummary, Standing
from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import SqliteLog
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import ChoirError, Conflict, Rejected
from choiros.wiring import disk_parts, open_computer
from choiros.wiring.portable.arriving import Arrival, bring_in, restore
from choiros.wiring.portable.backups import tar_archive
from choiros.wiring.portable.unpacking import check, other_user, read_manifest

if TYPE_CHECKING:
    from choiros.cli.carried import Progress
    from choiros.settings import Resolved


async def import_file(resolved: Resolved, file: str, *, progress: Progress) -> Imported:
    """Bring a file in where the person has no data yet, and let the folders show what it holds."""
    path = _found(file)
    arrival = await bring_in(resolved, tar_archive(path), file=str(path), progress=progress)
    return await _settled(resolved, path, arrival=arrival, aside=None)


async def restore_file(resolved: Resolved, file: str, *, progress: Progress) -> Imported:
    """Bring a file in, what stands there put aside, and let the folders show what it holds."""
    path = _found(file)
    name = f"{resolved.settings.user}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    arrival, aside = await restore(resolved, tar_archive(path), file=str(path), name=name, progress=progress)
    return await _settled(resolved, path, arrival=arrival, aside=aside)


async def summarise(resolved: Resolved, file: str, *, progress: Progress) -> RestoreSummary:
    """Return what a restore would do, after checking all of the file; nothing is changed."""
    path = _found(file)
    manifest = await check(tar_archive(path), progress=progress)
    if manifest.user != resolved.settings.user:
        raise other_user(manifest.user, resolved.settings.user)
    return RestoreSummary(
        str(path),
        manifest.user,
        manifest.product,
        manifest.seq,
        manifest.hash,
        manifest.contents.count,
        path.stat().st_size,
        await _standing(resolved),
    )


async def check_same(resolved: Resolved, seen: RestoreSummary) -> None:
    """Raise Conflict (`confirm.changed`) when the file, or what stands there, is not what the person saw."""
    manifest = await read_manifest(tar_archive(Path(seen.file)))
    if manifest.hash != seen.hash or await _standing(resolved) != seen.now:
        raise Conflict(
            "confirm.changed",
            "Something changed while the question stood there; nothing was done.",
            fix="Give the command again, and look at the new preview.",
        )


async def _standing(resolved: Resolved) -> Standing | None:
    """Return what stands in the person's place; what cannot be read is no reason not to restore."""
    place = resolved.home / "users" / resolved.settings.user
    if not place.exists():
        return None
    if not (place / ".choir" / "log.db").exists():
        return Standing(str(place), None, None)
    log = SqliteLog(
        lambda _: place / ".choir" / "log.db", InlineWorker(), clock=SystemClock(), read_only=True
    )
    try:
        head = await log.head(resolved.settings.user)
    except ChoirError:
        return Standing(str(place), None, None)
    finally:
        await log.close()
    return Standing(str(place), head.seq, head.hash.hex())


async def _settled(resolved: Resolved, path: Path, *, arrival: Arrival, aside: str | None) -> Imported:
    """Let the folders of ChoirOS's own workspaces show what has come in; it is all there whatever becomes of them."""
    manifest, files, warnings = arrival.manifest, 0, list[str]()
    try:
        computer = await open_computer(
            disk_parts(resolved), resolved.settings, write=True, notice=warnings.append
        )
        try:
            for one in computer.workspaces.all():
                if one.state == "open":
                    files += (await computer.merger.capture(one.id)).restored
            await computer.keep_snapshot()
        finally:
            await computer.close()
    except ChoirError as trouble:
        warnings.append(f"{trouble.message} {trouble.fix}")
    return Imported(
        str(path),
        manifest.user,
        manifest.seq,
        manifest.hash,
        manifest.contents.count,
        files,
        aside,
        dict(arrival.put_away),
        list(arrival.uncompared),
        warnings,
    )


def _found(file: str) -> Path:
    path = Path(file).absolute()
    if not path.exists():
        raise Rejected(
            "archive.not_found",
            f"There is no file {path}.",
            fix="Name a file that 'choir export' or 'choir backup' has written.",
            file=str(path),
        )
    return path
