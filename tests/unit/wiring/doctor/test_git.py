"""How a commit differs from what stood in the workspace at its checkpoint."""

import pytest

from choiros.kernel.tree import Entry
from choiros.wiring.doctor.git import difference

FILE, RUN, OTHER = (
    Entry("file", 0o644, 1, "a" * 64),
    Entry("file", 0o755, 1, "a" * 64),
    Entry("file", 0o644, 1, "b"),
)
LINK = Entry("link", 0o777, target="a")


@pytest.mark.parametrize(
    ("files", "standing", "kept", "expected"),
    [
        ({"a": FILE}, {"a": FILE}, {"a": FILE}, ""),
        ({"a": Entry("file", 0o644, 1, "a" * 64)}, {"a": Entry("file", 0o600, 1, "a" * 64)}, {}, ""),
        ({"l": LINK}, {"l": LINK}, {"l": LINK}, ""),
        ({".env": FILE}, {".env": FILE}, {}, ""),
        ({}, {".env": FILE}, {}, ""),
        ({"a": RUN}, {"a": FILE}, {"a": FILE}, "holds another a than stood there."),
        ({"a": OTHER}, {"a": FILE}, {"a": FILE}, "holds another a than stood there."),
        ({"a": FILE, "b": FILE}, {"a": FILE}, {"a": FILE}, "holds b, which did not stand there."),
        ({}, {"a": FILE}, {"a": FILE}, "lacks a, which stood there."),
    ],
)
def test_a_commit_holds_what_stood_there_and_nothing_else(
    files: dict[str, Entry], standing: dict[str, Entry], kept: dict[str, Entry], expected: str
) -> None:
    assert difference(files, standing, kept=kept) == expected
