"""Which names a part of an archive may have."""

import pytest

from choiros.kernel.archive import is_part_name


@pytest.mark.parametrize("name", ["manifest.json", "log/000001.records.zlib", "a", "a" * 100, "0-_.x"])
def test_plain_relative_names_are_names(name: str) -> None:
    assert is_part_name(name)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "/a", "a/", "a//b", "a/../b", ".a", "a/.b", "A", "a\\b", "a\n", "ä", "a\x00", "a" * 101],
)
def test_what_leads_elsewhere_or_reads_like_another_is_none(name: str) -> None:
    """C-81."""
    assert not is_part_name(name)
