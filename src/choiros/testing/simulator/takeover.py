"""Puts simulated calls in the place of the real ones, for everything that lies on the simulated disk.

No engine knows of it: `os`, `io.open`, `fcntl` and SQLite's file layer are answered from memory for paths below
one prefix and for descriptors that lead there; all other calls go where they always go.
"""

from __future__ import annotations

import fcntl
import io
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from choiros.engines.blob.disk import syncing as blob_syncing
from choiros.engines.tree.disk import renames
from choiros.engines.tree.disk import syncing as tree_syncing
from choiros.testing.simulator.calls import FIRST_DESCRIPTOR, Calls

Call = Callable[..., Any]
Places = list[tuple[ModuleType, str, Call]]

_BY_DESCRIPTOR = ("read", "pread", "write", "pwrite", "lseek", "ftruncate", "fsync")
_BY_PATH = ("open", "mkdir", "symlink", "readlink", "unlink", "rmdir", "chmod")


@contextmanager
def taken_over(calls: Calls) -> Generator[None]:
    """Answer all calls about the simulated disk for the block."""
    places = [*_descriptor_calls(calls), *_path_calls(calls), *_other_calls(calls)]
    before = [(module, name, getattr(module, name)) for module, name, _ in places]
    try:
        for module, name, call in places:
            setattr(module, name, call)
        yield
    finally:
        for module, name, call in before:
            setattr(module, name, call)


def _descriptor_calls(calls: Calls) -> Places:
    return [
        (os, name, _by_descriptor(getattr(os, name), getattr(calls, name))) for name in _BY_DESCRIPTOR
    ] + [
        (os, "close", _by_descriptor(os.close, calls.close)),
        (os, "fstat", _by_descriptor(os.fstat, calls.stat)),
        (os, "fchmod", _by_descriptor(os.fchmod, calls.chmod)),
    ]


def _by_descriptor(real: Call, simulated: Call) -> Call:
    def call(descriptor: int, *values: Any) -> Any:
        return (simulated if descriptor >= FIRST_DESCRIPTOR else real)(descriptor, *values)

    return call


def _path_calls(calls: Calls) -> Places:
    places: Places = []
    for name in _BY_PATH:
        argument = 1 if name == "symlink" else 0
        places.append((os, name, _by_path(getattr(os, name), getattr(calls, name), calls, argument)))
    places.append((os, "remove", _by_path(os.remove, calls.unlink, calls, 0)))
    return places


def _by_path(real: Call, simulated: Call, calls: Calls, argument: int) -> Call:
    def call(*values: Any, dir_fd: int | None = None, **options: Any) -> Any:
        if calls.is_ours(values[argument], dir_fd):
            return simulated(*values, dir_fd=dir_fd, **_known(options))
        if dir_fd is not None:
            options["dir_fd"] = dir_fd
        return real(*values, **options)

    return call


def _known(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name == "mode"}


def _other_calls(calls: Calls) -> Places:
    return [
        *_looks(calls),
        (os, "getpid", lambda: calls.process),
        (io, "open", _open_file(calls)),
        (fcntl, "flock", _by_descriptor(fcntl.flock, calls.flock)),
        # Nobody holds a lease: whoever writes in the folder does so at once.
        (fcntl, "fcntl", _by_descriptor(fcntl.fcntl, calls.control)),
        *((module, "syncfs", calls.syncfs) for module in (blob_syncing, tree_syncing)),
        (renames, "renameat2", calls.renameat2),
    ]


def _looks(calls: Calls) -> Places:
    real_stat, real_lstat, real_rename, real_access = os.stat, os.lstat, os.rename, os.access

    def stat(path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if calls.is_ours(path, dir_fd):
            return calls.stat(path, dir_fd=dir_fd, follow=follow_symlinks)
        return real_stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    def lstat(path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        if calls.is_ours(path, dir_fd):
            return calls.stat(path, dir_fd=dir_fd, follow=False)
        return real_lstat(path, dir_fd=dir_fd)

    def rename(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        call = calls.rename if calls.is_ours(src, src_dir_fd) else real_rename
        call(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def access(path: Any, mode: int, *, dir_fd: int | None = None, **options: Any) -> bool:
        return calls.is_ours(path, dir_fd) or real_access(path, mode, dir_fd=dir_fd, **options)

    return [
        *((os, name, call) for name, call in (("stat", stat), ("lstat", lstat))),
        *((os, name, call) for name, call in (("rename", rename), ("access", access))),
        (os, "scandir", _listing(os.scandir, calls.scandir, calls)),
        (os, "listdir", _listing(os.listdir, calls.names, calls)),
    ]


def _listing(real: Call, simulated: Call, calls: Calls) -> Call:
    def call(path: Any = ".") -> Any:
        return (simulated if calls.is_ours(path, None) else real)(path)

    return call


def _open_file(calls: Calls) -> Call:
    real = io.open

    def call(file: Any, mode: str = "r", *values: Any, **options: Any) -> Any:
        if isinstance(file, int) or not calls.is_ours(file, None):
            return real(file, mode, *values, **options)
        return calls.file(file, mode, encoding=options.get("encoding"))

    return call
