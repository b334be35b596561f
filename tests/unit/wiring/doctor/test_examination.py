"""A look prepares everything, changes nothing, and lets go of everything."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from choiros.settings import resolve
from choiros.wiring.doctor import AREAS, examination, look_at
from tests.unit.cli.direct.homes import Home


def test_after_a_look_the_lock_is_free_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    home = Home(tmp_path / "home", {"lock_timeout_s": "0"})
    home.write("a.txt", b"1")

    async def story() -> None:
        async with examination(
            resolve({"home": str(home.path)}, {}), deep=False, progress=lambda *_: None
        ) as case:
            for name in AREAS:
                await look_at(case, name)
            assert list(scratch.iterdir())

    asyncio.run(story())
    assert list(scratch.iterdir()) == []
    home.write("b.txt", b"2")


def test_where_nothing_is_kept_every_area_that_needs_it_is_left_out(tmp_path: Path) -> None:
    async def story() -> None:
        resolved = resolve({"home": str(tmp_path / "none")}, {})
        async with examination(resolved, deep=False, progress=lambda *_: None) as case:
            for name in AREAS:
                await look_at(case, name)
            left_out = {one.name for one in case.areas if one.state == "skipped"}
            assert left_out == set(AREAS) - {"settings", "versions", "disk"}

    asyncio.run(story())
    assert list(tmp_path.iterdir()) == []
