"""What can happen in a conversation."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from choiros.kernel.registry import EventType

RunState = Literal["queued", "running", "waiting", "verifying", "done", "failed", "cancelled", "discarded"]


class SessionStarted(Struct, frozen=True):
    """A conversation begins."""

    title: str
    workspace: str


class MessageAdded(Struct, frozen=True):
    """Somebody said something."""

    role: Literal["user", "assistant", "system", "tool"]
    text: str


class ToolCalled(Struct, frozen=True):
    """A tool is about to be used; recorded before its effect."""

    tool: str
    arguments: str
    """The arguments as JSON."""


class ToolAnswered(Struct, frozen=True):
    """What became of a tool call, named by the id of the event that announced it."""

    call: str
    outcome: Literal["done", "failed", "refused", "unknown"]
    result: str


class RunChanged(Struct, frozen=True):
    """A run has another state."""

    state: RunState
    reason: str = ""


EVENTS = (
    EventType("session.start", SessionStarted, effect="pure"),
    EventType("message", MessageAdded, effect="pure"),
    EventType("tool.call", ToolCalled, effect="pure"),
    EventType("tool.result", ToolAnswered, effect="pure"),
    EventType("run.state", RunChanged, effect="pure"),
)
