"""One sentence for every kind of event."""

from __future__ import annotations

import pytest
from msgspec import Struct

from choiros.cli.direct.sentences import sentence, size
from choiros.features.checkpoints.events import CheckpointCommitted, PushDone
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.undo.events import Undone
from choiros.features.workspaces.events import WorkspaceRemoved
from choiros.kernel.event import GENESIS, Event, Head, Labels, Record
from choiros.kernel.tree import Entry
from choiros.wiring import registry

FILE = Entry("file", 0o644, 12, "a" * 64)


def told(payload: Struct | None) -> str:
    """Return the sentence for a payload."""
    name = registry().type_of(payload).name if payload is not None else "file.write"
    head = Head("id", 1, 0, "me", "user", name, "", None, None, None, Labels(), 1)
    return sentence(Event(head, payload, Record(1, "id", b"", b"", None, GENESIS), GENESIS), {"w": "garden"})


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (FileWritten("w", "a", FILE), "created a (12 bytes)"),
        (FileWritten("w", "a", FILE, Entry("file", 0o644, 1, "b" * 64)), "changed a (12 bytes)"),
        (FileWritten("w", "a", FILE, Entry("file", 0o600, 12, "a" * 64)), "set the mode of a to 644"),
        (FileWritten("w", "b", FILE, None, "a"), "kept the other version of a as b"),
        (FileWritten("w", "a", Entry("dir", 0o755)), "made the directory a"),
        (FileWritten("w", "a", Entry("link", 0o777, target="b")), "linked a to b"),
        (FileDeleted("w", "a", FILE), "removed a"),
        (FileMoved("w", "a", "b", FILE), "moved a to b"),
        (Undone("since", "4", ((5, 6), (9, 9))), "took back everything after event 4 (3 changes)"),
        (WorkspaceRemoved("w", "open"), "removed the workspace garden"),
        (PushDone("w", 1, "c" * 40, "no way"), f"could not send {'c' * 10}: no way"),
        (CheckpointCommitted("w", 9, "c" * 40, 1, 0), f"committed checkpoint 9 as {'c' * 10} (1 file)"),
        (
            CheckpointCommitted("w", 9, "c" * 40, 1200, 0),
            f"committed checkpoint 9 as {'c' * 10} (1,200 files)",
        ),
        (None, "the content of this event was erased"),
    ],
)
def test_an_event_is_told_in_plain_words(payload: Struct | None, expected: str) -> None:
    assert told(payload) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 KB"), (2**31, "2.1 GB")],
)
def test_sizes_are_told_in_words(count: int, expected: str) -> None:
    assert size(count) == expected
