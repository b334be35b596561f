"""What somebody wishes: a command, who wishes it, and what carrying it out would record."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar, cast

import msgspec
from msgspec import Struct

from choiros.kernel.event import Labels, Source
from choiros.kernel.registry import Effect

C = TypeVar("C", bound=Struct)
S = TypeVar("S")

COMMAND_DOMAIN = b"choir-command-1\x00"


class Context(Struct, frozen=True):
    """Who wishes something, and in which conversation and run."""

    user: str
    source: Source = "user"
    session: str | None = None
    run: str | None = None
    cause: str | None = None
    labels: Labels = Labels()
    approval: str | None = None
    """The id of the request that a person has allowed, when the command is handled again because of that."""


class Fact(Struct, frozen=True):
    """One event to be: its payload, and the index of the fact in the same decision that caused it."""

    payload: Struct
    because_of: int | None = None


class Decision(Struct, frozen=True):
    """What carrying out a command would record: facts, and new contents that these facts name."""

    facts: tuple[Fact, ...]
    contents: tuple[bytes, ...] = ()

    @property
    def payloads(self) -> list[Struct]:
        """Return the payloads of the facts in order."""
        return [fact.payload for fact in self.facts]


class CommandType(Generic[C, S]):
    """One kind of command: its name, how to load what its rule needs, and the rule, which is pure."""

    def __init__(
        self,
        name: str,
        command: type[C],
        *,
        load: Callable[[C, Context], Awaitable[S]],
        decide: Callable[[C, S], Decision],
        effect: Effect = "irreversible",
        audited: bool = False,
    ) -> None:
        """Take the parts; with `audited`, a wish that the rule refuses is recorded, whoever had it."""
        self.name = name
        self.command = command
        self.load = load
        self.decide = decide
        self.effect: Effect = effect
        self.audited = audited

    async def propose(self, command: C, context: Context) -> Proposal:
        """Return what carrying out the command now would record; nothing happens."""
        state = await self.load(command, context)
        return Proposal(self.name, command, context, self.decide(command, state), self.effect)


Commands = list[CommandType[Struct, object]]
"""The command types of a room."""


def any_command(kind: CommandType[C, S]) -> CommandType[Struct, object]:
    """Return the same command type among others whose commands and states are of other classes."""
    return cast("CommandType[Struct, object]", kind)


class Proposal(Struct, frozen=True):
    """A command together with what it would record; this is what the gate judges and a person approves."""

    name: str
    command: Struct
    context: Context
    decision: Decision
    effect: Effect

    def digest(self) -> str:
        """Return the hash that binds an approval to exactly this command and exactly these facts."""
        hasher = hashlib.sha256(COMMAND_DOMAIN)
        parts = [self.name.encode(), encode_command(self.command)]
        parts += [encode_command(payload) for payload in self.decision.payloads]
        for part in parts:
            hasher.update(len(part).to_bytes(8) + part)
        return hasher.hexdigest()


_encoder = msgspec.json.Encoder(order="deterministic")


def encode_command(command: Struct) -> bytes:
    """Return the deterministic bytes of a command or a payload, also of one that is not valid UTF-8."""
    try:
        return _encoder.encode([type(command).__name__, command])
    except UnicodeEncodeError:
        return repr(command).encode("utf-8", "backslashreplace")
