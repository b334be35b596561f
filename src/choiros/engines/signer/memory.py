"""Keys in memory, for as long as the object lives: for tests, and for who must leave nothing behind."""

from __future__ import annotations

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from choiros.kernel.errors import Unavailable


class MemorySigner:
    """Keys that are made from a seed, so that a run can be repeated."""

    def __init__(self, seed: bytes = b"") -> None:
        self._seed = seed
        self._keys: dict[bytes, Ed25519PrivateKey] = {}
        self._texts: dict[str, str] = {}

    def publics(self) -> list[bytes]:
        """Return the public keys, the newest last."""
        return list(self._keys)

    def create(self) -> bytes:
        """Make the next key of the seed."""
        secret = hashlib.sha256(b"choir-memory-key" + self._seed + bytes([len(self._keys)])).digest()
        key = Ed25519PrivateKey.from_private_bytes(secret)
        public = key.public_key().public_bytes_raw()
        self._keys[public] = key
        return public

    def sign(self, public: bytes, message: bytes) -> bytes:
        """Return the signature."""
        if public not in self._keys:
            raise Unavailable(
                "signer.no_key",
                "The private half of the key is not here.",
                fix="Bring the key back, or change to a new one with 'choir keys rotate'.",
            )
        return self._keys[public].sign(message)

    def verify(self, public: bytes, message: bytes, *, signature: bytes) -> bool:
        """Return whether the signature is one of this key over this message."""
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def remember(self, name: str, text: str) -> None:
        """Keep a text."""
        self._texts[name] = text

    def remembered(self, name: str) -> str:
        """Return the text that was kept."""
        return self._texts.get(name, "")
