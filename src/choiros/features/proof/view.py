"""The tree over the log in tiles, as C2SP tlog-tiles cuts it, and all that was signed and seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from msgspec import Struct

from choiros.features.proof.events import KeyChanged, LogSeen, LogSigned, LogTrusted, WitnessAnswered
from choiros.features.proof.merkle import Frontier, complete_root, frontier_of, leaf_hash
from choiros.kernel.event import Event
from choiros.kernel.tables import Row, Tables

SCHEMA = """
CREATE TABLE tiles(place INTEGER PRIMARY KEY, hashes BLOB NOT NULL) STRICT;
CREATE TABLE signed(seq INTEGER PRIMARY KEY, size INTEGER NOT NULL, root TEXT NOT NULL, note TEXT NOT NULL) STRICT;
CREATE INDEX signed_size ON signed(size);
CREATE TABLE signing_keys(seq INTEGER PRIMARY KEY, key TEXT NOT NULL, before TEXT NOT NULL, note TEXT NOT NULL) STRICT;
CREATE TABLE answers(
    seq INTEGER PRIMARY KEY, witness TEXT NOT NULL, size INTEGER NOT NULL, signatures TEXT NOT NULL,
    error TEXT NOT NULL
) STRICT;
CREATE INDEX answers_size ON answers(size);
CREATE TABLE trusted_logs(origin TEXT PRIMARY KEY, key TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE seen_logs(
    origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root TEXT NOT NULL, note TEXT NOT NULL, time_s INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
"""

HASH = 32
WIDTH = 256
"""How many hashes a full tile holds; each is the root of a full tile of the level below, or a leaf."""

HEIGHT = 8
LEVEL = 1 << 48
"""The place of a tile is its level times this, plus its number."""

_PUT = "INSERT OR REPLACE INTO tiles VALUES (?, ?)"


class Signed(Struct, frozen=True):
    """One signed point of the log; `seq` is the event that holds it."""

    seq: int
    size: int
    root: str
    note: str


class Answer(Struct, frozen=True):
    """What a witness said to a signed point."""

    seq: int
    witness: str
    size: int
    signatures: str
    error: str


class Seen(Struct, frozen=True):
    """What another log was when this computer saw it last."""

    origin: str
    size: int
    root: str
    note: str
    time_s: int


_FACTS = frozenset({KeyChanged, LogSeen, LogSigned, LogTrusted, WitnessAnswered})
"""The facts this view is about; matching all others against every case would cost more than the rest."""


class ProofProjector:
    """Keeps `tiles`, `signed`, `signing_keys`, `answers`, `trusted_logs` and `seen_logs`."""

    name = "proof"
    version = 1
    tables = ("tiles", "signed", "signing_keys", "answers", "trusted_logs", "seen_logs")
    schema = SCHEMA

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables from the state before these events to the state after them."""
        grow(tables, events[0].seq - 1, hashes=[leaf_hash(event.record.head) for event in events])
        for event in (one for one in events if type(one.payload) in _FACTS):
            match event.payload:
                case LogSigned(size, root, note):
                    tables.run("INSERT INTO signed VALUES (?, ?, ?, ?)", [(event.seq, size, root, note)])
                case KeyChanged(key, before, note):
                    tables.run(
                        "INSERT INTO signing_keys VALUES (?, ?, ?, ?)", [(event.seq, key, before, note)]
                    )
                case WitnessAnswered(witness, size, signatures, error):
                    row = (event.seq, witness, size, signatures, error)
                    tables.run("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", [row])
                case LogTrusted(origin, key):
                    tables.run("INSERT OR REPLACE INTO trusted_logs VALUES (?, ?)", [(origin, key)])
                case LogSeen(origin, size, root, note, time_s):
                    row = (origin, size, root, note, time_s)
                    tables.run("INSERT OR REPLACE INTO seen_logs VALUES (?, ?, ?, ?, ?)", [row])
                case _:
                    pass


def grow(tables: Tables, size: int, *, hashes: Sequence[bytes]) -> None:
    """Append hashes to the tiles of a tree that has `size` leaves; full tiles grow the level above."""
    level, at = 0, size
    while hashes:
        place, within = LEVEL * level + at // WIDTH, at % WIDTH
        row = _tile(tables, place) if within else b""
        joined = row + b"".join(hashes)
        assert len(row) == within * HASH, "a tile lacks hashes that should stand before these"
        tiles = [joined[start : start + WIDTH * HASH] for start in range(0, len(joined), WIDTH * HASH)]
        tables.run(_PUT, [(place + number, tile) for number, tile in enumerate(tiles)])
        hashes = [complete_root(_cut(tile)) for tile in tiles if len(tile) == WIDTH * HASH]
        level, at = level + 1, at // WIDTH


def _tile(tables: Tables, place: int) -> bytes:
    rows = tables.query("SELECT hashes FROM tiles WHERE place = ?", (place,))
    return cast("bytes", rows[0][0]) if rows else b""


def _cut(tile: bytes) -> list[bytes]:
    return [tile[start : start + HASH] for start in range(0, len(tile), HASH)]


class ProofView:
    """Answers questions about the tree and about what was signed."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def node(self, height: int, number: int) -> bytes:
        """Return the root of the complete subtree `number` of 2**`height` leaves."""
        level, within = divmod(height, HEIGHT)
        first, width = number << within, 1 << within
        tile = _tile(self._tables, LEVEL * level + first // WIDTH)
        start = first % WIDTH * HASH
        part = tile[start : start + width * HASH]
        assert len(part) == width * HASH, "the tree is not as large as that"
        return complete_root(_cut(part))

    def leaves(self, after: int, until: int) -> list[bytes]:
        """Return the hashes of the events behind `after`, up to and with `until`."""
        tiles = range(after // WIDTH, (until + WIDTH - 1) // WIDTH)
        hashes = _cut(b"".join(_tile(self._tables, number) for number in tiles))
        start = after // WIDTH * WIDTH
        return hashes[after - start : until - start]

    def frontier(self, size: int) -> Frontier:
        """Return the tree of the first `size` events, ready to grow."""
        return frontier_of(size, self.node)

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` events."""
        return self.frontier(size).root()

    def last(self) -> Signed | None:
        """Return the newest signed point."""
        return _signed(self._tables.query("SELECT * FROM signed ORDER BY seq DESC LIMIT 1"))

    def first_over(self, seq: int) -> Signed | None:
        """Return the earliest signed point that covers an event."""
        return _signed(
            self._tables.query("SELECT * FROM signed WHERE size >= ? ORDER BY size LIMIT 1", (seq,))
        )

    def witnessed_over(self, seq: int) -> Signed | None:
        """Return the earliest signed point that covers an event and that a witness has signed."""
        rows = self._tables.query(
            "SELECT * FROM signed WHERE size >= ? AND EXISTS (SELECT 1 FROM answers "
            "WHERE answers.size = signed.size AND signatures <> '') ORDER BY size LIMIT 1",
            (seq,),
        )
        return _signed(rows)

    def size(self) -> int:
        """Return how many events the tree holds."""
        sql = "SELECT place, length(hashes) FROM tiles WHERE place < ? ORDER BY place DESC LIMIT 1"
        rows = self._tables.query(sql, (LEVEL,))
        if not rows:
            return 0
        number, length = cast("tuple[int, int]", rows[0])
        return number * WIDTH + length // HASH

    def signing_keys(self, *, until: int | None = None) -> list[KeyChanged]:
        """Return every key, the newest last, or only those of the events up to `until`."""
        sql = "SELECT key, before, note FROM signing_keys WHERE ? IS NULL OR seq <= ? ORDER BY seq"
        rows = self._tables.query(sql, (until, until))
        return [KeyChanged(*cast("tuple[str, str, str]", row)) for row in rows]

    def answers(self, size: int) -> list[Answer]:
        """Return what witnesses said to the signed point of a size."""
        return _answers(self._tables.query("SELECT * FROM answers WHERE size = ? ORDER BY seq", (size,)))

    def newest_answers(self) -> list[Answer]:
        """Return the newest answer of each witness."""
        sql = "SELECT * FROM answers WHERE seq IN (SELECT max(seq) FROM answers GROUP BY witness) ORDER BY witness"
        return _answers(self._tables.query(sql))

    def last_taken(self, witness: str) -> int:
        """Return the size of the newest signed point that a witness took, 0 for none."""
        sql = "SELECT max(size) FROM answers WHERE witness = ? AND error = ''"
        return cast("int | None", self._tables.query(sql, (witness,))[0][0]) or 0

    def trusted(self, origin: str) -> str | None:
        """Return the key with which another log must be signed, None for a log that is not known."""
        rows = self._tables.query("SELECT key FROM trusted_logs WHERE origin = ?", (origin,))
        return cast("str", rows[0][0]) if rows else None

    def seen(self, origin: str) -> Seen | None:
        """Return what another log was when it was seen last."""
        rows = self._tables.query("SELECT * FROM seen_logs WHERE origin = ?", (origin,))
        return Seen(*cast("tuple[str, int, str, str, int]", rows[0])) if rows else None


def _signed(rows: Sequence[Row]) -> Signed | None:
    return Signed(*cast("tuple[int, int, str, str]", rows[0])) if rows else None


def _answers(rows: Iterable[Row]) -> list[Answer]:
    return [Answer(*cast("tuple[int, str, int, str, str]", row)) for row in rows]
