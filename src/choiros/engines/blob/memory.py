"""Content in memory: the complete double of a blob store, which also forgets as a power cut would."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

from choiros.kernel.errors import Corrupt, Rejected

_CHUNK = 1 << 20


class MemoryBlobs:
    """Keeps content as long as the object lives."""

    def __init__(self, size_bytes_max: int = 4 << 30) -> None:
        self._size_bytes_max = size_bytes_max
        self._staged: dict[str, bytes] = {}
        self._durable: dict[str, bytes] = {}

    async def put(self, chunks: AsyncIterator[bytes] | bytes) -> str:
        """Take the content and return its SHA-256."""
        content = bytearray()
        if isinstance(chunks, bytes):
            self._grow(content, chunks)
        else:
            async for chunk in chunks:
                self._grow(content, chunk)
        digest = hashlib.sha256(content).hexdigest()
        held = self._durable.get(digest)
        if held is None or hashlib.sha256(held).hexdigest() != digest:
            self._staged[digest] = bytes(content)
        return digest

    async def flush(self) -> None:
        """Let everything that was put survive `crash`."""
        self._durable |= self._staged
        self._staged.clear()

    async def size(self, digest: str) -> int | None:
        """Return the size in bytes, or None when the content is not here."""
        content = self._find(digest)
        return None if content is None else len(content)

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        """Return the content in chunks of 1 MiB; raises Corrupt as the port says."""
        content = self._find(digest)
        if content is None:
            raise Corrupt(
                "blob.missing",
                f"The content {digest} is not in the store.",
                fix="Bring it back from a backup.",
                digest=digest,
            )
        if hashlib.sha256(content).hexdigest() != digest:
            raise Corrupt(
                "blob.damaged",
                f"The stored content {digest} is not what was stored.",
                fix="Bring it back from a backup.",
                digest=digest,
            )
        for start in range(0, len(content), _CHUNK):
            yield content[start : start + _CHUNK]

    async def delete(self, digest: str) -> None:
        """Remove the content."""
        self._staged.pop(digest, None)
        self._durable.pop(digest, None)

    async def digests(self) -> AsyncIterator[str]:
        """Return the digest of every content that was flushed."""
        for digest in list(self._durable):
            yield digest

    def crash(self) -> None:
        """Forget what was not flushed, as a power cut does."""
        self._staged.clear()

    def damage(self, digest: str, content: bytes) -> None:
        """Put other bytes where this content is kept, as a failing disk does."""
        self._staged.pop(digest, None)
        self._durable[digest] = content

    def _find(self, digest: str) -> bytes | None:
        return self._staged.get(digest, self._durable.get(digest))

    def _grow(self, content: bytearray, chunk: bytes) -> None:
        if len(content) + len(chunk) > self._size_bytes_max:
            raise Rejected(
                "blob.too_large",
                f"The content is larger than {self._size_bytes_max} bytes, the limit for one file.",
                fix="Leave the file out with .choirignore, or raise the limit in the settings.",
                size_bytes_max=self._size_bytes_max,
            )
        content += chunk
