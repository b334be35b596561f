"""How a commit differs from what stood in the workspace at its checkpoint, and which objects are spoiled."""

import hashlib
import zlib
from pathlib import Path

import pytest

from choiros.kernel.tree import Entry
from choiros.wiring.doctor.git import difference, spoiled_objects

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


def stored(repository: Path, content: bytes) -> Path:
    name = hashlib.sha1(content).hexdigest()
    path = repository / "objects" / name[:2] / name[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(content))
    return path


def test_objects_that_are_cut_off_or_changed_are_found_without_git(tmp_path: Path) -> None:
    whole, cut, changed, rust, empty = (stored(tmp_path, b"blob 9\0text %d" % n * 99) for n in range(5))
    cut.write_bytes(cut.read_bytes()[:-8])
    changed.write_bytes(whole.read_bytes())
    rust.write_bytes(b"rust")
    empty.write_bytes(b"")
    (tmp_path / "objects" / "pack").mkdir()
    (tmp_path / "objects" / "pack" / "pack-1.pack").write_bytes(b"not loose")
    assert spoiled_objects(tmp_path) == sorted(
        path.relative_to(tmp_path).as_posix() for path in (cut, changed, rust, empty)
    )
