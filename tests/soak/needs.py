"""What the real faults need of the machine, and the reasons for doing without."""

from __future__ import annotations

import ctypes.util
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


def need_program(name: str, package: str) -> str:
    """Return where a program is; without it the test is skipped, naming the Debian package."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"allowed: {name} is missing: install the Debian package {package}")
    return found


def need_strace() -> None:
    """Skip where no process may be traced."""
    need_program("strace", "strace")
    if not _may_trace():
        pytest.skip("allowed: this machine lets no process trace another (ptrace)")


@functools.cache
def _may_trace() -> bool:
    done = subprocess.run(["strace", "-o", os.devnull, "true"], check=False, capture_output=True)
    return done.returncode == 0


def need_library(name: str, package: str) -> str:
    """Return a library that can be preloaded."""
    found = ctypes.util.find_library(name)
    places = [path for way in ("", "*/", "*/*/") for path in Path("/usr/lib").glob(f"{way}lib{name}.so*")]
    if not found and not places:
        pytest.skip(f"allowed: lib{name} is missing: install the Debian package {package}")
    return str(max(places)) if places else str(found)


def need_mounts() -> None:
    """Skip where this person cannot mount an image of a disk."""
    if os.geteuid() != 0:
        pytest.skip("allowed: only root can mount a disk image")
    need_program("mkfs.ext4", "e2fsprogs")
    if not _may_mount():
        pytest.skip("allowed: this machine has no loop devices to mount a disk image with")


@functools.cache
def _may_mount() -> bool:
    with tempfile.TemporaryDirectory(prefix="choiros-mount-") as name:
        image, place = Path(name, "image"), Path(name, "disk")
        image.write_bytes(b"")
        os.truncate(image, 8 << 20)
        place.mkdir()
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        done = subprocess.run(["mount", "-o", "loop", image, place], check=False, capture_output=True)
        if done.returncode == 0:
            subprocess.run(["umount", place], check=True)
        return done.returncode == 0
