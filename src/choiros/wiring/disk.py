"""The engines that keep everything below the data directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from choiros.settings import witnesses
from choiros.wiring.parts import Parts, Skip

if TYPE_CHECKING:
    from choiros.kernel.repository import Repository
    from choiros.kernel.tree import Tree
    from choiros.kernel.watch import Watcher
    from choiros.kernel.witness import Witness
    from choiros.kernel.worker import Worker
    from choiros.settings import Resolved


def disk_parts(resolved: Resolved) -> Parts:
    """Return the engines that keep everything below the data directory."""
    # Imported here, and some only where they are used: the start of every command waits for its imports.
    from choiros.engines.blob.disk import DiskBlobs  # noqa: PLC0415
    from choiros.engines.clock.system import SystemClock  # noqa: PLC0415
    from choiros.engines.ids.system import SystemIds  # noqa: PLC0415
    from choiros.engines.lock.file import FileLock  # noqa: PLC0415
    from choiros.engines.log.sqlite import SqliteLog  # noqa: PLC0415
    from choiros.engines.signer.file import FileSigner  # noqa: PLC0415
    from choiros.engines.tables.sqlite import SqliteCabinet  # noqa: PLC0415
    from choiros.engines.tree.disk import DiskTree  # noqa: PLC0415
    from choiros.engines.worker.inline import InlineWorker  # noqa: PLC0415

    settings = resolved.settings
    base = resolved.home / "users" / settings.user
    data, worker, clock = base / ".choir", InlineWorker(), SystemClock()
    for directory in (resolved.home, base.parent, base, data):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    guard = resolved.home / ".gitignore"
    if not guard.exists():
        # Whoever makes a repository of the data directory shall not commit anybody's log, keys or settings.
        guard.write_text("*\n", encoding="ascii")

    def place(workspace: str, folder: str | None) -> Path:
        if folder is not None:
            return Path(folder)
        return base / "workspace" if workspace == "main" else base / "workspaces" / workspace

    def folder_of(workspace: str, folder: str | None) -> tuple[Tree, bool]:
        path = place(workspace, folder)
        fresh = not path.is_dir()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return DiskTree(path, worker), fresh

    def repository_of(workspace: str, folder: str | None) -> Repository:
        from choiros.engines.repository.libgit import LibgitRepository  # noqa: PLC0415

        return LibgitRepository(
            data / "git" / f"{workspace}.git", worker, work_folder=place(workspace, folder)
        )

    def watcher_of(workspace: str, folder: str | None, skip: Skip) -> Watcher:  # noqa: PLR0917 - called by position
        from choiros.engines.watch.inotify import InotifyWatcher  # noqa: PLC0415

        return InotifyWatcher(place(workspace, folder), skip)

    return Parts(
        log=SqliteLog(lambda _: data / "log.db", worker, clock=clock),
        blobs=DiskBlobs(data / "blobs", worker, size_bytes_max=settings.files.size_bytes_max),
        cabinet=SqliteCabinet(data),
        clock=clock,
        ids=SystemIds(),
        lock=FileLock(data / "lock", clock),
        folder=folder_of,
        repository=repository_of,
        place=lambda workspace, folder: str(place(workspace, folder)),
        watcher=watcher_of,
        signer=FileSigner(Path(settings.proof.keys) if settings.proof.keys else data / "keys"),
        witnesses=tuple(_witness(one, data / "witnesses", worker=worker) for one in witnesses(settings)),
    )


def _witness(one: tuple[str, str, str], cache: Path, *, worker: Worker) -> Witness:
    """Return the engine for a witness of the settings."""
    name, kind, address = one
    match kind:
        case "file":
            from choiros.engines.witness.file import FileWitness  # noqa: PLC0415

            return FileWitness(name, Path(address), worker=worker)
        case "git":
            from choiros.engines.witness.git import GitWitness  # noqa: PLC0415

            return GitWitness(name, address, cache=cache / f"{name}.git", worker=worker)
        case _:
            from choiros.engines.witness.command import CommandWitness  # noqa: PLC0415

            return CommandWitness(name, address, worker=worker)
