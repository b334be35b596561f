"""The log on a disk that is full, read-only or failing: refused means that nothing was written, also after a crash."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import LogFile, SqliteLog
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Corrupt, Unavailable
from choiros.kernel.event import Draft, Record
from choiros.testing.log_contract import draft, drafts, read_all, seqs
from tests.contract.watched_disk import FAULTS, Disk, Fault, watched_disk

SPACE = 1 << 20


def log_at(directory: Path) -> SqliteLog:
    return SqliteLog(lambda _: directory / "log.db", InlineWorker(), clock=SystemClock())


def ids(records: list[Record]) -> list[str]:
    return [record.id for record in records]


# --- Every call to the disk fails once, and from then on ---


async def opened_plainly(directory: Path) -> list[str]:
    log = log_at(directory)
    records = await read_all(log)
    await log.close()
    return ids(records)


class Story:
    """Ten appends on a failing disk: what was acknowledged, what was refused, what is not certain."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.acknowledged: list[str] = []
        self.uncertain: set[str] = set()
        self.crashed: list[tuple[Path, list[str], set[str]]] = []

    def append(self, log: SqliteLog, number: int) -> None:
        batch = drafts([2 * number, 2 * number + 1])
        try:
            records = asyncio.run(log.append("me", batch))
        except Unavailable as error:
            self.refused(error, number, batch)
        else:
            self.acknowledged += ids(records)

    def refused(self, error: Unavailable, number: int, batch: list[Draft]) -> None:
        """Note what a crash would leave right now, and whether more is claimed than that nothing was written."""
        if error.code == "log.uncertain":
            self.uncertain |= {one.id for one in batch}
        else:
            assert error.code == "log.unavailable"
            assert "Nothing was written" in error.message
        copy = self.directory / str(number)
        copy.mkdir()
        for path in self.directory.glob("log.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, copy / path.name)
        self.crashed.append((copy, list(self.acknowledged), set(self.uncertain)))

    def check(self) -> None:
        """What a crash left is all that was acknowledged, and nothing that was refused."""
        for copy, acknowledged, uncertain in self.crashed:
            found = asyncio.run(opened_plainly(copy))
            assert [one for one in found if one not in uncertain] == acknowledged
        found = asyncio.run(opened_plainly(self.directory))
        assert [one for one in found if one not in self.uncertain] == self.acknowledged


def told(disk: Disk, directory: Path, *, call: int, fault: Fault, stays_broken: bool) -> Story:
    directory.mkdir()
    story, log = Story(directory), log_at(directory)
    disk.break_at(call, fault, stays_broken=stays_broken)
    for number in range(6):
        story.append(log, number)
    disk.heal()
    for number in range(6, 8):
        story.append(log, number)
    asyncio.run(log.close())
    return story


@pytest.mark.parametrize("stays_broken", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("fault", FAULTS)
def test_refused_is_not_written_and_acknowledged_is_whatever_call_to_the_disk_fails(
    tmp_path: Path, fault: Fault, stays_broken: bool
) -> None:
    stories: list[Story] = []
    with watched_disk() as disk:
        for call in range(1, 60):
            stories.append(
                told(disk, tmp_path / str(call), call=call, fault=fault, stays_broken=stays_broken)
            )
            if not disk.failed:
                break
    assert disk.failed == 0, "there are more calls than were made to fail"
    assert len(stories) > 5
    for story in stories:
        story.check()
        assert len(story.acknowledged) >= 4, "it works again once the disk does"
    assert sum(len(story.crashed) for story in stories) >= len(stories) - 5
    if not stays_broken:
        assert not any(story.uncertain for story in stories)


def test_a_flush_that_fails_under_the_eyes_of_a_reader_is_told_as_uncertain(tmp_path: Path) -> None:
    # A reader in another program keeps the write-ahead log from being emptied.
    with watched_disk() as disk:
        log = log_at(tmp_path)
        asyncio.run(log.append("me", [draft(1)]))
        reader = apsw.Connection(str(tmp_path / "log.db"), vfs="unix")
        reader.execute("BEGIN")
        assert list(reader.execute("SELECT seq FROM events")) == [(1,)]
        asyncio.run(log.append("me", [draft(2)]))
        log._files["me"]._db.set_busy_timeout(10)
        disk.break_at(1, "sync: error")
        with pytest.raises(Unavailable, match="not certain") as caught:
            asyncio.run(log.append("me", [draft(3)]))
        assert caught.value.code == "log.uncertain"
        assert "choir log" in caught.value.fix
        disk.heal()
        reader.close()
        asyncio.run(log.append("me", [draft(4)]))
        assert ids(asyncio.run(read_all(log))) == [draft(number).id for number in (1, 2, 4)]
        asyncio.run(log.close())


def test_what_a_failed_flush_left_behind_is_gone_from_the_disk_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[str, int]] = []
    real = os.fsync

    def noting(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        flushed.append((name, os.fstat(descriptor).st_size))
        real(descriptor)

    with watched_disk() as disk:
        log = log_at(tmp_path)
        asyncio.run(log.append("me", [draft(1)]))
        monkeypatch.setattr(os, "fsync", noting)
        disk.break_at(1, "sync: error")
        with pytest.raises(Unavailable, match="Nothing was written"):
            asyncio.run(log.append("me", [draft(2)]))
        assert flushed == [("log.db-wal", 0)]
        disk.heal()
        asyncio.run(log.close())


def test_who_waits_behind_a_failed_write_is_written_by_the_next(tmp_path: Path) -> None:
    async def story() -> None:
        log = log_at(tmp_path)
        await log.append("me", [draft(0)])
        disk.break_at(1, "write: no space")
        outcomes = await asyncio.gather(
            *(log.append("me", [draft(number)]) for number in range(1, 1500)), return_exceptions=True
        )
        refused = [one for one in outcomes if isinstance(one, Unavailable)]
        kept = [record for one in outcomes if isinstance(one, list) for record in one]
        assert len(refused) + len(kept) == 1499
        assert 0 < len(refused) < 1499
        assert (await read_all(log))[1:] == kept
        await log.close()

    with watched_disk() as disk:
        asyncio.run(story())


def test_a_mistake_of_our_own_leaves_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object) -> None:
        raise ZeroDivisionError

    async def story() -> None:
        log = log_at(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(LogFile, "commit", stumble)
            appends = [log.append("me", [draft(number)]) for number in range(600)]
            outcomes = await asyncio.wait_for(asyncio.gather(*appends, return_exceptions=True), 10)
            assert all(isinstance(outcome, ZeroDivisionError) for outcome in outcomes)
        assert len(await log.append("me", [draft(1)])) == 1
        await log.close()

    noticed: list[object] = []
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _, context: noticed.append(context["exception"]))
    try:
        loop.run_until_complete(story())
    finally:
        loop.close()


# --- Really full ---


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of a megabyte."""
    place = Path(tempfile.mkdtemp(prefix="choiros-small-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SPACE}", "tmpfs", place], check=False, capture_output=True
    )
    if mounted.returncode:
        place.rmdir()
        pytest.skip("allowed: only root can mount a small disk; a limit on file sizes is tested all the same")
    yield place
    subprocess.run(["umount", "-l", place], check=True)
    place.rmdir()


def test_a_full_disk_is_told_nothing_is_half_written_and_it_goes_on_when_there_is_space(
    small_disk: Path,
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(SPACE // 2))

    async def story() -> None:
        log = log_at(small_disk)
        kept: list[Record] = []

        async def fill() -> None:
            for number in range(100):
                kept.extend(await log.append("me", [draft(2 * number, bytes(10_000)), draft(2 * number + 1)]))

        with pytest.raises(Unavailable, match=r"the disk is full\. Nothing was written") as caught:
            await fill()
        assert caught.value.code == "log.unavailable"
        assert "Free some space" in caught.value.fix
        assert 0 < len(kept) < 200
        assert await read_all(log) == kept
        ballast.unlink()
        kept += await log.append("me", [draft(1000, bytes(10_000)), draft(1001)])
        assert await read_all(log) == kept
        await log.close()
        assert await read_all(log_at(small_disk)) == kept

    asyncio.run(story())


def test_a_disk_that_is_full_from_the_start_is_told(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free))

    async def story() -> None:
        log = log_at(small_disk)
        with pytest.raises(Unavailable) as caught:
            await log.append("me", [draft(1)])
        assert caught.value.code == "log.unavailable"
        ballast.unlink()
        await log.append("me", [draft(1)])
        assert await seqs(log) == [1]
        await log.close()

    asyncio.run(story())


LIMITED = """
    import asyncio, resource, signal, sys
    from pathlib import Path
    from choiros.engines.clock.system import SystemClock
    from choiros.engines.log.sqlite import SqliteLog
    from choiros.engines.worker.inline import InlineWorker
    from choiros.kernel.errors import Corrupt, Unavailable
    from choiros.testing.log_contract import draft, read_all

    async def main():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        log = SqliteLog(lambda _: Path(sys.argv[1]), InlineWorker(), clock=SystemClock())
        await log.append("me", [draft(1)])
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        kept = 1
        for number in range(2, 100):
            try:
                await log.append("me", [draft(number, bytes(10_000))])
                kept += 1
            except Unavailable as error:
                assert error.code == "log.unavailable", error
                break
        assert 1 < kept < 90, kept
        assert len(await read_all(log)) == kept
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        await log.append("me", [draft(1000, bytes(500_000))])
        assert len(await read_all(log)) == kept + 1
        await log.close()

    asyncio.run(main())
"""


def test_a_limit_on_the_size_of_files_is_told_and_it_goes_on_without_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(tmp_path / "log.db")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


# --- No permission ---

FORBIDDEN = """
    import asyncio, os, sys
    from pathlib import Path
    from choiros.engines.clock.system import SystemClock
    from choiros.engines.log.sqlite import SqliteLog
    from choiros.engines.worker.inline import InlineWorker
    from choiros.kernel.errors import Corrupt, Unavailable
    from choiros.testing.log_contract import draft

    def told(log, ask):
        try:
            asyncio.run(ask(log))
        except Unavailable as error:
            return error.code
        return "allowed"

    # All imports are done by now: the interpreter may lie where nobody but root can read.
    if os.getuid() == 0:
        os.setuid(65534)
    log = SqliteLog(lambda _: Path(sys.argv[1]) / "log.db", InlineWorker(), clock=SystemClock())
    print(told(log, lambda log: log.append("me", [draft(99)])), told(log, lambda log: log.head("me")))
"""


@pytest.fixture
def shut(tmp_path: Path) -> Iterator[Path]:
    """A directory that everybody may look into and nobody but root may write to."""
    place = Path(tempfile.mkdtemp(prefix="choiros-shut-"))
    yield place
    place.chmod(0o700)
    shutil.rmtree(place)


def forbidden(place: Path) -> list[str]:
    place.chmod(0o555)
    command = [sys.executable, "-c", textwrap.dedent(FORBIDDEN), str(place)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_directory_without_permission_is_told_and_stays_empty(shut: Path) -> None:
    assert forbidden(shut) == ["log.unavailable", "log.unavailable"]
    assert list(shut.iterdir()) == []


def test_a_log_without_permission_is_told_and_stays_as_it_is(shut: Path) -> None:
    async def fill() -> None:
        log = log_at(shut)
        await log.append("me", [draft(1)])
        await log.close()

    asyncio.run(fill())
    (shut / "log.db").chmod(0o444)
    before = (shut / "log.db").read_bytes()
    assert forbidden(shut)[0] == "log.unavailable"
    assert (shut / "log.db").read_bytes() == before


def test_a_directory_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        asyncio.run(log_at(tmp_path / "gone").append("me", [draft(1)]))
    assert caught.value.code == "log.unavailable"


def test_text_that_the_disk_has_spoiled_is_told_with_the_number_of_the_event(tmp_path: Path) -> None:
    """C-23: damage is noticed before it is used, and its place is named."""
    log = log_at(tmp_path)
    asyncio.run(log.append("me", [draft(number) for number in range(5)]))
    asyncio.run(log.close())
    path = tmp_path / "log.db"
    name = draft(3).id.encode()
    content = path.read_bytes()
    place = content.index(name + b"{")
    path.write_bytes(content[:place] + b"\xb6" + content[place + 1 :])
    for read in (read_all(log_at(tmp_path)), log_at(tmp_path).fetch("me", [4])):
        with pytest.raises(Corrupt, match="event 4: its id is not text") as caught:
            asyncio.run(read)
        assert caught.value.fields["seq"] == 4
