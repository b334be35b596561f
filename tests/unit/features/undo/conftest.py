"""Where the stories of undo are told: in memory and on a real disk."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.places import DiskPlace, MemoryPlace, Place


@pytest.fixture(params=["memory", "disk"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return MemoryPlace(tmp_path) if request.param == "memory" else DiskPlace(tmp_path / "home")


@pytest.fixture
def old_umask() -> Generator[None]:
    """Modes come from the wish alone, whatever the person's umask."""
    before = os.umask(0o077)
    yield
    os.umask(before)
