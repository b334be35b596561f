"""The engines that keep everything below the data directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from choiros.kernel.errors import Corrupt
from choiros.wiring.parts import Parts, Skip

if TYPE_CHECKING:
    from choiros.kernel.repository import Repository
    from choiros.kernel.tree import Tree
    from choiros.kernel.watch import Watcher
    from choiros.settings import Resolved, Settings


def disk_parts(resolved: Resolved) -> Parts:
    """Return the engines that keep everything below the data directory, which is made if it is not there."""
    base = lay_ground(resolved.home) / resolved.settings.user
    return parts_at(base, resolved.settings)


def lay_ground(home: Path) -> Path:
    """Make the data directory if it is not there, and return the folder of all users."""
    users = home / "users"
    for directory in (home, users):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    guard = home / ".gitignore"
    if not guard.exists():
        # Whoever makes a repository of the data directory shall not commit anybody's log, keys or settings.
        guard.write_text("*\n", encoding="ascii")
    return users


def parts_at(base: Path, settings: Settings) -> Parts:
    """Return the engines that keep everything of one person below a folder, which is made if it is not there."""
    # Imported here, and some only where they are used: the start of every command waits for its imports.
    from choiros.engines.blob.disk import DiskBlobs  # noqa: PLC0415
    from choiros.engines.clock.system import SystemClock  # noqa: PLC0415
    from choiros.engines.ids.system import SystemIds  # noqa: PLC0415
    from choiros.engines.lock.file import FileLock  # noqa: PLC0415
    from choiros.engines.log.sqlite import SqliteLog  # noqa: PLC0415
    from choiros.engines.tables.sqlite import SqliteCabinet  # noqa: PLC0415
    from choiros.engines.tree.disk import DiskTree  # noqa: PLC0415
    from choiros.engines.worker.inline import InlineWorker  # noqa: PLC0415

    data, worker, clock = base / ".choir", InlineWorker(), SystemClock()
    for directory in (base, data):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def place(workspace: str, folder: str | None) -> Path:
        if folder is not None:
            return Path(folder)
        if "/" in workspace or workspace in {"", ".", ".."}:
            # Only a log that was forged holds such an id; it would lead out of the folder of all workspaces.
            raise Corrupt(
                "workspaces.bad_id",
                f"'{workspace}' cannot be the id of a workspace.",
                fix="Nothing was changed. The log does not come from ChoirOS; restore it from a backup.",
            )
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
    )
