"""What no honest history holds: looked for before anything that a file brings in can reach the disk outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.path import check_path, is_protected
from choiros.wiring.contents import awaited_contents
from choiros.wiring.portable.manifest import damaged

if TYPE_CHECKING:
    from choiros.kernel.tables import Tables
    from choiros.wiring.computer import Computer

PAGE = 1000
_workspace_id = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

_STRANGE = """
SELECT seq FROM file_history WHERE kind IS NOT NULL AND (
    mode NOT BETWEEN 0 AND 511 OR size < 0 OR (kind = 'file') <> (length(content) = 64)
    OR content GLOB '*[^0-9a-f]*'
) LIMIT 1
"""


async def scrutinise(computer: Computer, contents: int) -> None:
    """Check that nothing in a history leads out of a workspace, and that exactly what it names is there.

    Raises Corrupt naming the event (`import.unsafe`, `import.damaged`). The gate refuses such things when they
    are wished for; what comes in from a file has passed no gate here.
    """
    tables = computer.tables
    for workspace, seq in _workspaces(tables):
        if not _workspace_id.fullmatch(workspace):
            raise _unsafe(seq, f"'{workspace[:80]}' cannot be the id of a workspace")
        for path, first in _paths(tables, workspace):
            _check_path(path, first)
    strange = tables.query(_STRANGE)
    if strange:
        raise _unsafe(cast("int", strange[0][0]), "what it describes is no file, link or directory")
    await _check_contents(computer, contents)


def _workspaces(tables: Tables) -> list[tuple[str, int]]:
    rows = tables.query(
        "SELECT workspace, min(seq) FROM (SELECT workspace, seq FROM file_history "
        "UNION ALL SELECT workspace, created FROM workspaces) GROUP BY workspace"
    )
    return cast("list[tuple[str, int]]", rows)


def _paths(tables: Tables, workspace: str) -> Iterator[tuple[str, int]]:
    """Yield every path that a workspace ever had, with the event that first named it."""
    last = ""
    while True:
        rows = tables.query(
            "SELECT path, min(seq) FROM file_history WHERE workspace = ? AND path > ? "
            "GROUP BY path ORDER BY path LIMIT ?",
            (workspace, last, PAGE),
        )
        found = cast("list[tuple[str, int]]", rows)
        yield from found
        if len(found) < PAGE:
            break
        last = found[-1][0]
    empty = tables.query("SELECT min(seq) FROM file_history WHERE workspace = ? AND path = ''", (workspace,))
    if empty[0][0] is not None:
        yield "", cast("int", empty[0][0])


def _check_path(path: str, seq: int) -> None:
    try:
        check_path(path)
    except Rejected as refusal:
        raise _unsafe(seq, refusal.message) from refusal
    if is_protected(path):
        raise _unsafe(seq, f"'{path}' has a name that no wish may touch")


async def _check_contents(computer: Computer, count: int) -> None:
    """Check that every content that is named is there with its size, and nothing else is."""
    blobs = computer.parts.blobs
    rows = computer.tables.query(
        "SELECT content, size, min(seq) FROM file_history WHERE content <> '' GROUP BY content, size"
    )
    named: set[str] = set()
    for digest, told, seq in cast("list[tuple[str, int, int]]", rows):
        size = await blobs.size(digest)
        if size is None:
            raise damaged("contents", f"the content {digest} is missing, which event {seq} names")
        if size != told:
            raise _unsafe(seq, f"the content {digest} has another size than it says")
        named.add(digest)
    awaited = [
        digest for digest in awaited_contents(computer) - named if await blobs.size(digest) is not None
    ]
    if len(named) + len(awaited) != count:
        raise damaged("contents", "there are contents that no event names")


def _unsafe(seq: int, reason: str) -> Corrupt:
    return Corrupt(
        "import.unsafe",
        f"Event {seq} is nothing that ChoirOS would have recorded: {reason}",
        fix="Nothing was changed. Do not trust this file, nor where it came from.",
        seq=seq,
    )
