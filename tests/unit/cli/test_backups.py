"""choir backup and restore."""

import json
from pathlib import Path

import pytest

from choiros.cli.carried import BackupDone, BackupLine, DrillResult
from choiros.kernel.errors import Rejected
from tests.unit.cli.direct.homes import Home
from tests.unit.cli.fake_client import FakeClient, choir

FILE = "/media/choir-me-20260302T120000Z-7.tar"


def test_a_backup_tells_where_it_is_and_what_gave_way() -> None:
    client = FakeClient(back_up=BackupDone(FILE, 1500, "ab" * 32, 7, ["choir-me-old.tar"]))
    outcome = choir("backup", client=client)
    assert outcome.out == (
        f"Wrote and read back {FILE} (1.5 KB, up to event 7).\nSHA-256 {'ab' * 32}\n"
        "Removed 1 older backup: choir-me-old.tar\n"
    )
    assert json.loads(choir("backup", "--json", client=client).out)["removed"] == ["choir-me-old.tar"]


def test_backups_are_listed_with_what_came_of_trying_them() -> None:
    lines = [
        BackupLine(FILE, 1_700_000_000_000, 7, 1500, None, None, ""),
        BackupLine(FILE, 1_700_000_000_000, 7, 1500, "ab", 1_700_000_100_000, ""),
        BackupLine(FILE, 1_700_000_000_000, 7, 1500, "ab", 1_700_000_100_000, "It is cut off."),
    ]
    client = FakeClient(backups=[lines])
    shown = choir("backup", "--list", client=client).out.splitlines()
    assert ["tried" in line for line in shown] == [False, True, True]
    assert "failed when tried" in shown[2]
    assert len(choir("backup", "--list", "--json", client=client).out.splitlines()) == 3
    assert "no backups yet" in choir("backup", "--list", client=FakeClient(backups=[[]])).err


def test_a_drill_tells_whether_it_went_well() -> None:
    good = choir("backup", "--drill", client=FakeClient(drill=DrillResult(FILE, 7, ok=True, reason="")))
    assert (good.code, "all is as it was at event 7" in good.out) == (0, True)
    bad = DrillResult(FILE, 7, ok=False, reason="It is cut off.")
    outcome = choir("backup", "--drill", client=FakeClient(drill=bad))
    assert (outcome.code, "cannot be restored: It is cut off." in outcome.out) == (1, True)
    assert choir("backup", "--drill", "--json", client=FakeClient(drill=bad)).code == 1


def test_one_thing_at_a_time() -> None:
    assert choir("backup", "--list", "--drill").code == 2


def test_what_is_not_set_is_told() -> None:
    refusal = Rejected("backup.not_configured", "It is not set.", fix="choir config backup.directory DIR")
    outcome = choir("backup", client=FakeClient(back_up=refusal))
    assert (outcome.code, outcome.err.splitlines()[-1]) == (1, "code: backup.not_configured")


@pytest.fixture
def scene(tmp_path: Path) -> Home:
    """A computer that has been exported and has gone on since."""
    home = Home(tmp_path / "home", {})
    home.write("a.txt", b"one\n")
    home.do(lambda client: client.export(str(tmp_path / "me.tar"), lambda *_: None))
    home.write("a.txt", b"two\n")
    return home


def restore(home: Home, *words: str, keys: bytes = b"", terminal: bool = False):
    file = str(home.path.parent / "me.tar")
    return choir("restore", file, "--home", str(home.path), *words, keys=keys, terminal=terminal)


def test_without_a_yes_a_restore_only_shows_what_it_would_do(scene: Home) -> None:
    """C-23."""
    for outcome, code in ((restore(scene), 1), (restore(scene, "--preview"), 0)):
        assert outcome.code == code
        assert "me.tar is whole: 4 events and 1 content of 'me'" in outcome.out
        assert "has 6 events; all of it would be put aside" in outcome.out
    assert json.loads(restore(scene, "--json").out)["error"]["code"] == "confirm.needed"
    assert json.loads(restore(scene, "--preview", "--json").out)["now"]["seq"] == 6
    assert scene.read("a.txt") == b"two\n"
    assert not (scene.path / "aside").exists()


def test_with_a_yes_it_restores_and_keeps_aside_what_was_there(scene: Home) -> None:
    """C-23."""
    outcome = restore(scene, "--yes")
    assert (outcome.code, outcome.err) == (0, "")
    assert scene.read("a.txt") == b"one\n"
    (aside,) = (scene.path / "aside").iterdir()
    assert (aside / "workspace/a.txt").read_bytes() == b"two\n"
    assert str(aside) in outcome.out


@pytest.mark.parametrize(("keys", "content"), [(b"y\n", b"one\n"), (b"n\n", b"two\n"), (b"", b"two\n")])
def test_on_a_terminal_it_asks(scene: Home, keys: bytes, content: bytes) -> None:
    outcome = restore(scene, keys=keys, terminal=True)
    assert "What is there now is kept aside. [y/N]" in outcome.out
    assert outcome.code == (0 if content == b"one\n" else 1)
    assert scene.read("a.txt") == content


def test_a_damaged_backup_is_refused_also_with_a_yes(scene: Home) -> None:
    """C-23."""
    file = scene.path.parent / "me.tar"
    file.write_bytes(file.read_bytes()[:-1])
    for words in (("--yes",), ("--preview",), ()):
        outcome = restore(scene, *words)
        assert (outcome.code, outcome.err.splitlines()[-1]) == (1, "code: archive.cut")
    assert scene.read("a.txt") == b"two\n"


def test_a_computer_that_cannot_be_read_can_be_replaced(scene: Home) -> None:
    log = scene.path / "users/me/.choir/log.db"
    log.write_bytes(b"no log at all" * 1000)
    assert "cannot be read; it would be put aside" in restore(scene, "--preview").out
    assert restore(scene, "--yes").code == 0
    assert scene.read("a.txt") == b"one\n"
