"""What stands at the beginning of an exported file: what it holds, and how to tell that it is all there.

manifest.json                    this, as JSON without spaces
log/NNNNNN.records.zlib          events in order: a MessagePack array of records, compressed with zlib
contents/ab/<sha256>             the content of files, each under its hash, in the order of the hashes
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from choiros import __version__
from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.event import Point

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 16 << 20


class LogPart(Struct, frozen=True, forbid_unknown_fields=True):
    """Events `first` to `last`; `size` and `sha256` are those of the compressed part."""

    first: int
    last: int
    size: int
    sha256: str


class Contents(Struct, frozen=True, forbid_unknown_fields=True):
    """How many contents there are, and how many bytes they have together."""

    count: int
    size_bytes: int


class ViewState(Struct, frozen=True, forbid_unknown_fields=True):
    """What a view made of the events: the version of the view, and the hash of its tables."""

    version: int
    digest: str


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that must be found in the file; `checksum` is the SHA-256 of this with an empty checksum."""

    format: int
    product: str
    user: str
    seq: int
    hash: str
    log: tuple[LogPart, ...]
    contents: Contents
    views: dict[str, ViewState]
    checksum: str = ""

    @property
    def head(self) -> Point:
        """Return the place of the newest event."""
        return Point(self.seq, bytes.fromhex(self.hash))


class _Format(Struct, frozen=True):
    format: int
    product: str = ""


def make(
    user: str, head: Point, *, log: tuple[LogPart, ...], contents: Contents, views: dict[str, ViewState]
) -> Manifest:
    """Return the manifest of a file that this program writes."""
    bare = Manifest(FORMAT, __version__, user, head.seq, head.hash.hex(), log, contents, views)
    return replace(bare, checksum=_checksum(bare))


def encode(manifest: Manifest) -> bytes:
    """Return the one form in which a manifest is written."""
    return msgspec.json.encode(manifest, order="deterministic")


def _checksum(manifest: Manifest) -> str:
    return hashlib.sha256(encode(replace(manifest, checksum=""))).hexdigest()


def decode(raw: bytes) -> Manifest:
    """Return the manifest in these bytes.

    Raises Rejected (`import.newer`) when a newer program wrote it, Corrupt (`import.damaged`) when it is not as it
    was written.
    """
    try:
        told = msgspec.json.decode(raw, type=_Format)
        if told.format > FORMAT:
            raise newer(f"has format {told.format}, written by version {told.product}", f"format {FORMAT}")
        manifest = msgspec.json.decode(raw, type=Manifest)
        bytes.fromhex(manifest.hash)
    except (ValueError, RecursionError) as error:
        raise damaged(MANIFEST, f"it cannot be read ({error})") from error
    if encode(manifest) != raw or _checksum(manifest) != manifest.checksum:
        raise damaged(MANIFEST, "it is not as it was written")
    return manifest


def log_name(number: int) -> str:
    """Return the name of a part of the log, which are numbered from 1."""
    return f"log/{number:06d}.records.zlib"


def content_name(digest: str) -> str:
    """Return the name under which a content is packed."""
    return f"contents/{digest[:2]}/{digest}"


def newer(what: str, known: str) -> Rejected:
    """Return the error for a file that a newer program wrote."""
    return Rejected(
        "import.newer",
        f"The file {what}; this program knows {known}.",
        fix="Use a newer ChoirOS to read it. Nothing was changed.",
    )


def damaged(place: str, reason: str) -> Corrupt:
    """Return the error for a file that is not what was exported, naming the part."""
    return Corrupt(
        "import.damaged",
        f"The file is damaged at {place}: {reason}.",
        fix="Nothing was changed. Use another copy of the file.",
        place=place,
    )
