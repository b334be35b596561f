"""What a verb of the command line is, and what its exit code says."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from choiros.cli.arguments import Parser
    from choiros.cli.call import Call

DONE = 0
FAILED = 1
WRONG_USAGE = 2
WAITING = 3
INTERRUPTED = 130

Run = Callable[["Call"], "int | Coroutine[None, None, int]"]


class Verb(NamedTuple):
    """One verb: its sentence in the help, two examples, its arguments, and what it does."""

    sentence: str
    examples: tuple[str, str]
    run: Run
    declare: Callable[[Parser], None] | None = None
    acts: Mapping[str, Verb] = {}
    """For a verb that has verbs of its own, such as `workspaces new`."""
    default_act: str = ""
