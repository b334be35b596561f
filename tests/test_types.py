"""The whole code base is checked with strict types, and what is not typed is found (C-24)."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.checkout import ROOT, checkout

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
PYTHON = {path: text for path, text in checkout().items() if path.endswith(".py")}
SILENCED = re.compile(r"#\s*(?:type:\s*ignore|pyright:)")
PLANTED = {
    "an argument without a type": "def double(x):\n    return x + x\n",
    "a value of another type": 'number: int = "one"\n',
    "what may be nothing": "def first(some: dict[str, str]) -> int:\n    return len(some.get('a'))\n",
    "a state that is forgotten": (
        "from typing import Literal\n\n\n"
        "def told(state: Literal['open', 'shut']) -> int:\n"
        "    match state:\n        case 'open':\n            return 1\n"
    ),
}


def test_every_file_is_checked_and_strictly() -> None:
    assert CONFIG["typeCheckingMode"] == "strict"
    assert {path.split("/")[0] for path in PYTHON} == set(CONFIG["include"])
    assert not CONFIG.keys() & {"exclude", "ignore", "strict"}
    (source,) = [place for place in CONFIG["executionEnvironments"] if place["root"] == "src"]
    assert source == {"root": "src"}, "kernel, features, wiring and doors have no exception from any rule"


def test_no_line_of_the_source_is_left_out() -> None:
    silenced = [path for path, text in PYTHON.items() if path.startswith("src/") and SILENCED.search(text)]
    assert silenced == []


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what the checker says of each planted mistake, all of them beside each other in one project."""
    place = tmp_path_factory.mktemp("planted")
    shutil.copy(ROOT / "pyproject.toml", place)
    (place / ".venv").symlink_to(Path(sys.prefix))
    for name in CONFIG["include"]:
        (place / name).mkdir()
    for number, text in enumerate(PLANTED.values()):
        (place / "src" / f"planted_{number}.py").write_text(text)
    command = [str(Path(sys.executable).with_name("pyright")), "--project", str(place)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    return {
        what: "\n".join(line for line in lines if f"planted_{number}.py:" in line and "error" in line)
        for number, what in enumerate(PLANTED)
    }


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_mistake_is_found(told: dict[str, str], what: str) -> None:
    assert told[what]
