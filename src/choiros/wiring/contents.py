"""Which stored contents something names, so that they are kept and carried along."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from choiros.wiring.computer import Computer

_digest = re.compile(r"\b[0-9a-f]{64}\b")


def named_contents(computer: Computer) -> set[str]:
    """Return the digest of every content that an event of a file names, or an open request may come to name.

    What a request names is found by its looks; a digest among them may be that of something else.
    """
    return {*computer.files.contents(), *awaited_contents(computer)}


def awaited_contents(computer: Computer) -> set[str]:
    """Return what looks like the digest of a content in requests that may still lead to something."""
    found: set[str] = set()
    for waiting in computer.approvals.unfinished():
        found |= set(_digest.findall(waiting.recorded))
    return found
