"""In continuous integration a test is skipped for an allowed reason or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT


def run(folder: Path, text: str, *options: str, ci: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(f"import pytest\n{text}")
    (folder / "pytest.ini").touch()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        *options,
        ".",
    ]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "CI": ci}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


IN_TEST = "def test_a(): pytest.skip({reason!r})\n"
BY_MARK = "@pytest.mark.skip(reason={reason!r})\ndef test_a(): pass\n"
BY_MODULE = "pytest.skip({reason!r}, allow_module_level=True)\n"
EVERY_WAY = pytest.mark.parametrize("way", [IN_TEST, BY_MARK, BY_MODULE], ids=["test", "mark", "module"])


@EVERY_WAY
def test_a_skip_without_an_allowed_reason_fails_in_ci(way: str, tmp_path: Path) -> None:
    done = run(tmp_path, way.format(reason="no docker"), ci="true")
    assert done.returncode != 0
    assert "skipped in CI without an 'allowed:' reason: no docker" in done.stdout


@EVERY_WAY
def test_an_allowed_skip_and_one_outside_ci_pass(way: str, tmp_path: Path) -> None:
    passed = {0, 5}  # 5: nothing was collected, as with a module that is skipped whole
    assert run(tmp_path, way.format(reason="allowed: no docker"), ci="true").returncode in passed
    assert run(tmp_path, way.format(reason="no docker"), ci="").returncode in passed


def test_a_skip_in_a_worker_fails_too(tmp_path: Path) -> None:
    assert run(tmp_path, IN_TEST.format(reason="no docker"), "-n", "1", ci="true").returncode == 1


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    text = "@pytest.mark.xfail(reason='known')\ndef test_a(): assert 0\n"
    assert run(tmp_path, text, ci="true").returncode == 0
