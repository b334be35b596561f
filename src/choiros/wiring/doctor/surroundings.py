"""What a computer stands on: the disk, the versions of what it is made of, the lock, what a crash left."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from choiros import __version__
from choiros.engines.blob.disk.temporary import is_left_over as is_left_over_blob
from choiros.engines.tree.disk.temporary import is_left_over, is_temporary
from choiros.features.proof.note import parse_key
from choiros.kernel.errors import Rejected, Unavailable
from choiros.wiring.doctor.case import Case, Looked
from choiros.wiring.doctor.finding import Finding, found

PYTHON_MIN = (3, 11)
SQLITE_MIN = (3, 51, 3)
SPACE_BYTES_MIN = 1_000_000_000
SHARE_MIN = 0.05
WAIT_S = 2
VOLATILE = frozenset({"tmpfs", "ramfs", "devtmpfs"})
REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "vboxsf", "fuse.sshfs", "fuse.davfs", "afs"})


class Disk(NamedTuple):
    """What is known of the disk that the data lies on."""

    kind: str
    free_bytes: int
    size_bytes: int
    inodes_free: int
    inodes: int


async def look_at_settings(case: Case) -> Looked:
    """Read what no start reads: the keys of witnesses. What a start refuses was found before."""
    findings: list[Finding] = []
    for key in case.resolved.settings.proof.witness_keys.split():
        try:
            parse_key(key)
        except Rejected as error:
            findings.append(found("settings.witness_key", error.message, where=key))
    return Looked(findings, str(case.resolved.file))


async def look_at_versions(case: Case) -> Looked:
    """Compare the versions of what we are made of with the oldest that is safe."""
    # Both take long to import, and only who asks for their version needs them here.
    import apsw  # noqa: PLC0415
    import pygit2  # noqa: PLC0415

    del case
    sqlite, python = apsw.sqlite_lib_version(), sys.version.partition(" ")[0]
    names = {"ChoirOS": __version__, "Python": python, "SQLite": sqlite, "libgit2": pygit2.LIBGIT2_VERSION}
    return Looked(compare_versions(python, sqlite), ", ".join(f"{name} {one}" for name, one in names.items()))


def compare_versions(python: str, sqlite: str) -> list[Finding]:
    """Return what is too old."""
    findings: list[Finding] = []
    if _numbers(python) < PYTHON_MIN:
        findings.append(found("versions.python", f"This is Python {python}.", where=sys.executable))
    if _numbers(sqlite) < SQLITE_MIN:
        findings.append(found("versions.sqlite", f"This is SQLite {sqlite}.", where="SQLite"))
    return findings


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int("".join(letter for letter in part if letter.isdigit()) or 0) for part in parts)


async def look_at_disk(case: Case) -> Looked:
    """Look at the room that is left, the kind of disk, and who else may look in."""
    if not case.folder.is_dir():
        return Looked([], "not in use yet")
    disk = disk_of(case.folder)
    findings = [*compare_disk(disk, where=str(case.folder)), *permissions([case.folder, case.data])]
    return Looked(findings, f"{disk.free_bytes:,} bytes free on {disk.kind}")


def disk_of(path: Path) -> Disk:
    """Return what the system says about the disk below a path."""
    found_there = os.statvfs(path)
    kind = ""
    with suppress(OSError):
        kind = kind_of(path.stat().st_dev, _mounts())
    return Disk(
        kind or "a disk of unknown kind",
        found_there.f_bavail * found_there.f_frsize,
        found_there.f_blocks * found_there.f_frsize,
        found_there.f_favail,
        found_there.f_files,
    )


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()


def kind_of(device: int, mounts: Iterable[str]) -> str:
    """Return the type of the file system with this device number, '' when no line of mountinfo is about it."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts:
        before, _, behind = line.partition(" - ")
        if before.split()[2:3] == [wanted]:
            return behind.split()[0]
    return ""


def compare_disk(disk: Disk, *, where: str) -> list[Finding]:
    """Return what the disk lacks."""
    findings: list[Finding] = []
    if disk.free_bytes < SPACE_BYTES_MIN or disk.free_bytes < disk.size_bytes * SHARE_MIN:
        what = f"{disk.free_bytes:,} of {disk.size_bytes:,} bytes are free."
        findings.append(found("disk.space", what, where=where))
    if disk.inodes and disk.inodes_free < disk.inodes * SHARE_MIN:
        what = f"{disk.inodes_free:,} of {disk.inodes:,} inodes are free."
        findings.append(found("disk.inodes", what, where=where))
    if disk.kind in VOLATILE:
        findings.append(found("disk.volatile", f"The file system is {disk.kind}.", where=where))
    if disk.kind in REMOTE:
        findings.append(found("disk.remote", f"The file system is {disk.kind}.", where=where))
    return findings


def permissions(directories: Iterable[Path]) -> list[Finding]:
    """Return which of these directories others may look into."""
    findings: list[Finding] = []
    for path in directories:
        mode = stat.S_IMODE(path.stat().st_mode) if path.is_dir() else 0
        if mode & 0o077:
            findings.append(found("disk.permissions", f"Its permissions are {mode:o}.", where=str(path)))
    return findings


async def look_at_lock(case: Case) -> Looked:
    """Take the lock, so that nothing moves while it is looked at; it is let go when the look is over."""
    parts = case.needed()
    try:
        await parts.lock.acquire(min(WAIT_S, case.resolved.settings.lock_timeout_s))
    except Unavailable as error:
        if error.code == "lock.held":
            return Looked([found("lock.held", error.message, where=str(case.data / "lock"))], "held")
        # Nobody else can write there either.
        case.is_steady = True
        return Looked([found("lock.unwritable", error.message, where=str(case.data))], "cannot be taken")
    case.is_steady = True
    return Looked([], "free")


async def look_at_leftovers(case: Case) -> Looked:
    """Name what a crash left half made, before anything else sweeps it away."""
    case.steady()
    places = [workspace.place for workspace in case.open_workspaces()] if case.computer else []
    findings = [
        found("leftovers.left", "A crash left it half made.", where=str(path))
        for path in leftovers(case.data, places)
    ]
    return Looked(findings, "none")


def leftovers(data: Path, folders: Iterable[str]) -> Iterator[Path]:
    """Yield what a process that is gone left behind in the data directory and in these folders."""
    yield from sorted(data.glob("state.next.sqlite*"))
    yield from sorted((data / "snapshots").glob("next.sqlite*"))
    yield from sorted(one for one in (data / "blobs" / "tmp").glob("*") if is_left_over_blob(one.name))
    for folder in folders:
        for top, _, names in os.walk(folder):
            yield from (Path(top, one) for one in sorted(names) if is_temporary(one) and is_left_over(one))
