"""The place where data is made ready: one arrival at a time, nothing left behind, nothing of others removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from choiros.engines.tree.disk import renames
from choiros.kernel.errors import Rejected, Unavailable
from choiros.wiring.portable.staging import MARK, explained, staging
from tests.carrying import left_in


def fill(folder: Path, text: str) -> None:
    (folder / ".choir").mkdir(parents=True, exist_ok=True)
    (folder / ".choir" / "log.db").write_text(text)


def break_off(home: Path) -> None:
    with staging(home, "me") as stage:
        fill(stage.base, "new")
        raise KeyError


def come_too_late(home: Path) -> None:
    with staging(home, "me") as stage:
        fill(stage.base, "new")
        fill(home / "users/me", "old")
        stage.take_place()


def test_what_is_made_ready_takes_its_place_and_nothing_else_is_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with staging(home, "me") as stage:
        fill(stage.base, "new")
        stage.take_place()
    assert left_in(home) == [".gitignore", "users", "users/me", "users/me/.choir", "users/me/.choir/log.db"]
    assert (home / "users/me").stat().st_mode & 0o777 == 0o700


def test_after_a_failure_not_even_the_data_directory_is_left(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        break_off(tmp_path / "home")
    assert left_in(tmp_path) == []


def test_after_a_failure_what_was_there_before_is_still_there(tmp_path: Path) -> None:
    fill(tmp_path / "users/anna", "hers")
    before = left_in(tmp_path)
    with pytest.raises(KeyError), staging(tmp_path, "me"):
        raise KeyError
    assert left_in(tmp_path) == before


def test_a_place_that_was_taken_in_the_meantime_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(Rejected) as caught:
        come_too_late(tmp_path)
    assert caught.value.code == "import.exists"
    assert (tmp_path / "users/me/.choir/log.db").read_text() == "old"
    assert not (tmp_path / "arriving").exists()


def test_two_change_places_and_the_former_is_kept(tmp_path: Path) -> None:
    fill(tmp_path / "users/me", "old")
    with staging(tmp_path, "me") as stage:
        fill(stage.base, "new")
        aside = stage.change_places("me-then")
    assert aside == tmp_path / "aside/me-then"
    assert (tmp_path / "users/me/.choir/log.db").read_text() == "new"
    assert (aside / ".choir/log.db").read_text() == "old"
    assert not list(tmp_path.rglob(MARK.name))


def test_only_one_arrives_at_a_time(tmp_path: Path) -> None:
    with staging(tmp_path, "me"):
        with pytest.raises(Unavailable, match="bringing in data") as caught, staging(tmp_path, "anna"):
            pass
        assert caught.value.code == "import.busy"
        assert (tmp_path / "arriving/me").is_dir()
    with staging(tmp_path, "anna"):
        pass


def test_what_a_crash_left_is_removed_and_what_was_put_aside_is_not(tmp_path: Path) -> None:
    """What was killed while two were about to change places lies among what was put aside, with its mark."""
    fill(tmp_path / "arriving/me", "half")
    fill(tmp_path / "aside/me-unfinished", "half")
    (tmp_path / "aside/me-unfinished" / MARK).touch()
    fill(tmp_path / "aside/me-before", "mine")
    (tmp_path / "arriving/me/way-out").symlink_to(tmp_path / "aside/me-before")
    with staging(tmp_path, "me"):
        pass
    assert [path.name for path in (tmp_path / "aside").iterdir()] == ["me-before"]
    assert (tmp_path / "aside/me-before/.choir/log.db").read_text() == "mine"


def test_a_mark_that_a_crash_left_in_place_does_not_condemn_the_data_later(tmp_path: Path) -> None:
    fill(tmp_path / "users/me", "first")
    (tmp_path / "users/me" / MARK).touch()
    for text in ("second", "third"):
        with staging(tmp_path, "me") as stage:
            fill(stage.base, text)
            stage.change_places(f"before-{text}")
    kept = {path.name: (path / ".choir/log.db").read_text() for path in (tmp_path / "aside").iterdir()}
    assert kept == {"before-second": "first", "before-third": "second"}


def test_where_two_cannot_change_places_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise renames.ExchangeMissingError

    fill(tmp_path / "users/me", "old")
    monkeypatch.setattr(renames, "exchange", missing)
    with pytest.raises(Unavailable) as caught, staging(tmp_path, "me") as stage:
        stage.change_places("me-then")
    assert caught.value.code == "import.no_exchange"
    assert (tmp_path / "users/me/.choir/log.db").read_text() == "old"
    assert list((tmp_path / "aside").iterdir()) == []


def test_a_link_in_the_place_of_the_staging_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/keep").touch()
    (tmp_path / "arriving").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable), staging(tmp_path, "me"):
        pass
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["keep"]


def test_a_full_disk_is_told_as_one() -> None:
    with pytest.raises(Unavailable, match="Nothing was changed") as caught, explained():
        raise OSError(28, os.strerror(28))
    assert caught.value.fix == "Free some space, then try again."
