"""choir export and import."""

import json
from pathlib import Path

from choiros.cli.carried import Exported, Imported
from choiros.cli.portable import show_imported
from choiros.cli.show import Screen
from tests.unit.cli.direct.homes import Home
from tests.unit.cli.fake_client import FakeClient, Stream, choir

DONE = Exported("/media/me.tar", 2_500_000, "ab" * 32, "me", 1200, "cd" * 32, 1)


def test_an_export_tells_what_it_wrote_and_its_hash() -> None:
    client = FakeClient(export=DONE)
    outcome = choir("export", "me.tar", client=client)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        f"Wrote 1,200 events and 1 content to /media/me.tar (2.5 MB).\nSHA-256 {'ab' * 32}\n"
    )
    assert client.called("export")[0][0] == "me.tar"
    assert json.loads(choir("export", "me.tar", "--json", client=client).out)["seq"] == 1200


def test_an_import_needs_a_file_that_exists(tmp_path: Path) -> None:
    outcome = choir("import", str(tmp_path / "me.tar"), "--home", str(tmp_path / "home"), "--json")
    error = json.loads(outcome.out)["error"]
    assert (outcome.code, error["code"]) == (1, "archive.not_found")
    assert not (tmp_path / "home").exists()


def test_what_was_exported_comes_in_elsewhere(tmp_path: Path) -> None:
    """C-81."""
    home = Home(tmp_path / "one", {})
    home.write("notes/a.txt", b"one\n")
    file = str(tmp_path / "me.tar")
    home.do(lambda client: client.export(file, lambda *_: None))
    outcome = choir("import", file, "--home", str(tmp_path / "two"))
    assert (outcome.code, outcome.err) == (0, "")
    assert "Brought in 5 events and 1 content of 'me', each checked." in outcome.out
    assert Home(tmp_path / "two", {}).read("notes/a.txt") == b"one\n"
    again = choir("import", file, "--home", str(tmp_path / "two"))
    assert (again.code, again.err.splitlines()[-1]) == (1, "code: import.exists")


def test_what_a_person_should_know_about_an_import_is_told() -> None:
    found = Imported(
        "/me.tar", "me", 7, "cd", 2, 3, "/home/aside/me", {"own": "/srv/own"}, ["files"], ["It is slow."]
    )
    out, err = Stream(), Stream()
    assert show_imported(Screen(out, err, keys=None), found) == 1
    assert "kept in /home/aside/me" in out.all()
    assert "the workspace 'own', whose folder is /srv/own: 'choir workspaces open own'" in err.all()
    assert "not compared with it: files" in err.all()
    assert "warning: It is slow." in err.all()
