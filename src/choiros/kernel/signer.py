"""The port to signing: keys that never leave their place, and a memory of what was signed last."""

from __future__ import annotations

from typing import Protocol


class Signer(Protocol):
    """Keeps Ed25519 keys apart from the data that they vouch for."""

    def publics(self) -> list[bytes]:
        """Return the public keys (32 bytes) that can be signed with, the newest last."""
        ...

    def create(self) -> bytes:
        """Make a key, durably, and return its public half; raises Unavailable (`signer.unavailable`)."""
        ...

    def sign(self, public: bytes, message: bytes) -> bytes:
        """Return the signature; raises Unavailable (`signer.no_key`) when the private half is not here."""
        ...

    def verify(self, public: bytes, message: bytes, *, signature: bytes) -> bool:
        """Return whether the signature is one of this key over this message."""
        ...

    def remember(self, name: str, text: str) -> None:
        """Keep a text under a name in place of the former one, durably: what was signed last, beside the keys."""
        ...

    def remembered(self, name: str) -> str:
        """Return the text that was kept under a name, '' for none; raises Corrupt (`signer.damaged`)."""
        ...
