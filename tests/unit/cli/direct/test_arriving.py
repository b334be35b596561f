"""Whole computers that come in from a file, on a real data directory."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from choiros.cli.direct.arriving import check_same, import_file, restore_file, summarise
from choiros.kernel.errors import Conflict, Rejected
from choiros.settings import Resolved, resolve
from tests.unit.cli.direct.homes import Home


def silent(what: str, done: int, of: int) -> None:
    """Take what is told about the progress."""


def at(home: Path, user: str = "me") -> Resolved:
    return resolve({"home": str(home), "user": user}, {})


@pytest.fixture
def file(home: Home, tmp_path: Path) -> str:
    """An export of a computer with a workspace in a folder of the person's own."""
    home.write("a.txt", b"one\n")
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.txt").write_bytes(b"mine\n")
    home.do(lambda client: client.change_workspace("add", "own", argument=str(own)))
    home.do(lambda client: client.export(str(tmp_path / "me.tar"), silent))
    shutil.rmtree(own)
    return str(tmp_path / "me.tar")


def test_what_came_in_is_told_and_shown_but_not_in_folders_of_the_persons_own(
    file: str, tmp_path: Path
) -> None:
    """C-81."""
    found = asyncio.run(import_file(at(tmp_path / "two"), file, progress=silent))
    assert (found.files, found.aside, found.warnings) == (1, None, [])
    assert found.put_away == {"own": str(tmp_path / "own")}
    assert not (tmp_path / "own").exists()
    two = Home(tmp_path / "two", {})
    assert two.paths() == ["a.txt"]
    two.do(lambda client: client.change_workspace("open", "own", argument=None))
    assert (tmp_path / "own/mine.txt").read_bytes() == b"mine\n"


def test_a_preview_tells_what_is_in_the_file_and_what_is_there(file: str, home: Home, tmp_path: Path) -> None:
    seen = asyncio.run(summarise(at(home.path), file, progress=silent))
    assert seen.now is not None
    assert seen.now.seq is not None
    assert seen.now.seq >= seen.seq
    assert asyncio.run(summarise(at(tmp_path / "two"), file, progress=silent)).now is None
    assert not (tmp_path / "two").exists()
    with pytest.raises(Rejected) as caught:
        asyncio.run(summarise(at(home.path, "anna"), file, progress=silent))
    assert caught.value.code == "import.other_user"


def test_what_changed_while_the_question_stood_there_is_noticed(file: str, home: Home) -> None:
    seen = asyncio.run(summarise(at(home.path), file, progress=silent))
    asyncio.run(check_same(at(home.path), seen))
    home.write("a.txt", b"two\n")
    with pytest.raises(Conflict):
        asyncio.run(check_same(at(home.path), seen))


def test_a_restore_tells_where_the_former_data_is(file: str, home: Home) -> None:
    home.write("a.txt", b"two\n")
    found = asyncio.run(restore_file(at(home.path), file, progress=silent))
    assert found.aside is not None
    assert (Path(found.aside) / "workspace/a.txt").read_bytes() == b"two\n"
    assert home.read("a.txt") == b"one\n"
