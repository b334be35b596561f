"""What every source of ids promises, as tests that an engine inherits: override the fixture."""

# ruff: noqa: D102 - a test's name is its sentence

from __future__ import annotations

import uuid

import pytest

from choiros.kernel.ids import Ids

NOW = 1_780_000_000_000


class IdsContract:
    """The promises of `choiros.kernel.ids`."""

    @pytest.fixture
    def ids(self) -> Ids:
        """Return a source of ids."""
        raise NotImplementedError

    def test_an_id_is_a_uuid_of_version_7_in_its_usual_form(self, ids: Ids) -> None:
        for number in range(100):
            text = ids.event_id(NOW + number)
            parsed = uuid.UUID(text)
            assert str(parsed) == text
            assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)

    @pytest.mark.parametrize(
        "times",
        [
            [NOW] * 500,
            range(NOW, NOW + 500),
            range(NOW, NOW - 500, -1),
            [NOW, 0, -1, NOW - 86_400_000, NOW, NOW + 1, 1, NOW + 2],
            [NOW + (7919 * number) % 1000 for number in range(500)],
        ],
        ids=["the clock stands", "it runs", "it runs backwards", "it jumps", "it is mad"],
    )
    def test_ids_only_grow_whatever_the_clock_does(self, ids: Ids, times: list[int]) -> None:
        made = [ids.event_id(now) for now in times]
        assert made == sorted(made)
        assert len(set(made)) == len(made)

    def test_salts_have_16_bytes_and_are_all_different(self, ids: Ids) -> None:
        salts = [ids.salt() for _ in range(500)]
        assert {len(salt) for salt in salts} == {16}
        assert len(set(salts)) == 500
