"""A disk without room, without inodes, or without writes: loud, readable, and going on when it is over (C-68)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.soak.disk import SmallDisk
from tests.soak.hosted import Ended, Host
from tests.soak.needs import need_mounts
from tests.soak.points import answers
from tests.soak.test_kills import acknowledged

LOOKS = (
    ("status",),
    ("log",),
    ("files",),
    ("diff",),
    ("workspaces",),
    ("checkpoints",),
    ("cat", "d1/f1.txt"),
    ("show", "3"),
)


def _steps(host: Host, home: Path, *steps: tuple[str, ...]) -> Ended:
    return host.do("session", home=str(home), sources=str(home.parent), steps=steps)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("inodes", [None, 700], ids=["no room", "no inodes"])
def test_a_full_disk_is_told_stays_readable_and_is_used_again_without_a_restart(
    host: Host, tmp_path: Path, tally: Counter[str], inodes: int | None
) -> None:
    """C-68: ENOSPC and the end of the inodes."""
    need_mounts()
    tally["full disks"] += 1
    with SmallDisk(tmp_path, size_bytes=16 << 20, inodes=inodes) as disk:
        ballast = disk.place / "ballast"
        ballast.mkdir()
        (ballast / "room").write_bytes(bytes(4 << 20))
        for number in range(200 if inodes else 0):
            (ballast / str(number)).touch()
        home = disk.place / "home"
        ended = host.do("endure", home=str(home), ballast=str(ballast))
        assert ended.status == 0, ended.err
        refused = next(line for line in ended.out.splitlines() if line.startswith("refused"))
        assert ".unavailable" in refused or "warned" in refused
        assert "space" in refused or "warned" in refused, refused
        assert "\nreadable " in ended.out
        assert not host.check(home, acknowledged(ended))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("was_killed", [False, True], ids=["after an end", "after a kill"])
def test_a_disk_that_turns_read_only_is_readable_refuses_writes_and_goes_on(
    host: Host, tmp_path: Path, tally: Counter[str], was_killed: bool
) -> None:
    """C-68: a remount in the middle."""
    need_mounts()
    tally["disks that turned read-only"] += 1
    end = {"after_first_word": True, "after_s": 0.3, "cut": ""} if was_killed else None
    with SmallDisk(tmp_path) as disk:
        home = disk.place / "home"
        ended = host.do("work", home=str(home), seed=3, acts=None if was_killed else 20, end=end)
        known = acknowledged(ended)
        assert (len(known) > 0, ended.status) == (True, -9 if was_killed else 0), ended.err
        (home.parent / "one").write_bytes(b"one\n")
        assert _steps(host, home, ("write", "d1/f1.txt", "--from", "one")).status == 0
        if was_killed:
            assert host.do("work", home=str(home), seed=4, end=end).status == -9
        disk.remount("ro")
        looked = _steps(host, home, *LOOKS)
        wrong = [one for one in answers(looked.out) if "exit" in one]
        assert looked.status == 0, looked.err
        assert not wrong
        refused = _steps(
            host, home, ("write", "more.txt", "--from", "one"), ("checkpoint",), ("undo", "--yes")
        )
        assert [str(one["error"]) for one in answers(refused.out) if "Read-only" in str(one)] != []
        assert all("exit" in one for one in answers(refused.out))
        disk.remount("rw")
        on = _steps(host, home, ("write", "more.txt", "--from", "one"))
        assert "seqs" in answers(on.out)[0]
        assert not host.check(home, known)
