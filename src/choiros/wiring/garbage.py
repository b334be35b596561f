"""Finds stored contents that nothing names any more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from choiros.wiring.computer import Computer

_digest = re.compile(r"\b[0-9a-f]{64}\b")


async def unnamed(computer: Computer) -> list[str]:
    """Return the digests of stored contents that no event and no open request names; the lock must be held.

    Raises what keeps the views from following the log: asked with old views, a new content would seem to be nobody's.
    """
    await computer.projectors.catch_up()
    named = set(computer.files.contents())
    # A request that is still open may come to name contents that no event of a file names yet.
    for waiting in computer.approvals.unfinished():
        named |= set(_digest.findall(waiting.recorded))
    return [one async for one in computer.parts.blobs.digests() if one not in named]
