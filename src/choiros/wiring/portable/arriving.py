"""Brings an exported file in: everything is made ready beside, checked and compared, and then takes its place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace as with_fields

from choiros.features.backups.commands import ReportImport
from choiros.features.backups.events import HistoryImported
from choiros.features.workspaces.commands import ArchiveWorkspace, CreateWorkspace
from choiros.kernel.command import Context
from choiros.kernel.errors import Unavailable
from choiros.settings import ProofSettings
from choiros.wiring.computer import Computer
from choiros.wiring.disk import parts_at
from choiros.wiring.portable.manifest import Manifest, newer
from choiros.wiring.portable.scrutiny import scrutinise
from choiros.wiring.portable.staging import Staging, explained, staging, taken
from choiros.wiring.portable.unpacking import Unpacking, differs

if TYPE_CHECKING:
    from choiros.features.workspaces.view import Workspace
    from choiros.kernel.archive import Archive
    from choiros.kernel.event import Record
    from choiros.settings import Resolved
    from choiros.wiring.parts import Parts
    from choiros.wiring.portable.packing import Progress

FLUSHED_TOGETHER = 512
EVENTS_A_STEP = 20_000


class Arrival(Struct, frozen=True):
    """What has taken its place.

    `put_away` names workspaces in folders of the person's own, with the folders: a file from elsewhere must not
    write there before the person says so. `uncompared` names views that another version of ChoirOS keeps.
    """

    manifest: Manifest
    put_away: tuple[tuple[str, str], ...]
    uncompared: tuple[str, ...]


class Staged:
    """Takes what a file holds into engines that lie beside."""

    def __init__(self, parts: Parts, user: str) -> None:
        self._parts = parts
        self._user = user
        self._waiting = 0

    async def events(self, records: list[Record]) -> None:
        """Append the records as they are."""
        await self._parts.log.append(self._user, records)

    async def content(self, chunks: AsyncIterator[bytes]) -> str:
        """Store the content."""
        digest = await self._parts.blobs.put(chunks)
        self._waiting += 1
        if self._waiting >= FLUSHED_TOGETHER:
            await self.flush()
        return digest

    async def flush(self) -> None:
        """Bring all contents onto the disk."""
        self._waiting = 0
        await self._parts.blobs.flush()


async def bring_in(resolved: Resolved, archive: Archive, *, file: str, progress: Progress) -> Arrival:
    """Bring a file in where the person has no data yet.

    Raises Rejected (`import.exists`, `import.other_user`, `import.newer`) and Corrupt naming the place; then
    nothing is left.
    """
    place = resolved.home / "users" / resolved.settings.user
    if place.exists():
        raise taken(place)
    with staging(resolved.home, resolved.settings.user) as stage:
        arrival = await _make_ready(
            stage, resolved, archive=archive, file=file, aside=None, progress=progress
        )
        with explained():
            stage.take_place()
    return arrival


async def replace(
    resolved: Resolved, archive: Archive, *, file: str, name: str, progress: Progress
) -> Arrival:
    """Bring a file in where the person has data, which is kept aside under a name.

    The lock of that data must be held. Raises as `bring_in` does; then the data is as it was.
    """
    with staging(resolved.home, resolved.settings.user) as stage:
        aside = str(resolved.home / "aside" / name)
        arrival = await _make_ready(
            stage, resolved, archive=archive, file=file, aside=aside, progress=progress
        )
        with explained():
            stage.take_keys()
        stage.change_places(name)
    # Keys that lie elsewhere remember the log that was put aside: it was replaced on purpose.
    signer = parts_at(resolved.home / "users" / resolved.settings.user, resolved.settings).signer
    if signer.remembered(resolved.settings.user):
        signer.remember(resolved.settings.user, "")
    return arrival


async def rehearse(resolved: Resolved, archive: Archive, *, progress: Progress) -> Manifest:
    """Make a file ready beside, check and compare everything, and throw it away again."""
    with staging(resolved.home, resolved.settings.user) as stage:
        computer, manifest, _ = await _derived(stage, resolved, archive=archive, progress=progress)
        await computer.close()
    return manifest


async def _make_ready(
    stage: Staging, resolved: Resolved, *, archive: Archive, file: str, aside: str | None, progress: Progress
) -> Arrival:
    computer, manifest, uncompared = await _derived(stage, resolved, archive=archive, progress=progress)
    try:
        await computer.start()
        imported = HistoryImported(file, manifest.seq, manifest.hash, manifest.contents.count, aside)
        context = Context(resolved.settings.user)
        await computer.kernel.handle(ReportImport(imported), context)
        put_away = await _put_away(computer)
    finally:
        await computer.close()
    return Arrival(manifest, put_away, uncompared)


async def _derived(
    stage: Staging, resolved: Resolved, *, archive: Archive, progress: Progress
) -> tuple[Computer, Manifest, tuple[str, ...]]:
    """Return an open computer of what the file holds, after everything was checked and compared."""
    settings = resolved.settings
    # Keys that lie elsewhere belong to the log that is there now, and no witness is told before the switch.
    parts = parts_at(stage.base, with_fields(settings, proof=ProofSettings()))
    try:
        sink = Staged(parts, settings.user)
        manifest = await Unpacking(archive, user=settings.user, progress=progress).into(sink)
        await sink.flush()
        computer = Computer(parts, settings, tables=parts.cabinet.open())
    except BaseException:
        await parts.log.close()
        raise
    try:
        uncompared = await _derive(computer, manifest, progress=progress)
        await scrutinise(computer, manifest.contents.count)
    except BaseException:
        await computer.close()
        raise
    return computer, manifest, uncompared


async def _derive(computer: Computer, manifest: Manifest, *, progress: Progress) -> tuple[str, ...]:
    """Make every view from the events and compare it with what the manifest tells; return what cannot be compared."""
    known = {one.name: one.version for one in computer.projectors.views}
    for name, told in manifest.views.items():
        if told.version > known.get(name, 0):
            raise newer(f"has version {told.version} of the view '{name}'", f"version {known.get(name, 0)}")
    computer.projectors.prepare()
    for seq in [*range(EVENTS_A_STEP, manifest.seq, EVENTS_A_STEP), manifest.seq]:
        await computer.projectors.catch_up(until=seq)
        progress("deriving the state", seq, manifest.seq)
    found = computer.projectors.digests()
    same = [name for name, told in manifest.views.items() if told.version == known[name]]
    wrong = [name for name in same if found[name] != manifest.views[name].digest]
    if wrong:
        raise differs(wrong)
    return tuple(sorted(known.keys() - set(same)))


async def _put_away(computer: Computer) -> tuple[tuple[str, str], ...]:
    """Archive every open workspace in a folder of the person's own, so that nothing is written there unasked."""
    found = [one for one in computer.workspaces.all() if one.state == "open"]
    own = [(one.name, one.folder) for one in found if one.folder is not None]
    context = Context(computer.settings.user, source="system")
    if own and len(own) == len(found):
        await computer.kernel.handle(CreateWorkspace(_free_name(computer.workspaces.all())), context)
    for name, _ in own:
        await computer.kernel.handle(ArchiveWorkspace(name), context)
    return tuple(own)


def _free_name(known: list[Workspace]) -> str:
    used = {one.name for one in known}
    return next(
        name for name in ("main", *(f"main {number}" for number in range(2, 10_000))) if name not in used
    )


async def restore(
    resolved: Resolved, archive: Archive, *, file: str, name: str, progress: Progress
) -> tuple[Arrival, str | None]:
    """Bring a file in, and keep aside what stands in the person's place; return where that is now."""
    place = resolved.home / "users" / resolved.settings.user
    if not place.exists():
        return await bring_in(resolved, archive, file=file, progress=progress), None
    lock = None
    if (place / ".choir").is_dir():
        # The lock alone: what is to be replaced may be damaged, and is not opened.
        lock = parts_at(place, resolved.settings).lock
        await lock.acquire(resolved.settings.lock_timeout_s)
    try:
        arrival = await replace(resolved, archive, file=file, name=name, progress=progress)
    except OSError as error:
        raise Unavailable(
            "import.unavailable",
            f"What is there could not be put aside: {error.strerror}.",
            fix="Look into the data directory: what was there is still there, or in its folder 'aside'.",
        ) from error
    finally:
        if lock is not None:
            lock.release()
    return arrival, str(resolved.home / "aside" / name)
