"""Keys in files of their own directory, readable by their owner alone.

KEYID.key    the private half as PKCS #8 (PEM), which other tools read as well
NAME.last    what was signed last, with its SHA-256 in the first line
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from choiros.kernel.errors import Corrupt, Unavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAME = re.compile(r"[a-z0-9_-]{1,64}")
KEY_BYTES_MAX = 4096


class FileSigner:
    """Keys in a directory, which is made when the first key is."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[bytes, Ed25519PrivateKey] = {}

    def publics(self) -> list[bytes]:
        """Return the public keys, the newest last."""
        self._known = {}
        for path in sorted(self._directory.glob("*.key")):
            key = self._load(path)
            self._known[key.public_key().public_bytes_raw()] = key
        return list(self._known)

    def _load(self, path: Path) -> Ed25519PrivateKey:
        # Imported where it is used: it takes longer than most commands.
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

        try:
            found = load_pem_private_key(_read(path), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise _damaged(path, str(error)) from error
        if not isinstance(found, Ed25519PrivateKey):
            raise _damaged(path, "it is a key of another kind")
        return found

    def create(self) -> bytes:
        """Make a key, durably."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        key = Ed25519PrivateKey.generate()
        public = key.public_key().public_bytes_raw()
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        # The number keeps the order in which keys were made, which their names would not tell.
        number = len(list(self._directory.glob("*.key"))) + 1
        self._place(f"{number:04}-{hashlib.sha256(public).hexdigest()[:16]}.key", secret)
        self._known[public] = key
        return public

    def sign(self, public: bytes, message: bytes) -> bytes:
        """Return the signature."""
        if public not in self._known:
            self.publics()
        if public not in self._known:
            raise Unavailable(
                "signer.no_key",
                f"The private half of the key is not in {self._directory}.",
                fix="Bring the key back, or change to a new one with 'choir keys rotate'.",
            )
        return self._known[public].sign(message)

    def verify(self, public: bytes, message: bytes, *, signature: bytes) -> bool:
        """Return whether the signature is one of this key over this message."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def remember(self, name: str, text: str) -> None:
        """Keep a text in place of the former one, durably."""
        raw = text.encode()
        self._place(f"{_checked(name)}.last", hashlib.sha256(raw).hexdigest().encode() + b"\n" + raw)

    def remembered(self, name: str) -> str:
        """Return the text that was kept."""
        path = self._directory / f"{_checked(name)}.last"
        try:
            digest, _, raw = _read(path).partition(b"\n")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise _damaged(path, str(error)) from error
        if hashlib.sha256(raw).hexdigest().encode() != digest:
            raise _damaged(path, "its content is not what was written")
        return raw.decode()

    def _place(self, name: str, content: bytes) -> None:
        """Write a file beside, then put it in place; it is on disk when this returns."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = self._directory / f".{name}.new"
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            beside.rename(self._directory / name)
            for directory in (self._directory, self._directory.parent):
                _sync(directory)
        except OSError as error:
            raise Unavailable(
                "signer.unavailable",
                f"The directory of the keys cannot be written: {error.strerror or error}.",
                fix=f"Make {self._directory} writable for you alone, then try again.",
            ) from error


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(KEY_BYTES_MAX + 1)


def _checked(name: str) -> str:
    assert NAME.fullmatch(name), "texts are kept under plain names"
    return name


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _damaged(path: Path, reason: str) -> Corrupt:
    return Corrupt(
        "signer.damaged",
        f"{path.name} beside the keys is damaged: {reason}.",
        fix="Bring it back from where you keep a copy of the keys. If there is none: after 'choir verify', remove "
        "the file; what was signed is then believed from the log alone.",
        file=path.name,
    )
