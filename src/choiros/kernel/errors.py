"""The error tree: what can go wrong, told so that the person who meets it knows what to do.

    ChoirError
    ├── Rejected      the caller can correct it: bad input, a refused wish, a broken rule
    ├── Conflict      the caller acted on an old state: read again, then try again
    ├── Unavailable   something needed is not there now: nothing was written, retry later
    └── Corrupt       stored data is not what was stored: stop, and ask a person

Each carries a stable dotted `code`, a full sentence, a `fix`, and named fields. They are translated once per
edge (command line, HTTP, model), never in between.
"""

from __future__ import annotations

Field = str | int | bool | None | list[str]


class ChoirError(Exception):
    """Something that ChoirOS foresaw and can explain."""

    def __init__(self, code: str, message: str, *, fix: str, **fields: Field) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix
        self.fields = fields

    def __str__(self) -> str:
        return self.message

    def as_dict(self) -> dict[str, Field | dict[str, Field]]:
        """Return the form that leaves the program: code, message, fix, fields."""
        return {
            "kind": type(self).__name__.lower(),
            "code": self.code,
            "message": self.message,
            "fix": self.fix,
            "fields": dict(self.fields),
        }


class Rejected(ChoirError):
    """The caller can correct it."""


class Conflict(ChoirError):
    """The caller acted on a state that is no longer the newest."""


class Unavailable(ChoirError):
    """Something needed is not there now; nothing was written."""


class Corrupt(ChoirError):
    """Stored data is not what was stored."""
