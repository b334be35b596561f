"""Deliberate mistakes for the negative controls: each takes away one thing that durability or evidence rests on.

They change the process of a test, never the product: a suite that stays green under one of them shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from choiros.engines.blob.disk import store, syncing, upload
from choiros.engines.log import sqlite
from choiros.kernel import event, projector


def _put(where: object, name: str, value: object) -> None:
    setattr(where, name, value)


def synchronous_off() -> None:
    """Let SQLite never wait for the disk."""
    _log_pragma("OFF")


def synchronous_normal() -> None:
    """Let SQLite wait for the disk at its checkpoints alone."""
    _log_pragma("NORMAL")


def _log_pragma(value: str) -> None:
    opened = sqlite._open

    def careless(path: Path, *, read_only: bool) -> apsw.Connection:
        db = opened(path, read_only=read_only)
        db.pragma("synchronous", value)
        return db

    _put(sqlite, "_open", careless)


def no_blob_file_sync() -> None:
    """Give contents their names before their bytes are on the disk."""
    real = syncing.sync_all

    def careless(paths: Sequence[Path], root_fd: int) -> None:
        real([path for path in paths if path.is_dir()], root_fd)

    _put(syncing, "sync_all", careless)

    class _Os:
        def __getattr__(self, name: str) -> Any:
            return (lambda _descriptor: None) if name == "fsync" else getattr(store.os, name)

    _put(upload, "os", _Os())


def no_blob_directory_sync() -> None:
    """Never bring the names of contents onto the disk."""
    _put(store.Store, "_sync_directories", lambda _store, _fan_outs: None)


class _Late:
    """The connection of a log, with each COMMIT put off."""

    def __init__(self, db: apsw.Connection) -> None:
        self.real = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def execute(self, sql: str, *values: Any) -> Any:
        return None if sql == "COMMIT" else self.real.execute(sql, *values)


def acknowledge_before_commit() -> None:
    """Commit what was acknowledged when the next wish comes."""
    begun, closed = sqlite.LogFile.commit, sqlite.LogFile.close

    def finish(file: sqlite.LogFile) -> None:
        db: Any = file._db
        if isinstance(db, _Late) and db.in_transaction:
            db.real.execute("COMMIT")

    def commit(file: sqlite.LogFile, group: Sequence[sqlite.Pending]) -> Any:
        finish(file)
        db: Any = file._db
        _put(file, "_db", db if isinstance(db, _Late) else _Late(db))
        return begun(file, group)

    def close(file: sqlite.LogFile) -> None:
        finish(file)
        closed(file)

    _put(sqlite.LogFile, "commit", commit)
    _put(sqlite.LogFile, "close", close)


def shuffled_projection() -> None:
    """Show the views the events of a batch in another order."""
    apply = projector.ProjectorRunner.apply

    def shuffled(runner: projector.ProjectorRunner, events: Sequence[event.Event]) -> None:
        apply(runner, [events[0], *reversed(events[1:-1]), events[-1]] if len(events) > 3 else events)

    _put(projector.ProjectorRunner, "apply", shuffled)


def chain_without_lengths() -> None:
    """Chain what is appended without saying where one part ends and the next begins."""

    class _NoLength:
        def to_bytes(self, *_: object) -> bytes:
            return b""

        def __eq__(self, _: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

    _put(event, "len", lambda _part: _NoLength())


SABOTAGES: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "synchronous=OFF": synchronous_off,
    "synchronous=NORMAL": synchronous_normal,
    "no sync of contents": no_blob_file_sync,
    "no sync of the names of contents": no_blob_directory_sync,
    "acknowledged before the commit": acknowledge_before_commit,
    "projection shuffled": shuffled_projection,
    "chain without lengths": chain_without_lengths,
}


def apply(name: str) -> None:
    """Make one of these mistakes in this process, for good."""
    SABOTAGES[name]()


NAMES_FOUND_BY_KILLS = ("acknowledged before the commit", "projection shuffled")
"""The mistakes that a kill, or a rebuild after it, brings to light."""
