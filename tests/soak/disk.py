"""A small real disk whose power can be cut: ext4 in an image, shut down by the kernel without its journal."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

SHUTDOWN = 0x8004587D
"""The ioctl FS_IOC_SHUTDOWN."""

WITHOUT_JOURNAL = 2
"""Nothing that is still in memory reaches the disk, as when the power fails."""


class SmallDisk:
    """An ext4 image, mounted."""

    def __init__(self, folder: Path, *, size_bytes: int = 64 << 20, inodes: int | None = None) -> None:
        self.place = folder / "disk"
        self._image = folder / "disk.img"
        folder.mkdir(parents=True, exist_ok=True)
        self._image.touch()
        os.truncate(self._image, size_bytes)
        few = ["-N", str(inodes)] if inodes else []
        run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", *few, str(self._image))
        self.place.mkdir()
        self.mount()

    def mount(self) -> None:
        """Mount the image; what was cut is recovered by the journal."""
        run("mount", "-o", "loop", str(self._image), str(self.place))

    def unmount(self) -> None:
        """Unmount it, as soon as nobody uses it any more."""
        for _ in range(200):
            if subprocess.run(["umount", self.place], check=False, capture_output=True).returncode == 0:
                return
            time.sleep(0.02)
        run("umount", str(self.place))

    def remount(self, how: str) -> None:
        """Mount it in another way: 'ro' or 'rw'."""
        run("mount", "-o", f"remount,{how}", str(self.place))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unmount()
        self._image.unlink()


def run(*words: str) -> None:
    """Run a program that must succeed."""
    subprocess.run(words, check=True, capture_output=True, timeout=60)


def cut(place: Path) -> None:
    """Cut the power of the disk that is mounted here."""
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", WITHOUT_JOURNAL))
    finally:
        os.close(descriptor)
