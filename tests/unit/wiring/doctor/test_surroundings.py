"""What is said of disks, versions, permissions, and of what a crash left."""

import os
from pathlib import Path

import pytest

from choiros.kernel.path import TEMPORARY
from choiros.wiring.doctor.surroundings import (
    Disk,
    compare_disk,
    compare_versions,
    disk_of,
    kind_of,
    leftovers,
    permissions,
)

GB = 1_000_000_000
OK = Disk("ext4", 50 * GB, 100 * GB, 900, 1000)


@pytest.mark.parametrize(
    ("disk", "codes"),
    [
        (OK, []),
        (OK._replace(free_bytes=GB - 1, size_bytes=2 * GB), ["disk.space"]),
        (OK._replace(free_bytes=4 * GB), ["disk.space"]),
        (OK._replace(free_bytes=5 * GB), []),
        (OK._replace(inodes_free=49), ["disk.inodes"]),
        (OK._replace(inodes_free=0, inodes=0), []),
        (OK._replace(kind="tmpfs"), ["disk.volatile"]),
        (OK._replace(kind="9p"), ["disk.remote"]),
    ],
)
def test_a_disk_has_room_and_keeps_what_is_on_it(disk: Disk, codes: list[str]) -> None:
    assert [one.code for one in compare_disk(disk, where="here")] == codes


@pytest.mark.parametrize(
    ("python", "sqlite", "codes"),
    [
        ("3.11.0", "3.51.3", []),
        ("3.14.0rc1", "3.60", []),
        ("3.10.9", "3.51.3", ["versions.python"]),
        ("3.11.0", "3.51.2", ["versions.sqlite"]),
        ("3.11.0", "3.9.9", ["versions.sqlite"]),
    ],
)
def test_what_is_too_old_is_named(python: str, sqlite: str, codes: list[str]) -> None:
    assert [one.code for one in compare_versions(python, sqlite)] == codes


def test_the_kind_of_a_disk_is_read_from_its_device_number() -> None:
    mounts = [
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
        "31 22 0:27 / /dev/shm rw,nosuid - tmpfs tmpfs rw",
        "a line of another kind",
    ]
    assert kind_of(os.makedev(0, 27), mounts) == "tmpfs"
    assert kind_of(os.makedev(8, 1), mounts) == "ext4"
    assert kind_of(os.makedev(9, 9), mounts) == ""


def test_the_disk_below_a_path_is_known(tmp_path: Path) -> None:
    disk = disk_of(tmp_path)
    assert 0 < disk.free_bytes <= disk.size_bytes
    assert disk.kind


@pytest.mark.parametrize(("mode", "count"), [(0o700, 0), (0o710, 1), (0o701, 1), (0o755, 1)])
def test_a_directory_that_others_may_look_into_is_named(tmp_path: Path, mode: int, count: int) -> None:
    tmp_path.chmod(mode)
    assert len(permissions([tmp_path, tmp_path / "not there"])) == count


def test_what_living_processes_are_writing_is_no_leftover(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "folder"
    for path in (data / "blobs" / "tmp", data / "snapshots", folder / "deep"):
        path.mkdir(parents=True)
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    mine = f"{os.getpid()}-{started}-1"
    gone = "999999999-1-1"
    for path in (
        *(data / "blobs" / "tmp" / name for name in (mine, gone)),
        *(folder / "deep" / (TEMPORARY + name) for name in (mine, gone)),
        *(folder / name for name in ("next.sqlite", "note.txt")),
        *(data / name for name in ("state.sqlite", "state.next.sqlite", "state.next.sqlite-wal")),
        *(data / "snapshots" / name for name in ("next.sqlite", "000000000001-ab.sqlite")),
    ):
        path.write_bytes(b"")
    assert [path.relative_to(tmp_path).as_posix() for path in leftovers(data, [str(folder)])] == [
        "data/state.next.sqlite",
        "data/state.next.sqlite-wal",
        "data/snapshots/next.sqlite",
        f"data/blobs/tmp/{gone}",
        f"folder/deep/{TEMPORARY}{gone}",
    ]
