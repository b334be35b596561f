"""What one may wish to be taken back."""

from __future__ import annotations

from msgspec import Struct


class Undo(Struct, frozen=True):
    """Take back a run, one event, everything after a number, or, with nothing given, the last change.

    The last change is the newest run, or the newest command outside a run, that has not been taken back.
    `leave` names things that shall stay as they are.
    """

    workspace: str
    run: str | None = None
    seq: int | None = None
    since: int | None = None
    leave: tuple[str, ...] = ()


class Redo(Struct, frozen=True):
    """Take back the newest undo that has not been taken back."""

    workspace: str
    leave: tuple[str, ...] = ()
