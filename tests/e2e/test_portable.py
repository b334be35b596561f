"""Export, import, backup and restore by command line, also killed at any moment (C-23, C-81)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from choiros.features.files.commands import Change, ChangeFiles
from choiros.kernel.tree import Entry
from tests.carrying import exported, opened, state
from tests.places import Hand

FILES = 600
ROUNDS = 10 if os.environ.get("CHOIR_SOAK") else 3
CHOIR = [sys.executable, "-m", "choiros.cli.main"]


def environment(home: Path) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("CHOIR_")}
    return {**known, "CHOIR_HOME": str(home)}


def choir(home: Path, *words: str, code: int = 0, typed: str = "") -> str:
    done = subprocess.run(
        [*CHOIR, *words], env=environment(home), input=typed, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def killed(home: Path, *words: str, after_s: float) -> tuple[bool, float]:
    """Kill a command so long after it began to bring data in; return whether it had not ended by then, and its time."""
    with subprocess.Popen(
        [*CHOIR, *words], env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and not (home / "arriving").exists():
            time.sleep(0.001)
        begun = time.monotonic()
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return True, after_s
    return False, time.monotonic() - begun


async def _furnish(home: Path, texts: str) -> None:
    computer = await opened(home)
    hand = Hand(computer)
    entries = [await hand.entry(f"{texts} {number}\n".encode()) for number in range(FILES)]
    changes = [Change(f"d{number % 30}/f{number}", entry) for number, entry in enumerate(entries)]
    folders = [Change(f"d{number}", Entry("dir", 0o755)) for number in range(30)]
    await hand.do(ChangeFiles("main", (*folders, *changes)))
    await computer.close()


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A place with a computer in `one` and its export beside it."""
    asyncio.run(_furnish(tmp_path / "one", "first"))
    asyncio.run(exported(tmp_path / "one", tmp_path / "me.tar"))
    return tmp_path


def _span(scene: Path, *words: str) -> float:
    """Return how long a command that is not killed takes from when it begins to bring data in."""
    return killed(scene / "measured", *words, after_s=100)[1]


def test_a_person_moves_to_another_machine(tmp_path: Path) -> None:
    one, two, file = tmp_path / "one", tmp_path / "two", str(tmp_path / "me.tar")
    choir(one, "write", "notes/today.md", typed="one\n")
    choir(one, "edit", "notes/today.md", "--old", "one", "--new", "two")
    choir(one, "export", file)
    assert "Brought in" in choir(two, "import", file)
    assert choir(two, "cat", "notes/today.md") == "two\n"
    assert "brought back" not in choir(two, "undo", "--yes")
    assert choir(two, "cat", "notes/today.md") == "one\n"
    assert "import.exists" in choir(two, "import", file, code=1)
    events = [json.loads(line) for line in choir(two, "log", "--after", "0", "--cloudevents").splitlines()]
    assert [int(event["seq"]) for event in events] == list(range(1, len(events) + 1))


def test_a_lost_computer_comes_back_from_its_backup(tmp_path: Path) -> None:
    home, disk = tmp_path / "home", tmp_path / "disk"
    disk.mkdir()
    choir(home, "config", "backup.directory", str(disk))
    choir(home, "write", "a.txt", typed="one\n")
    (file,) = disk.iterdir()
    assert "all is as it was" in choir(home, "backup", "--drill")
    choir(home, "write", "a.txt", typed="two\n")
    subprocess.run(["rm", "-r", str(home / "users")], check=True)
    assert "Brought in" in choir(home, "restore", str(file), "--yes")
    assert choir(home, "cat", "a.txt") == "one\n"
    # A history that does not know this backup removes it for no newer one.
    assert str(file) in choir(home, "backup", "--list")


@pytest.mark.timeout(300)
def test_an_import_that_is_killed_leaves_all_or_nothing(scene: Path) -> None:
    before = asyncio.run(state(scene / "one"))
    dice, file = random.Random(20261119), str(scene / "me.tar")
    span = _span(scene, "import", file)
    stopped = 0
    for number in range(ROUNDS):
        home = scene / f"two-{number}"
        for _ in range(3):
            part = dice.uniform(0, 0.9) if stopped else 0.2
            stopped += killed(home, "import", file, after_s=part * span)[0]
            if (home / "users/me").exists():
                # It was quicker than the one that was timed: the next ones are stopped earlier.
                span *= 0.5
                break
            assert not list((home / "users").iterdir() if (home / "users").exists() else ())
        if not (home / "users/me").exists():
            choir(home, "import", file)
        assert not (home / "arriving").exists() or list((home / "users").iterdir())
        assert asyncio.run(state(home, before[0].seq)) == before
        assert len(choir(home, "files").splitlines()) == FILES + 30
    assert stopped > 0


@pytest.mark.timeout(300)
def test_a_restore_that_is_killed_leaves_the_old_or_the_new(scene: Path) -> None:
    new = asyncio.run(state(scene / "one"))
    home, file, dice = scene / "home", str(scene / "me.tar"), random.Random(7)
    choir(home, "write", "a.txt", typed="mine\n")
    old = asyncio.run(state(home))
    span = _span(scene, "import", file)
    stopped = 0
    for _ in range(3 * ROUNDS):
        # The first one is stopped early, however much quicker than the one that was timed it is.
        part = dice.uniform(0, 1) if stopped else 0.2
        stopped += killed(home, "restore", file, "--yes", after_s=part * span)[0]
        point, _ = asyncio.run(state(home, old[0].seq))
        if point == old[0]:
            continue
        assert asyncio.run(state(home, new[0].seq)) == new
        break
    choir(home, "restore", file, "--yes")
    assert asyncio.run(state(home, new[0].seq)) == new
    kept = [path for path in (home / "aside").iterdir() if (path / "workspace/a.txt").exists()]
    assert [(path / "workspace/a.txt").read_text() for path in kept] == ["mine\n"]
    assert not (home / "arriving").exists()
    assert stopped > 0
