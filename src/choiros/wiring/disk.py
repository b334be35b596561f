"""The engines that keep everything below the data directory."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from choiros.kernel.errors import Corrupt, Unavailable
from choiros.settings import witnesses
from choiros.wiring.parts import Parts, Skip

if TYPE_CHECKING:
    from choiros.engines.repository.libgit.sign_in import SshAgent
    from choiros.kernel.clock import Clock
    from choiros.kernel.repository import Repository
    from choiros.kernel.tree import Tree
    from choiros.kernel.watch import Watcher
    from choiros.kernel.witness import Witness
    from choiros.kernel.worker import Worker
    from choiros.settings import Resolved, Settings


def disk_parts(resolved: Resolved, *, worker: Worker | None = None, clock: Clock | None = None) -> Parts:
    """Return the engines that keep everything below the data directory, which is made if it is not there.

    A simulator gives its own `worker` and `clock`; everybody else works at once and by the clock of the system.
    """
    base = lay_ground(resolved.home) / resolved.settings.user
    return parts_at(base, resolved.settings, worker=worker, clock=clock)


def lay_ground(home: Path) -> Path:
    """Make the data directory if it is not there, and return the folder of all users.

    Raises Unavailable (`home.unavailable`).
    """
    users = home / "users"
    with _explained(home):
        absent = [above for above in reversed(home.parents) if not above.is_dir()]
        for directory in (home, users):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for above in absent:
            with suppress(PermissionError):
                _sync(above.parent)
        _guard(home)
    return users


def parts_at(
    base: Path, settings: Settings, *, worker: Worker | None = None, clock: Clock | None = None
) -> Parts:
    """Return the engines that keep everything of one person below a folder, which is made if it is not there."""
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

    data, worker, clock = base / ".choir", worker or InlineWorker(), clock or SystemClock()
    with _explained(base):
        _make(base.parent.parent, base.parent, base, data)
        _guard(data)

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
            sign_in=_sign_in,
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
        witnesses=_witnesses(settings.proof.witnesses, data / "witnesses", worker=worker),
    )


@contextmanager
def _explained(place: Path) -> Generator[None]:
    """Tell that the directories in which everything lies cannot be made."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            "home.unavailable",
            f"The data directory {place} cannot be used: {error.strerror}. Nothing was changed.",
            fix="Check the disk and the permissions of the data directory, then try again.",
            folder=str(place),
        ) from error


def _sign_in(url: str) -> SshAgent | None:
    """Return what a push shows at an address that a person has allowed: the keys of the ssh agent, for ssh alone."""
    from choiros.engines.repository.libgit.sign_in import SshAgent  # noqa: PLC0415

    return SshAgent() if url.startswith("ssh://") else None


def _witnesses(wanted: str, cache: Path, *, worker: Worker) -> tuple[Witness, ...]:
    """Return the engines for the witnesses of the settings."""
    return tuple(_witness(one, cache, worker=worker) for one in witnesses(wanted) or ())


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
    for directory in directories:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (directories[-1] / "log.db").exists():
        return
    for directory in (directories[0].parent, *directories):
        # Above the home there may be directories that are not ours to open.
        with suppress(PermissionError):
            _sync(directory)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
