"""The port to content: bytes of any size under the name of their SHA-256, stored once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol


class BlobStore(Protocol):
    """Keeps content by its hash. What `flush` has confirmed is on disk."""

    async def put(self, chunks: AsyncIterator[bytes] | bytes) -> str:
        """Take the content in constant memory and return its SHA-256 in hexadecimal.

        It can be read at once, and is durable after the next `flush`; where the same content was here before but
        has been damaged since, it is whole again. Raises Rejected (`blob.too_large`) beyond the size limit and
        Unavailable (`blob.unavailable`) when it cannot be written; then no trace is left.
        """
        ...

    async def flush(self) -> None:
        """Make everything that was put durable: the event that names it may be appended now."""
        ...

    async def size(self, digest: str) -> int | None:
        """Return the size in bytes, or None when the content is not here."""
        ...

    def read(self, digest: str) -> AsyncIterator[bytes]:
        """Return the content in chunks.

        Raises Corrupt (`blob.missing`, `blob.damaged`) naming the digest; damage is known at the latest when the
        last chunk has been read, so nothing may be built on the chunks before the iteration has ended.
        """
        ...

    async def delete(self, digest: str) -> None:
        """Remove the content; removing what is not there is no error. For garbage collection alone."""
        ...

    def digests(self) -> AsyncIterator[str]:
        """Return the digest of every content that is durable, in no order."""
        ...
