"""Which stored contents nothing needs any more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from choiros.wiring.computer import Computer

_digest = re.compile(rb"\b[0-9a-f]{64}\b")
"""What may be the name of a content, wherever in a payload it stands: also in a type that is not known here."""


async def unnamed(computer: Computer) -> list[str]:
    """Return the digests of stored contents that no event names; the lock must be held.

    The log itself is asked, not a view of it: what is removed as garbage can never be made again.
    """
    found = {digest async for digest in computer.parts.blobs.digests()}
    async for events in computer.journal.events(await computer.journal.point(0)):
        for event in events:
            found.difference_update(map(bytes.decode, _digest.findall(event.record.payload or b"")))
    return sorted(found)
