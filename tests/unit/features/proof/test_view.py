"""The tiles hold the tree of the log, however the events came in, and the tables hold what was signed and seen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from choiros.engines.tables.sqlite import SqliteTables
from choiros.features.proof.events import KeyChanged, LogSeen, LogSigned, LogTrusted, WitnessAnswered
from choiros.features.proof.merkle import inclusion_proof, leaf_hash
from choiros.features.proof.view import HASH, LEVEL, WIDTH, ProofProjector, ProofView, grow
from tests.places import empty_tables, events_of
from tests.unit.features.proof.trees import entries, mth, path

LARGE = 3 * WIDTH + 7
LEAVES = [leaf_hash(one) for one in entries(LARGE)]


def view_of(*payloads: Struct) -> ProofView:
    tables = empty_tables(ProofProjector())
    ProofProjector().apply(tables, events_of(*payloads))
    return ProofView(tables)


def grown(cuts: list[int]) -> SqliteTables:
    tables = empty_tables(ProofProjector())
    ends = sorted({*cuts, LARGE})
    for start, end in zip([0, *ends], ends, strict=False):
        grow(tables, start, hashes=LEAVES[start:end])
    return tables


@settings(max_examples=25)
@given(st.lists(st.integers(1, LARGE - 1)))
def test_any_cut_into_batches_gives_the_same_tiles(cuts: list[int]) -> None:
    rows = "SELECT place, hashes FROM tiles ORDER BY place"
    assert grown(cuts).query(rows) == grown([]).query(rows)


def test_full_tiles_hold_256_hashes_and_their_roots_stand_one_level_above() -> None:
    """C2SP tlog-tiles."""
    sizes = {place: len(bytes(tile)) // HASH for place, tile in grown([]).query("SELECT * FROM tiles")}  # pyright: ignore[reportArgumentType]
    assert sizes == {0: 256, 1: 256, 2: 256, 3: 7, LEVEL: 3}
    top = grown([]).query("SELECT hashes FROM tiles WHERE place = ?", (LEVEL,))[0][0]
    assert isinstance(top, bytes)
    assert top[:HASH] == mth(entries(LARGE)[:WIDTH])


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 512, 513, LARGE])
def test_the_root_at_every_size_is_that_of_the_definition(size: int) -> None:
    view = ProofView(grown([]))
    assert view.root(size) == mth(entries(size))
    tree = view.frontier(size)
    tree.add([leaf_hash(b"more")])
    assert tree.root() == mth([*entries(size), b"more"])


def test_the_hashes_of_events_are_given_back_in_order() -> None:
    view = ProofView(grown([]))
    for after, until in ((0, LARGE), (250, 260), (256, 512), (5, 6), (LARGE, LARGE)):
        assert view.leaves(after, until) == LEAVES[after:until]


def test_a_proof_from_the_tiles_is_that_of_the_definition() -> None:
    view = ProofView(grown([]))
    for index in (0, 255, 256, LARGE - 1):
        assert inclusion_proof(index, LARGE, node=view.node) == path(index, entries(LARGE))


def test_leaves_are_the_stored_heads() -> None:
    events = events_of(LogTrusted("a", "k"), LogTrusted("b", "k"))
    tables = empty_tables(ProofProjector())
    ProofProjector().apply(tables, events[:1])
    ProofProjector().apply(tables, events[1:])
    assert ProofView(tables).root(2) == mth([event.record.head for event in events])


def test_signed_points_are_found_by_what_they_cover_and_by_who_has_seen_them() -> None:
    view = view_of(
        LogSigned(1, "r1", "n1"),
        LogSigned(5, "r5", "n5"),
        WitnessAnswered("w", 5, "lines"),
        LogSigned(9, "r9", "n9"),
        WitnessAnswered("w", 9, error="away"),
        WitnessAnswered("v", 9),
    )
    assert (view.last() or LogSigned).size == 9
    assert [getattr(view.first_over(seq), "size", None) for seq in (1, 2, 5, 6, 9, 10)] == [
        1,
        5,
        5,
        9,
        9,
        None,
    ]
    assert [getattr(view.witnessed_over(seq), "size", None) for seq in (1, 5, 6)] == [5, 5, None]
    assert [(one.witness, one.error) for one in view.answers(9)] == [("w", "away"), ("v", "")]
    assert [(one.witness, one.size) for one in view.newest_answers()] == [("v", 9), ("w", 9)]
    assert (view.last_taken("w"), view.last_taken("v"), view.last_taken("x")) == (5, 9, 0)


def test_keys_are_kept_in_order_and_other_logs_as_they_were_seen_last() -> None:
    view = view_of(
        KeyChanged("one"),
        KeyChanged("two", "one", "note"),
        LogTrusted("o", "key"),
        LogTrusted("o", "newer key"),
        LogSeen("o", 3, "r3", "n3", 1),
        LogSeen("o", 4, "r4", "n4", 2),
    )
    assert [one.key for one in view.signing_keys()] == ["one", "two"]
    assert (view.trusted("o"), view.trusted("x")) == ("newer key", None)
    seen = view.seen("o")
    assert seen is not None
    assert (seen.size, seen.note, seen.time_s) == (4, "n4", 2)
    assert view.seen("x") is None
    assert (view.last(), view.first_over(1)) == (None, None)
