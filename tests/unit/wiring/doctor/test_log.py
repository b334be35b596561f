"""The log as a file: there, opening, whole."""

import asyncio
from pathlib import Path

import pytest

from choiros.settings import resolve
from choiros.wiring.doctor import LeftOut, examination, look_at
from choiros.wiring.doctor.log import kept_tables
from tests.unit.cli.direct.homes import Home


def test_a_folder_in_which_nothing_was_recorded_yet_is_no_lost_log(tmp_path: Path) -> None:
    async def story() -> None:
        (tmp_path / "users" / "me").mkdir(parents=True)
        async with examination(
            resolve({"home": str(tmp_path)}, {}), deep=False, progress=lambda *_: None
        ) as case:
            await look_at(case, "log")
            await look_at(case, "chain")
            assert case.findings == []
            assert [(one.state, one.summary) for one in case.areas] == [
                ("ok", "nothing was recorded yet"),
                ("skipped", "the log cannot be read"),
            ]
            with pytest.raises(LeftOut):
                kept_tables(case)

    asyncio.run(story())


def test_looking_at_the_log_tells_how_long_it_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with examination(
            resolve({"home": str(tmp_path)}, {}), deep=False, progress=lambda *_: None
        ) as case:
            await look_at(case, "log")
            await look_at(case, "chain")
            assert [one.summary.split(",")[0] for one in case.areas] == ["events: 4", "events verified: 4"]
            assert case.is_log_whole
            kept_tables(case).close()

    Home(tmp_path, {}).write("a.txt", b"1")
    asyncio.run(story())
