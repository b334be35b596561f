"""The engines that keep everything below the data directory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from choiros.kernel.errors import Unavailable
from choiros.settings import witnesses
from choiros.wiring.parts import Parts, Skip

if TYPE_CHECKING:
    from choiros.kernel.clock import Clock
    from choiros.kernel.repository import Repository
    from choiros.kernel.tree import Tree
    from choiros.kernel.watch import Watcher
    from choiros.kernel.witness import Witness
    from choiros.kernel.worker import Worker
    from choiros.settings import Resolved


def disk_parts(resolved: Resolved, *, worker: Worker | None = None, clock: Clock | None = None) -> Parts:
    """Return the engines that keep everything below the data directory.

    A simulator gives its own `worker` and `clock`; everybody else works at once and by the clock of the system.
    """
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
    data, worker, clock = base / ".choir", worker or InlineWorker(), clock or SystemClock()
    _prepare(resolved.home, base, data=data)

    def place(workspace: str, folder: str | None) -> Path:
        if folder is not None:
            return Path(folder)
        return base / "workspace" if workspace == "main" else base / "workspaces" / workspace

    def folder_of(workspace: str, folder: str | None) -> tuple[Tree, bool]:
        path = place(workspace, folder)
        fresh = not path.is_dir()
        _make_folder(path)
        return DiskTree(path, worker), fresh

    def repository_of(workspace: str, folder: str | None) -> Repository:
        from choiros.engines.repository.libgit import LibgitRepository  # noqa: PLC0415
        from choiros.features.files.ignore import CHECKPOINT_DEFAULTS, DEFAULTS  # noqa: PLC0415

        return LibgitRepository(
            data / "git" / f"{workspace}.git",
            worker,
            work_folder=place(workspace, folder),
            exclude=DEFAULTS + CHECKPOINT_DEFAULTS,
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
        witnesses=tuple(
            _witness(one, data / "witnesses", worker=worker)
            for one in witnesses(settings.proof.witnesses) or ()
        ),
    )


def _prepare(home: Path, base: Path, *, data: Path) -> None:
    """Make the directories that everything lies in; raises Unavailable (`home.unavailable`)."""
    try:
        _make(home, base.parent, base, data)
        _guard(home, data)
    except OSError as error:
        raise Unavailable(
            "home.unavailable",
            f"The data directory {home} cannot be used: {error.strerror}. Nothing was changed.",
            fix="Check the disk and the permissions of the data directory, then try again.",
            folder=str(home),
        ) from error


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


def _guard(*folders: Path) -> None:
    """Let nobody who makes a repository of one of these folders commit anybody's log, keys or settings."""
    for guard in (folder / ".gitignore" for folder in folders):
        if not guard.exists():
            guard.write_text("*\n", encoding="ascii")


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(
            "tree.unavailable",
            f"The workspace's folder {path} cannot be made: {error.strerror}.",
            fix="Check the disk, and what stands there now, then try again.",
            folder=str(path),
        ) from error


def _make(*directories: Path) -> None:
    """Make directories, each inside the one before it, and until there is a log bring their names onto the disk.

    What the log acknowledges is lost with a directory above it whose name a power cut has taken.
    """
    absent = [above for above in reversed(directories[0].parents) if not above.is_dir()]
    for directory in directories:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (directories[-1] / "log.db").exists():
        for directory in dict.fromkeys(
            [*(above.parent for above in absent), directories[0].parent, *directories]
        ):
            # Above the home there may be directories that are not ours to open.
            with suppress(PermissionError):
                _sync(directory)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
