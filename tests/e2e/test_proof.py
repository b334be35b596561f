"""Anybody can check: the whole way of a proof from one computer to another that has nothing but Python (F-06, F-46)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.e2e.terminal import Home

CHECKER = ROOT / "examples" / "check_proof.py"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def check(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the checker as a computer would that has nothing else: no packages, nothing of ours."""
    command = [sys.executable, "-I", "-S", str(CHECKER), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def proved(home: Home, directory: Path) -> tuple[str, str]:
    """Return the path of a proof and the key for it."""
    home.choir("write", "list.md", put=b"bread\n")
    path = directory / "list.tlog-proof"
    assert home.choir("prove", "list.md", "-o", str(path)).code == 0
    return str(path), str(home.choir("keys", "--json").objects[0]["key"])


def test_a_proof_is_checked_offline_by_a_program_that_shares_nothing_with_ours(
    home: Home, tmp_path: Path
) -> None:
    path, key = proved(home, tmp_path)
    content = tmp_path / "got.md"
    content.write_bytes(b"bread\n")
    done = check(path, "--key", key, "--content", str(content))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The proof holds: ")
    assert '"path":"list.md"' in done.stdout
    content.write_bytes(b"cake\n")
    assert check(path, "--key", key, "--content", str(content)).returncode == 1


def test_the_checker_believes_no_proof_in_which_a_letter_was_changed(home: Home, tmp_path: Path) -> None:
    path, key = proved(home, tmp_path)
    text = Path(path).read_text()
    sound = check(path, "--key", key).stdout
    for place in range(0, len(text), max(len(text) // 12, 1)):
        changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        Path(path).write_text(changed)
        done = check(path, "--key", key)
        assert done.returncode == 1 or done.stdout == sound, changed
        assert "Traceback" not in done.stderr
    for cut in (0, 10, len(text) // 2, len(text) - 1):
        Path(path).write_text(text[:cut])
        done = check(path, "--key", key)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_the_checker_needs_the_right_key(home: Home, tmp_path: Path) -> None:
    path, key = proved(home, tmp_path)
    other = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    assert check(path, "--key", other).returncode == 1
    assert check(path, "--key", other, "--key", key).returncode == 0
    wrong = key.replace("+", "x+", 1)
    assert check(path, "--key", wrong).returncode == 1


def test_both_checkers_agree(home: Home, tmp_path: Path) -> None:
    path, key = proved(home, tmp_path)
    (tmp_path / "elsewhere").mkdir()
    elsewhere = Home(tmp_path / "elsewhere")
    ours = elsewhere.choir("verify", path, "--key", key, "--json")
    assert ours.code == 0
    assert json.dumps(ours.objects[0]["head"], separators=(",", ":")) in check(path, "--key", key).stdout


def test_a_log_that_was_cut_edited_or_replaced_is_found_and_named(home: Home, tmp_path: Path) -> None:
    proved(home, tmp_path)
    data = home.workspace.parent / ".choir"
    older = tmp_path / "older"
    shutil.copytree(data, older)
    home.choir("write", "list.md", put=b"cake\n")
    home.choir("keys", "sign")
    assert home.choir("verify").code == 0
    for path in data.glob("log.db*"):
        path.unlink()
    for path in older.glob("log.db*"):
        shutil.copy(path, data / path.name)
    (data / "state.sqlite").unlink()
    done = home.choir("verify")
    assert done.code == 1
    refused = home.choir("write", "list.md", put=b"pie\n")
    assert refused.code == 1
    assert "log.rolled_back" in refused.err
    assert "READ-ONLY" in refused.err
    assert home.choir("cat", "list.md").code == 0
    assert home.workspace.joinpath("list.md").read_bytes() == b"cake\n"
