"""What was signed, with which key, and who has seen it; and what was seen of others' logs."""

from __future__ import annotations

from msgspec import Struct

from choiros.kernel.registry import EventType


class KeyChanged(Struct, frozen=True):
    """The log is signed with this key from now on.

    `note` is the former key's word for the new one; it is missing for the first key and after a loss.
    """

    key: str
    before: str = ""
    note: str = ""


class LogSigned(Struct, frozen=True):
    """The first `size` events have this root; `note` says so under a signature (C2SP tlog-checkpoint)."""

    size: int
    root: str
    note: str


class WitnessAnswered(Struct, frozen=True):
    """What a witness said to a signed point: its signature lines, none from one that only keeps, or an error."""

    witness: str
    size: int
    signatures: str = ""
    error: str = ""


class LogTrusted(Struct, frozen=True):
    """This computer is a witness for another log from now on, as long as it is signed with this key."""

    origin: str
    key: str


class LogSeen(Struct, frozen=True):
    """This computer has seen another log at this size, as a continuation of what it had seen before."""

    origin: str
    size: int
    root: str
    note: str
    time_s: int


EVENTS = (
    EventType("proof.key", KeyChanged, effect="pure"),
    EventType("proof.signed", LogSigned, effect="pure"),
    EventType("proof.witness", WitnessAnswered, effect="pure"),
    EventType("witness.trust", LogTrusted, effect="pure"),
    EventType("witness.seen", LogSeen, effect="pure"),
)
