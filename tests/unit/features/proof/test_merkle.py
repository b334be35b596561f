"""The tree and its proofs are those of RFC 6962, for every size and every place, and no other proof is believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.features.proof.merkle import (
    EMPTY,
    Frontier,
    complete_root,
    consistency_proof,
    frontier_of,
    inclusion_proof,
    is_consistent,
    leaf_hash,
    root_from_inclusion,
)
from tests.unit.features.proof.trees import entries, mth, node_of, path, proof

SIZES = [*range(34), 63, 64, 65, 100]
OTHER = bytes(32)


def test_the_roots_are_those_that_others_publish_for_the_same_leaves() -> None:
    """The inputs and roots of the test vectors that Certificate Transparency logs share."""
    leaves = [
        bytes.fromhex(one)
        for one in (
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        )
    ]
    tree = Frontier()
    tree.add(map(leaf_hash, leaves))
    assert tree.root().hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


@pytest.mark.parametrize("size", SIZES)
def test_a_tree_that_grows_has_the_root_of_the_definition(size: int) -> None:
    tree = Frontier()
    tree.add(leaf_hash(one) for one in entries(size))
    assert (tree.size, tree.root()) == (size, mth(entries(size)))
    again = frontier_of(size, node_of(entries(size)))
    assert again.root() == tree.root()
    again.add([leaf_hash(b"one more")])
    assert again.root() == mth([*entries(size), b"one more"])


def test_the_root_over_a_complete_row_is_that_of_the_definition() -> None:
    for size in (1, 2, 4, 8, 256):
        assert complete_root([leaf_hash(one) for one in entries(size)]) == mth(entries(size))
    assert mth([]) == EMPTY


@pytest.mark.parametrize("size", SIZES[1:])
def test_every_inclusion_is_proved_as_defined_and_leads_to_the_root(size: int) -> None:
    leaves = entries(size)
    for index in range(size):
        hashes = inclusion_proof(index, size, node=node_of(leaves))
        assert hashes == path(index, leaves)
        assert root_from_inclusion(leaf_hash(leaves[index]), index, size=size, proof=hashes) == mth(leaves)


@pytest.mark.parametrize("size", SIZES)
def test_every_consistency_is_proved_as_defined_and_believed(size: int) -> None:
    leaves = entries(size)
    for old in range(size + 1):
        hashes = consistency_proof(old, size, node=node_of(leaves))
        assert hashes == (proof(old, leaves) if old else [])
        assert is_consistent(old, mth(leaves[:old]), size=size, root=mth(leaves), proof=hashes)


places = st.integers(1, 70).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@given(places, st.data())
def test_an_inclusion_with_anything_changed_leads_elsewhere(
    place: tuple[int, int], data: st.DataObject
) -> None:
    size, index = place
    leaves = entries(size)
    root, leaf, hashes = mth(leaves), leaf_hash(leaves[index]), path(index, leaves)
    for changed in changes_of(hashes, data):
        assert root_from_inclusion(leaf, index, size=size, proof=changed) != root
    assert root_from_inclusion(OTHER, index, size=size, proof=hashes) != root
    for other in {index - 1, index + 1, size - 1 - index, -1, size} - {index}:
        assert root_from_inclusion(leaf, other, size=size, proof=hashes) != root


@given(places, st.data())
def test_a_consistency_with_anything_changed_is_not_believed(
    place: tuple[int, int], data: st.DataObject
) -> None:
    size, old = place
    leaves = entries(size)
    root, before, hashes = mth(leaves), mth(leaves[:old]), consistency_proof(old, size, node=node_of(leaves))
    for changed in changes_of(hashes, data):
        assert not is_consistent(old, before, size=size, root=root, proof=changed)
    assert not is_consistent(old, OTHER, size=size, root=root, proof=hashes)
    if old:
        assert not is_consistent(old, before, size=size, root=OTHER, proof=hashes)
    for other in {old - 1, old + 1, -1, size + 1} - {old}:
        assert not is_consistent(other, before, size=size, root=root, proof=hashes)


def changes_of(hashes: list[bytes], data: st.DataObject) -> list[list[bytes]]:
    changed = [[*hashes, OTHER], [OTHER, *hashes]]
    if hashes:
        place = data.draw(st.integers(0, len(hashes) - 1))
        bit = data.draw(st.integers(0, 255))
        flipped = (int.from_bytes(hashes[place]) ^ (1 << bit)).to_bytes(32)
        changed += [hashes[:-1], hashes[1:], [*hashes[:place], flipped, *hashes[place + 1 :]]]
    return changed


def test_a_tree_of_another_history_is_not_taken_for_a_continuation() -> None:
    """Two views of one log: each is sound by itself."""
    leaves = entries(20)
    forged = [*leaves[:5], b"another event", *leaves[6:]]
    for size in range(6, 21):
        for old in range(6, size + 1):
            hashes = consistency_proof(old, size, node=node_of(forged))
            assert not is_consistent(old, mth(leaves[:old]), size=size, root=mth(forged[:size]), proof=hashes)
