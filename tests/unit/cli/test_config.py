"""choir config."""

import json
from pathlib import Path

import pytest

from choiros.settings import keys
from tests.unit.cli.fake_client import FakeClient, choir


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHOIR_HOME", str(tmp_path))
    return tmp_path


def test_every_setting_has_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHOIR_SNAPSHOTS_KEPT", "3")
    lines = choir("config", "--user", "ann").out.splitlines()
    assert any(line.split() == ["user", "ann", "flag"] for line in lines)
    assert any(line.split() == ["snapshots.kept", "3", "environment"] for line in lines)
    found = json.loads(choir("config", "--json").out)
    assert found["settings"]["lock_timeout_s"] == {"value": 10, "origin": "default"}


def test_the_data_directory_has_its_origin_too(home: Path) -> None:
    """C-13: whatever can be chosen shows who chose it."""
    assert ["home", str(home), "environment"] in [line.split() for line in choir("config").out.splitlines()]
    elsewhere = choir("config", "home", "--home", str(home / "x"), "--json")
    assert json.loads(elsewhere.out) == {"key": "home", "value": str(home / "x"), "origin": "flag"}


def test_the_data_directory_cannot_be_set_in_the_file_that_it_holds(home: Path) -> None:
    outcome = choir("config", "home", "/elsewhere")
    assert outcome.code == 1
    assert "CHOIR_HOME" in outcome.err
    assert not (home / "choiros.toml").exists()


def test_one_setting_is_just_its_value() -> None:
    assert choir("config", "user").out == "me\n"
    assert json.loads(choir("config", "user", "--json").out) == {
        "key": "user",
        "value": "me",
        "origin": "default",
    }


def test_a_value_is_kept_and_opens_no_data(home: Path) -> None:
    client = FakeClient()
    assert choir("config", "checkpoints.minutes_max", "10", client=client).out == "10\n"
    assert "minutes_max = 10" in (home / "choiros.toml").read_text()
    assert client.opened == []


def test_a_value_that_something_else_overrides_is_kept_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHOIR_USER", "bob")
    outcome = choir("config", "user", "ann")
    assert outcome.out == "bob\n"
    assert "the environment gives another value" in outcome.err


@pytest.mark.parametrize("key", sorted(set(keys()) - {"backup.directory", "proof.keys"}))
@pytest.mark.parametrize("where", ["file", "environment", "flag"])
def test_a_broken_setting_stops_the_start_with_key_value_reason_and_fix(
    home: Path, monkeypatch: pytest.MonkeyPatch, key: str, where: str
) -> None:
    """K-46: for each setting, wherever it comes from; nothing is opened and nothing is made."""
    section, _, name = key.rpartition(".")
    is_text = key in {"user", "proof.witnesses", "proof.witness_keys"}
    value = "../x" if is_text else "-7"
    if where == "file":
        shown = f'"{value}"' if is_text else value
        (home / "choiros.toml").write_text((f"[{section}]\n" if section else "") + f"{name} = {shown}\n")
    if where == "environment":
        monkeypatch.setenv(f"CHOIR_{key.replace('.', '_').upper()}", value)
    client = FakeClient()
    outcome = choir("status", *(["--set", f"{key}={value}"] if where == "flag" else []), client=client)
    reason, fix, code = outcome.err.splitlines()
    assert (outcome.code, outcome.out) == (1, "")
    assert key in reason
    assert value in reason
    assert fix.startswith("fix: ")
    assert code.startswith("code: config.")
    assert client.opened == []
    assert [path.name for path in home.iterdir()] == (["choiros.toml"] if where == "file" else [])


@pytest.mark.parametrize("words", [["usr"], ["usr", "x"]])
def test_an_unknown_setting_is_answered_with_the_nearest(words: list[str]) -> None:
    outcome = choir("config", *words)
    assert outcome.code == 1
    assert "Did you mean 'user'?" in outcome.err


def test_a_value_that_cannot_be_is_refused(home: Path) -> None:
    assert choir("config", "checkpoints.minutes_max", "soon").code == 1
    assert not (home / "choiros.toml").exists()
