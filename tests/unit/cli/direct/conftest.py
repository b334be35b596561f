"""The fixture of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.direct.homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return an empty data directory."""
    return Home(tmp_path / "home", {})
