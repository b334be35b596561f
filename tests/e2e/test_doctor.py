"""The doctor from the command line, at a computer whose log is broken and at one that can be mended (C-22, C-71)."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.e2e.terminal import Home, Terminal


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    for number in range(3):
        assert made.choir("write", f"{number}.txt", put=b"text\n").code == 0
    assert made.choir("checkpoint", "one").code == 0
    return made


def data(home: Home) -> Path:
    return home.workspace.parent / ".choir"


def broken(home: Home) -> set[str]:
    told = json.loads(home.choir("doctor", "--json").out)
    return {one["code"] for one in told["findings"] if one["severity"] == "broken"}


def test_a_broken_log_is_named_where_it_is_broken_and_stays_as_it_is(home: Home) -> None:
    db = sqlite3.connect(data(home) / "log.db")
    db.execute("UPDATE events SET payload = x'7b7d' WHERE seq = 4")
    db.commit()
    db.close()
    (home.workspace / "0.txt").unlink()
    before = (data(home) / "log.db").read_bytes()
    done = home.choir("doctor")
    assert (done.code, "Traceback" in done.err) == (1, False)
    assert "broken  chain" in done.out
    assert "where: event 4" in done.out
    assert "fix:   Bring the newest backup back" in done.out
    assert home.choir("doctor", "--fix", "--yes").code == 1
    assert (data(home) / "log.db").read_bytes() == before


def test_everything_that_is_made_from_the_log_comes_back(home: Home) -> None:
    contents = {path.name: path.read_bytes() for path in home.workspace.glob("*.txt")}
    shutil.rmtree(home.workspace)
    shutil.rmtree(data(home) / "git")
    for path in data(home).glob("state.sqlite*"):
        path.write_bytes(b"rust" * 5000)
    assert broken(home) == {"projections.damaged", "workspaces.no_folder", "git.missing"}
    terminal = Terminal(home, "doctor", "--fix")
    assert "make every view again from the log" in terminal.expect("Do it? [y/N]")
    terminal.type("y\n")
    terminal.expect("Done: make every view again from the log.")
    assert terminal.code() == 0
    assert {path.name: path.read_bytes() for path in home.workspace.glob("*.txt")} == contents
    assert broken(home) == set()


def test_the_doctor_looks_although_no_other_command_starts(home: Home) -> None:
    (home.folder / "home" / "choiros.toml").write_text("nonsense = 1\n")
    assert home.choir("status").code == 1
    done = home.choir("doctor")
    assert done.code == 1
    assert "There is no setting 'nonsense'" in done.out
    assert "ok      chain" in done.out
