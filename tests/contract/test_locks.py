"""Every lock keeps the promises of the port; the one on disk also between processes, however they end."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from choiros.engines.clock.system import SystemClock
from choiros.engines.lock.file import FileLock
from choiros.engines.lock.memory import MemoryLock
from choiros.kernel.errors import Unavailable
from choiros.testing.clock import FakeClock
from choiros.testing.lock_contract import LockContract, MakeLock


class TestMemoryLock(LockContract):
    @pytest.fixture
    def locks(self) -> MakeLock:
        lock = MemoryLock()
        return lambda: lock


class TestFileLock(LockContract):
    @pytest.fixture
    def locks(self, tmp_path: Path) -> MakeLock:
        return lambda: FileLock(tmp_path / "lock", SystemClock())


@pytest.mark.anyio
async def test_who_waited_while_the_data_was_replaced_holds_the_new_lock(tmp_path: Path) -> None:
    data, clock = tmp_path / "data", SystemClock()
    data.mkdir()
    holder, waiting = FileLock(data / "lock", clock), FileLock(data / "lock", clock)
    await holder.acquire(0)
    task = asyncio.create_task(waiting.acquire(10))
    await asyncio.sleep(0.05)
    data.rename(tmp_path / "aside")
    data.mkdir()
    holder.release()
    await task
    with pytest.raises(Unavailable, match="is changing this data"):
        await FileLock(data / "lock", clock).acquire(0)
    await FileLock(tmp_path / "aside" / "lock", clock).acquire(0)


@pytest.mark.anyio
async def test_who_held_the_lock_of_data_that_was_replaced_since_is_told(tmp_path: Path) -> None:
    data, clock = tmp_path / "data", SystemClock()
    data.mkdir()
    lock = FileLock(data / "lock", clock)
    await lock.acquire(0)
    lock.release()
    data.rename(tmp_path / "aside")
    data.mkdir()
    with pytest.raises(Unavailable) as caught:
        await lock.acquire(1)
    assert caught.value.code == "lock.replaced"
    await FileLock(data / "lock", clock).acquire(0)


HOLDING = """
    import asyncio, sys
    from pathlib import Path
    from choiros.engines.clock.system import SystemClock
    from choiros.engines.lock.file import FileLock
    lock = FileLock(Path(sys.argv[1]), SystemClock())
    asyncio.run(lock.acquire(30))
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def holder(place: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until it is told or killed."""
    with started(place) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def started(place: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(HOLDING), str(place)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def taken(place: Path, timeout_s: float) -> FileLock:
    lock = FileLock(place, SystemClock())
    asyncio.run(lock.acquire(timeout_s))
    return lock


def test_another_process_that_holds_it_is_named_by_its_number(
    place: Path, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(Unavailable, match=f"process {holder.pid}\\)") as caught:
        taken(place, 0.1)
    assert caught.value.code == "lock.held"
    assert caught.value.fields["process"] == str(holder.pid)


def test_another_process_that_waits_gets_it_when_it_is_let_go(place: Path) -> None:
    lock = taken(place, 0)
    with started(place) as waiting:
        assert waiting.stdout is not None
        lock.release()
        assert waiting.stdout.readline() == "held\n"
        with pytest.raises(Unavailable, match=str(waiting.pid)):
            taken(place, 0)
        waiting.communicate("\n", timeout=30)
    taken(place, 0).release()


def test_a_killed_process_holds_nothing(place: Path, holder: subprocess.Popen[str]) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    taken(place, 10).release()


def test_a_stopped_process_still_holds_it(place: Path, holder: subprocess.Popen[str]) -> None:
    os.kill(holder.pid, signal.SIGSTOP)
    with pytest.raises(Unavailable, match=str(holder.pid)):
        taken(place, 0.05)


def test_a_program_started_meanwhile_does_not_inherit_it(place: Path) -> None:
    lock = taken(place, 0)
    with subprocess.Popen(["sleep", "60"], close_fds=False) as other:
        lock.release()
        taken(place, 0).release()
        other.kill()


@pytest.mark.parametrize("left", [b"", b"99999999", b"not a number at all, and much too long\xff\xfe"])
def test_what_a_former_holder_left_in_the_file_does_not_matter(place: Path, left: bytes) -> None:
    place.write_bytes(left)
    lock = taken(place, 0)
    assert place.read_bytes() == str(os.getpid()).encode()
    with pytest.raises(Unavailable, match=str(os.getpid())):
        taken(place, 0)
    lock.release()


def test_nobody_but_the_person_can_read_the_file(place: Path) -> None:
    taken(place, 0).release()
    assert place.stat().st_mode & 0o077 == 0


def test_a_link_in_its_place_is_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    place.symlink_to(tmp_path / "precious")
    with pytest.raises(Unavailable) as caught:
        taken(place, 0)
    assert caught.value.code == "lock.unavailable"
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_directory_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file") as caught:
        taken(tmp_path / "gone" / "lock", 0)
    assert caught.value.code == "lock.unavailable"


def test_a_disk_without_space_for_the_name_does_not_matter(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        lock = taken(place, 0)
    with pytest.raises(Unavailable, match="process unknown"):
        taken(place, 0)
    lock.release()
    taken(place, 0).release()


def test_the_waiting_time_is_that_of_the_clock(place: Path) -> None:
    holder, clock = taken(place, 0), FakeClock()
    with pytest.raises(Unavailable):
        asyncio.run(FileLock(place, clock).acquire(3600))
    assert 3600e9 <= clock.monotonic_ns() < 3601e9
    holder.release()
