"""How a computer is opened: alone to write, beside others to look."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from choiros.cli.client import LogQuery
from choiros.cli.direct import connect
from choiros.kernel.errors import Rejected, Unavailable
from choiros.settings import resolve
from tests.unit.cli.direct.homes import Home


def test_the_first_start_makes_the_first_workspace(home: Home) -> None:
    assert home.do(lambda client: client.status()).workspace == "main"
    assert (home.path / "users/me/workspace").is_dir() or home.paths() == []


def test_a_workspace_that_does_not_exist_is_refused(home: Home) -> None:
    with pytest.raises(Rejected, match="There is no workspace 'nowhere'"):
        Home(home.path, {}, workspace="nowhere").paths()


def test_a_second_writer_waits_and_is_told_who_holds_the_data_while_a_reader_reads(home: Home) -> None:
    home.write("a.txt", b"1")

    async def beside() -> int:
        resolved = resolve({"home": str(home.path), "lock_timeout_s": "0"}, {})
        writer = await connect(resolved, workspace=None, write=True)
        try:
            with pytest.raises(Unavailable, match="process"):
                await connect(resolved, workspace=None, write=True)
            reader = await connect(resolved, workspace=None, write=False)
            lines = await reader.log(LogQuery(limit=100))
            await reader.close()
            return len(lines)
        finally:
            await writer.close()

    assert asyncio.run(beside()) > 0


def test_nobody_can_commit_the_data_directory_by_accident(home: Home) -> None:
    """K-47: neither of the whole nor of the part that holds log, keys and contents."""
    home.write("a.txt", b"1")
    home.do(lambda client: client.checkpoint("first"))
    for place in (home.path, home.path / "users" / "me", home.path / "users" / "me" / ".choir"):
        subprocess.run(["git", "init", "-q", "."], cwd=place, check=True)
        subprocess.run(["git", "add", "-A"], cwd=place, check=True, capture_output=True)
        done = subprocess.run(["git", "ls-files"], cwd=place, check=True, capture_output=True, text=True)
        assert [path for path in done.stdout.split() if path != "workspace"] == []


def test_a_repository_around_the_data_directory_takes_nothing_of_it(home: Home) -> None:
    """K-47: the person's own git, in the data directory and above it, takes nothing of it."""
    home.write("a.txt", b"1")
    home.do(lambda client: client.checkpoint("first"))
    (home.path / "choiros.toml").write_text("lock_timeout_s = 5\n")
    for top in (home.path.parent, home.path):
        subprocess.run(["git", "init", "-q", str(top)], check=True)
        subprocess.run(["git", "-C", str(top), "add", "-A"], check=True)
        listed = subprocess.run(["git", "-C", str(top), "ls-files"], check=True, capture_output=True)
        assert listed.stdout == b""
