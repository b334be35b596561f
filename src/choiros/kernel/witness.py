"""The port to witnesses: places outside this computer that remember how far the log had come."""

from __future__ import annotations

from typing import Protocol


class Witness(Protocol):
    """Remembers for each log, by its origin, the newest tree head that it was shown, and never goes back."""

    @property
    def name(self) -> str:
        """Return the name under which its answers are recorded."""
        ...

    async def newest(self, origin: str) -> str:
        """Return the newest note that it was shown, with its own signature if it gives one; '' for none.

        Raises Unavailable (`witness.unavailable`) when it cannot be asked.
        """
        ...

    async def add(self, request: str) -> str:
        """Show it a tree head (an add-checkpoint request of C2SP tlog-witness) and return its signature lines.

        '' from one that only keeps. Raises Conflict (`witness.refused`) when it knows a newer or another history,
        and Unavailable (`witness.unavailable`).
        """
        ...
