"""Every source of ids keeps the promises of the port."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.engines.ids.system import SystemIds, uuid7
from choiros.testing.ids import CountingIds
from choiros.testing.ids_contract import NOW, IdsContract


class TestSystemIds(IdsContract):
    @pytest.fixture
    def ids(self) -> SystemIds:
        return SystemIds()


class TestCountingIds(IdsContract):
    @pytest.fixture
    def ids(self) -> CountingIds:
        return CountingIds()


def milliseconds(text: str) -> int:
    return int(text.replace("-", "")[:12], 16)


@given(st.lists(st.integers(NOW, NOW + 10_000), min_size=1, max_size=20))
def test_an_id_tells_the_latest_time_that_was_seen(times: list[int]) -> None:
    ids = SystemIds()
    latest = [max(times[: number + 1]) for number in range(len(times))]
    assert [milliseconds(ids.event_id(now)) for now in times] == latest


def test_two_programs_at_the_same_moment_make_different_ids() -> None:
    assert len({SystemIds().event_id(NOW) for _ in range(1000)}) == 1000


def test_ids_keep_growing_when_a_millisecond_is_used_up() -> None:
    ids = SystemIds()
    ids._last = ((NOW + 1) << 74) - 1
    text = ids.event_id(NOW)
    assert milliseconds(text) == NOW + 1
    assert text == f"{text[:13]}-7000-8000-000000000000"


@given(st.integers(0, 2**122 - 1), st.integers(0, 2**122 - 1))
def test_the_order_of_the_texts_is_that_of_the_numbers(one: int, other: int) -> None:
    assert (uuid7(one) < uuid7(other)) == (one < other)


def test_ids_for_tests_can_be_foretold() -> None:
    one, other = CountingIds(), CountingIds()
    assert [one.event_id(NOW), one.salt()] == [other.event_id(0), other.salt()]
    assert CountingIds(41).event_id(NOW).endswith("-00000000002a")
