"""Which git object holds which stored content, remembered so that unchanged files are not read again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

_HEADER = b"choir-oids 1\n"
_DIGEST, _OID, _CHECKSUM = 32, 20, 32
_NO_HEAD = bytes(_OID)
_UNSAVED_MAX = 32


class Oids:
    """The git ids of the contents that the newest commit of ours holds, by SHA-256.

    It is a cache: whatever is wrong with the file, the answer is an empty one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.by_digest: dict[str, bytes] = {}
        self.head = _NO_HEAD
        """The commit that makes all of them reachable; when it is not the head, each has to be looked for."""
        self._loaded = False
        self._saved = 0

    def load(self) -> None:
        """Read what was saved last, once; nothing, when there is none or it was damaged."""
        if self._loaded:
            return
        self._loaded = True
        try:
            data = self._path.read_bytes()
        except OSError:
            data = b""
        body, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
        start = len(_HEADER) + _OID
        if not body.startswith(_HEADER) or hashlib.sha256(body).digest() != checksum:
            return
        self.head = body[len(_HEADER) : start]
        size = _DIGEST + _OID
        self.by_digest = {
            body[at : at + _DIGEST].hex(): body[at + _DIGEST : at + size]
            for at in range(start, len(body), size)
        }
        self._saved = len(self.by_digest)

    def keep_only(self, exists: Callable[[bytes], bool]) -> None:
        """Forget every id that git does not know any more."""
        self.by_digest = {digest: oid for digest, oid in self.by_digest.items() if exists(oid)}

    def distrust(self) -> None:
        """Have every id looked for before it is used again."""
        self.head = _NO_HEAD

    def save(self, head: bytes, digests: set[str]) -> None:
        """Trust the ids of these contents as long as this is the head; write them down when many are new.

        What was not written down costs a second reading of that content after the next start, nothing else.
        """
        self.head = head
        if len(self.by_digest) - self._saved < _UNSAVED_MAX and len(self.by_digest) < 2 * len(digests):
            return
        self.by_digest = {digest: self.by_digest[digest] for digest in digests}
        records = (bytes.fromhex(digest) + oid for digest, oid in self.by_digest.items())
        body = b"".join([_HEADER, head, *records])
        beside = self._path.with_suffix(".new")
        beside.write_bytes(body + hashlib.sha256(body).digest())
        beside.replace(self._path)
        self._saved = len(self.by_digest)
