"""A witness in memory that only keeps: the double for tests, with a switch that makes it unreachable."""

from __future__ import annotations

from choiros.kernel.errors import Conflict, Unavailable


class MemoryWitness:
    """Remembers the newest note of each log for as long as the object lives."""

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self.notes: dict[str, str] = {}
        self.requests: list[str] = []
        self.is_away = False

    async def newest(self, origin: str) -> str:
        """Return the newest note."""
        self._check_there()
        return self.notes.get(origin, "")

    async def add(self, request: str) -> str:
        """Keep the note."""
        self._check_there()
        self.requests.append(request)
        note = request.partition("\n\n")[2]
        origin, size, *_ = note.split("\n")
        kept = self.notes.get(origin)
        if kept is not None and int(kept.split("\n")[1]) > int(size):
            raise Conflict(
                "witness.refused",
                f"The witness '{self.name}' knows a newer state of the log.",
                fix="Compare the two: an older copy of the log may have been put in its place.",
                size=int(kept.split("\n")[1]),
            )
        self.notes[origin] = note
        return ""

    def _check_there(self) -> None:
        if self.is_away:
            raise Unavailable(
                "witness.unavailable",
                f"The witness '{self.name}' cannot be reached.",
                fix="It hears of the next signature.",
            )
