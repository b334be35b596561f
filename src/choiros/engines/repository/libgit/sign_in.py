"""What a push may show to the server that it goes to; nothing is taken from the person's machine unasked."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Token(Struct, frozen=True):
    """A name and a secret for https."""

    name: str
    secret: str

    def __repr__(self) -> str:
        return f"Token(name={self.name!r}, secret='***')"


class SshKey(Struct, frozen=True):
    """A private key in a file for ssh."""

    path: str
    passphrase: str = ""

    def __repr__(self) -> str:
        return f"SshKey(path={self.path!r}, passphrase='***')"


class SshAgent(Struct, frozen=True):
    """The ssh agent that this process can reach."""


SignIn = Callable[[str], Token | SshKey | SshAgent | None]
"""Is given the address and answers what to show there, None for nothing."""
