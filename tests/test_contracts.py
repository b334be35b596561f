"""Each import contract of pyproject.toml breaks on the violation that is planted for it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.checkout import ROOT

ROOMS = {
    "cli.main": "import choiros.wiring",
    "wiring": "import choiros.settings, choiros.engines.log.sqlite, choiros.features.files.decide",
    "settings": "import choiros.kernel.log",
    "engines.log.memory": "import choiros.kernel.log",
    "engines.log.sqlite": "import os, choiros.kernel.log",
    "engines.blob.disk": "import choiros.kernel.log",
    "features.files.events": "import choiros.kernel.log",
    "features.files.decide": "import choiros.features.files.events",
    "features.files.view": "import choiros.features.files.events",
    "features.runs.commands": "import choiros.kernel.log",
    "features.runs.decide": "import choiros.features.runs.commands, choiros.features.files.events",
    "testing.log_contract": "import choiros.kernel.log",
    "kernel.log": "import dataclasses",
}
# The contract that must break, and the modules that break it with what they import.
PLANTED = [
    ("layers", {"kernel.event": "choiros.engines.log.memory"}),
    ("layers", {"kernel.event": "choiros.settings"}),
    ("layers", {"engines.log.jetstream": "choiros.features.files.events"}),
    ("layers", {"features.files.react": "choiros.engines.blob.disk"}),
    ("layers", {"testing.given": "choiros.wiring"}),
    ("layers", {"attic.box": "dataclasses"}),
    ("settings", {"engines.log.jetstream": "choiros.settings"}),
    ("features", {"features.runs.check": "choiros.features.files.view"}),
    ("features", {"features.runs.check": "choiros.features.files.decide"}),
    ("engines", {"engines.log.jetstream": "choiros.engines.log.memory"}),
    ("engines", {"engines.blob.memory": "choiros.engines.log.memory"}),
    ("pure", {"kernel.event": "os"}),
    ("pure", {"kernel.event": "sqlite3"}),
    ("pure", {"features.files.tools": "subprocess"}),
    ("pure", {"features.files.tools": "apsw"}),
    ("cycles", {"kernel.event": "choiros.kernel.blob", "kernel.blob": "choiros.kernel.event"}),
]
CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}


def build(folder: Path, rooms: Mapping[str, str]) -> Path:
    shutil.copy(ROOT / "pyproject.toml", folder)
    for room, text in rooms.items():
        path = folder / "choiros" / f"{room.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for place in [folder / "choiros", *(path for path in folder.rglob("*") if path.is_dir())]:
        (place / "__init__.py").touch()
    return folder


def broken(said: str) -> set[str]:
    return set(re.findall(r"^(.*?) BROKEN", said, re.MULTILINE))


def lint_imports(folder: Path) -> tuple[int, str]:
    start = "from importlinter.cli import lint_imports_command as run; run()"
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "500", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", start, "--no-cache"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_tree_that_keeps_the_rules_passes(tmp_path: Path) -> None:
    status, said = lint_imports(build(tmp_path, ROOMS))
    assert (status, "0 broken" in said) == (0, True), said


def test_the_optional_room_of_the_server_is_a_door_like_the_command_line(tmp_path: Path) -> None:
    rooms = {**ROOMS, "server.http": "import choiros.wiring, choiros.settings"}
    status, said = lint_imports(build(tmp_path, rooms))
    assert status == 0, said


@pytest.mark.parametrize(("contract", "planted"), PLANTED)
def test_the_contract_breaks_on_its_planted_violation(
    contract: str, planted: Mapping[str, str], tmp_path: Path
) -> None:
    rooms = {room: f"{ROOMS.get(room, '')}\nimport {target}" for room, target in planted.items()}
    status, said = lint_imports(build(tmp_path, {**ROOMS, **rooms}))
    assert status == 1, said
    # An import against the layers may close a cycle as well; every other violation breaks one contract alone.
    also = broken(said) - {CONTRACTS[contract]} if contract == "layers" else set[str]()
    assert broken(said) - also == {CONTRACTS[contract]}, said


def test_every_contract_has_a_planted_violation() -> None:
    assert {contract for contract, _ in PLANTED} == set(CONTRACTS)
