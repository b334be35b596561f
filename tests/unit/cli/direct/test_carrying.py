"""Exports and backups, asked for and by themselves, on a real data directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from choiros.cli.client import LogQuery
from choiros.cli.direct.carrying import absolute
from choiros.kernel.errors import Rejected
from tests.unit.cli.direct.homes import Home


def types(home: Home) -> list[str]:
    query = LogQuery(limit=100)
    return [line.event_type for line in home.do(lambda client: client.log(query), write=False)]


def silent(what: str, done: int, of: int) -> None:
    """Take what is told about the progress."""


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.fixture
def kept(tmp_path: Path, disk: Path) -> Home:
    """A computer whose backups are set up."""
    return Home(tmp_path / "home", {"backup.directory": str(disk)})


def test_an_export_holds_edits_made_with_other_programs(home: Home, tmp_path: Path) -> None:
    home.write("a.txt", b"one\n")
    (home.folder / "b.txt").write_bytes(b"by hand\n")
    done = home.do(lambda client: client.export(str(tmp_path / "me.tar"), silent))
    assert (done.contents, done.user, Path(done.file)) == (2, "me", tmp_path / "me.tar")


def test_an_export_into_a_workspace_is_refused(home: Home) -> None:
    home.write("a.txt", b"one\n")
    with pytest.raises(Rejected) as caught:
        home.do(lambda client: client.export(str(home.folder / "me.tar"), silent))
    assert caught.value.code == "backup.inside"


def test_backups_are_listed_with_their_hash_and_their_drill(kept: Home) -> None:
    done = kept.do(lambda client: client.back_up(silent))
    assert kept.do(lambda client: client.drill(silent)).ok
    (line,) = kept.do(lambda client: client.backups())
    assert (line.file, line.sha256, line.seq, line.error) == (done.file, done.sha256, done.seq, "")
    assert line.tried is not None


def test_a_backup_that_is_due_is_made_at_the_end_of_a_command(kept: Home, disk: Path) -> None:
    """C-23."""
    kept.write("a.txt", b"one\n")
    assert len(list(disk.iterdir())) == 1
    assert types(kept)[-1] == "backup.make"
    kept.write("a.txt", b"two\n")
    assert len(list(disk.iterdir())) == 1


def test_a_backup_that_cannot_be_made_keeps_nobody_from_work(
    kept: Home, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk.rmdir()
    assert kept.write("a.txt", b"one\n").warnings == []
    assert "The backup that was due could not be made" in capsys.readouterr().err
    assert types(kept)[-1] == "backup.fail"
    kept.write("a.txt", b"two\n")
    assert capsys.readouterr().err == ""


def test_switched_off_none_is_made_by_itself(kept: Home, disk: Path) -> None:
    kept.flags["backup.every_hours"] = "0"
    kept.write("a.txt", b"one\n")
    assert not list(disk.iterdir())


def test_a_file_is_meant_from_where_the_person_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("me.tar") == tmp_path / "me.tar"
