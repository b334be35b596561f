"""Reads the list of planted faults, plants one in a copy of the package, and tells which tests see it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.checkout import ROOT

FOLDER = Path(__file__).resolve().parent
TIMEOUT_S = 110
COPIED = ("src", "tests")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?::[^\s\[]+)", re.MULTILINE)


class Fault(Struct, frozen=True, forbid_unknown_fields=True):
    """One mistake: what it means, where the text is changed, and the tests of which each must fail then."""

    says: str
    file: str
    edits: tuple[tuple[str, str], ...]
    """Each an old text that stands in the file once, and the new text in its place."""
    tests: tuple[str, ...]
    always: bool = False
    """Whether it is planted in every run of the tests, not in the long one alone."""


def faults() -> dict[str, Fault]:
    """Return every fault on the list by its name."""
    found: dict[str, Fault] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        listed = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, Fault])
        assert not listed.keys() & found.keys(), f"{path.name} names a fault that another list has"
        found |= listed
    return found


def planted(text: str, fault: Fault) -> str:
    """Return the text with the fault in it; every old text must stand there exactly once."""
    for old, new in fault.edits:
        assert text.count(old) == 1, f"this stands {text.count(old)} times in {fault.file}:\n{old}"
        text = text.replace(old, new)
    return text


def copy_of_the_package(place: Path) -> None:
    """Copy what the tests need, with the bytecode that is there already."""
    for name in COPIED:
        shutil.copytree(ROOT / name, place / name, symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", place)


def plant(place: Path, fault: Fault) -> None:
    """Put a fault into a copy."""
    path = place / fault.file
    path.write_text(planted(path.read_text(encoding="utf-8"), fault), encoding="utf-8")
    # The bytecode is believed when size and second of the source are the same.
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def failing(place: Path, tests: Sequence[str], *, timeout_s: float = TIMEOUT_S) -> tuple[set[str], str]:
    """Run these tests in a copy; return those that failed, without their parameters, and what was printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # Hypothesis then looks at the same examples each time.
    environment |= {"PYTHONPATH": str(place / "src"), "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    # 0 and 1: the tests ran. Anything else is no answer, such as a module that cannot be read any more.
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return set(FAILED.findall(done.stdout)), done.stdout
