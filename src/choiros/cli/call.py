"""One call of a verb: its arguments, where it prints, and the computer that it asks."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

from msgspec.structs import replace

from choiros.cli.arguments import Arguments, WrongUsage
from choiros.cli.client import Asked, Changed, Client, EventLine
from choiros.cli.exits import DONE, FAILED, WAITING
from choiros.cli.place import Place, current_directory
from choiros.cli.show import Paint, Screen
from choiros.kernel.errors import Rejected, Unavailable

if TYPE_CHECKING:
    from choiros.settings import Resolved

CHANGES_SHOWN = 12
FACTS_SHOWN = 20
READER_WAITS_S = 2
"""Who only looks does not wait long for others; what is recorded already can be shown at any time."""


NOTES = {
    "lock.held": "note: somebody else is changing files; the newest edits may be missing here.",
    "lock.unavailable": "note: nothing can be written there now; the newest edits may be missing here.",
}
"""Why somebody who only looks may see what is recorded, and no more."""


class Connect(Protocol):
    """Gives the client of a person's computer."""

    async def __call__(self, resolved: Resolved, *, workspace: str | None, write: bool) -> Client:
        """Open it; raises ChoirError."""
        ...


class Call:
    """One call of a verb."""

    def __init__(self, arguments: Arguments, screen: Screen, *, connect: Connect) -> None:
        self.arguments = arguments
        self.screen = screen
        self._connect = connect

    @cached_property
    def resolved(self) -> Resolved:
        """Return the settings in force for this call."""
        from choiros.settings import resolve

        return resolve(flags_of(self.arguments))

    @asynccontextmanager
    async def client(self, *, write: bool) -> AsyncGenerator[Client]:
        """Open the computer for a while; only with `write` can anything be changed or recorded."""
        client = await self._open(self.resolved, write=write)
        try:
            yield client
        finally:
            await client.close()

    @asynccontextmanager
    async def fresh_client(self) -> AsyncGenerator[Client]:
        """Open the computer with edits made outside recorded first, or as it is while somebody else works."""
        try:
            client = await self._open(self._impatient(), write=True)
        except Unavailable as busy:
            if busy.code not in NOTES:
                raise
            self.screen.note(NOTES[busy.code])
            client = await self._open(self.resolved, write=False)
        try:
            yield client
        finally:
            await client.close()

    async def _open(self, resolved: Resolved, *, write: bool) -> Client:
        return await self._connect(resolved, workspace=self.arguments.maybe("workspace"), write=write)

    def _impatient(self) -> Resolved:
        settings = self.resolved.settings
        wait_s = min(settings.lock_timeout_s, READER_WAITS_S)
        return replace(self.resolved, settings=replace(settings, lock_timeout_s=wait_s))

    async def place(self, client: Client) -> Place:
        """Return where the person stands in the workspace."""
        status = await client.status()
        found = Place(status.folder, current_directory())
        if not found.is_inside and self.arguments.maybe("workspace") is None:
            await self._check_other_folders(client, status.workspace)
        return found

    async def _check_other_folders(self, client: Client, used: str) -> None:
        here = current_directory()
        for line in await client.workspaces():
            if line.state == "open" and Place(line.folder, here).is_inside:
                raise Rejected(
                    "path.other_workspace",
                    f"You stand in the folder of the workspace '{line.name}', but '{used}' is in use.",
                    fix=f"Add --workspace {line.name}, or change with 'choir workspaces use {line.name}'.",
                    workspace=line.name,
                )

    async def settle(self, answer: Changed | Asked) -> int:
        """Show what a wish led to; when a person is needed and one is there, ask. Return the exit code."""
        while isinstance(answer, Asked):
            if not self._shows_question(answer):
                return WAITING
            word = self.screen.ask("Allow it? [y = yes, n = no, Enter = later]")
            if word not in {"y", "yes", "n", "no"}:
                self.screen.line(f"It waits: 'choir approvals allow {answer.request}' carries it out.")
                return WAITING
            allowed = word in {"y", "yes"}
            async with self.client(write=True) as client:
                done = await client.decide(
                    answer.request, answer.digest, answer="allow" if allowed else "deny", note=""
                )
            if not allowed:
                self.screen.line("Denied; nothing was changed.")
                return FAILED
            answer = done
        return show_changed(self.screen, answer)

    def _shows_question(self, asked: Asked) -> bool:
        """Show why a person is needed; return whether one can answer here."""
        screen = self.screen
        if screen.json:
            screen.data(asked)
            return False
        show_question(screen, reasons=asked.reasons, facts=asked.facts)
        if not screen.asks:
            screen.note(f"request: {asked.request}")
            screen.note(f"fix: choir approvals allow {asked.request}")
            screen.note("code: approval.needed")
        return screen.asks


def flags_of(arguments: Arguments) -> dict[str, str]:
    """Return the settings that the command line itself gives; raises WrongUsage."""
    flags: dict[str, str] = {}
    for pair in arguments.texts("set"):
        key, equals, value = pair.partition("=")
        if not equals or not key or key == "home":
            raise WrongUsage(
                "usage.bad_value",
                f"'--set {pair}' is not of the form KEY=VALUE.",
                fix="Write it like --set files.size_bytes_max=1000000; 'choir config' lists the keys.",
            )
        flags[key] = value
    given = {name: arguments.maybe(name) for name in ("user", "home")}
    return {**flags, **{name: value for name, value in given.items() if value is not None}}


def show_event(screen: Screen, line: EventLine) -> None:
    """Print one event as a line of a short list."""
    screen.row(Paint(f"{line.seq:>6}", "dim"), "  ", line.sentence)


def show_changed(screen: Screen, changed: Changed) -> int:
    """Print what happened; return FAILED when something is recorded but could not be carried out."""
    if screen.json:
        screen.data(changed)
        return FAILED if changed.warnings else DONE
    shown = changed.lines if len(changed.lines) <= CHANGES_SHOWN else changed.lines[: CHANGES_SHOWN - 1]
    for line in shown:
        show_event(screen, line)
    if len(changed.lines) > len(shown):
        left, last = changed.lines[len(shown) :], shown[-1].seq
        screen.line(f"        and {len(left)} more: 'choir log --after {last} --until {left[-1].seq}'")
    if not changed.lines:
        screen.line("Nothing to change: it is so already.")
    for path in changed.conflicts:
        screen.note(
            Paint("conflict: ", "yellow"),
            f"somebody changed the same lines; your version is kept beside as {path}",
        )
    for warning in changed.warnings:
        screen.note(Paint("warning: ", "yellow"), warning)
    return FAILED if changed.warnings else DONE


def show_question(screen: Screen, *, reasons: str, facts: Sequence[str]) -> None:
    """Print why a person is asked, and exactly what would be recorded."""
    screen.line(Paint("A person must allow this: ", "yellow"), reasons)
    for fact in facts[:FACTS_SHOWN]:
        screen.line("  ", _fact_in_words(fact))
    if len(facts) > FACTS_SHOWN:
        screen.line(f"  and {len(facts) - FACTS_SHOWN} more; --json shows all of them")


def _fact_in_words(fact: str) -> str:
    try:
        name, fields = cast("tuple[str, dict[str, object]]", json.loads(fact))
        return f"{name}: " + ", ".join(f"{key} {_value(value)}" for key, value in fields.items())
    except (ValueError, TypeError, AttributeError):
        return fact


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
