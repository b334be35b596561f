"""Every archive keeps the promises of the port; the one in tar form is also read by the tar of the system."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from choiros.engines.archive.memory import MemoryArchive
from choiros.engines.archive.tar import TarArchive
from choiros.engines.archive.tar.headers import header_of
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Corrupt, Rejected, Unavailable
from choiros.testing.archive_contract import SEVERAL, ArchiveContract, MakeArchive, parts, read_all

EIGHT_GIB = 8 << 30
NEEDS_TAR = pytest.mark.skipif(shutil.which("tar") is None, reason="allowed: this system has no tar")


class TestMemoryArchive(ArchiveContract):
    @pytest.fixture
    def archives(self) -> MakeArchive:
        archive = MemoryArchive()
        return lambda: archive


class TestTarArchive(ArchiveContract):
    @pytest.fixture
    def archives(self, tmp_path: Path) -> MakeArchive:
        return lambda: tar(tmp_path / "me.tar")


def tar(path: Path) -> TarArchive:
    return TarArchive(path, InlineWorker())


def listed(folder: Path, act: str, name: str = "me.tar") -> str:
    """Let the tar of the system act and return what it prints; it must not complain."""
    done = subprocess.run(["tar", act, name], cwd=folder, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout


@NEEDS_TAR
@pytest.mark.anyio
async def test_the_tar_of_the_system_lists_and_unpacks_it_without_a_complaint(tmp_path: Path) -> None:
    """C-81: a person can look inside with the tools that are there."""
    await tar(tmp_path / "me.tar").write(parts(SEVERAL))
    assert listed(tmp_path, "tf").split() == [name for name, _ in SEVERAL]
    (tmp_path / "out").mkdir()
    listed(tmp_path / "out", "xf", "../me.tar")
    assert {name: (tmp_path / "out" / name).read_bytes() for name, _ in SEVERAL} == dict(SEVERAL)


@NEEDS_TAR
def test_the_tar_of_the_system_reads_a_size_beyond_eight_gibibytes(tmp_path: Path) -> None:
    with (tmp_path / "big.tar").open("wb") as file:
        file.write(header_of("big", EIGHT_GIB))
        file.truncate(file.tell() + EIGHT_GIB + 1024)
    assert str(EIGHT_GIB) in listed(tmp_path, "tvf", "big.tar")


@pytest.mark.anyio
async def test_a_size_beyond_eight_gibibytes_is_told_by_the_header_alone(tmp_path: Path) -> None:
    with (tmp_path / "big.tar").open("wb") as file:
        file.write(header_of("big", EIGHT_GIB + 5))
        file.truncate(file.tell() + EIGHT_GIB + 512 + 1024)
    async for name, size, _ in tar(tmp_path / "big.tar").read():
        assert (name, size) == ("big", EIGHT_GIB + 5)
        break


@pytest.mark.anyio
async def test_the_same_parts_give_the_same_bytes_at_any_time(tmp_path: Path) -> None:
    written = [await tar(tmp_path / name).write(parts(SEVERAL)) for name in ("one.tar", "two.tar")]
    assert written[0] == written[1]
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


@pytest.mark.anyio
async def test_only_the_owner_may_read_it_and_nothing_else_is_left(tmp_path: Path) -> None:
    await tar(tmp_path / "me.tar").write(parts(SEVERAL))
    assert [path.name for path in tmp_path.iterdir()] == ["me.tar"]
    assert (tmp_path / "me.tar").stat().st_mode & 0o777 == 0o600


@pytest.mark.anyio
async def test_what_a_killed_process_left_beside_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".me.tar.part").write_bytes(b"half")
    await tar(tmp_path / "me.tar").write(parts(SEVERAL))
    assert [path.name for path in tmp_path.iterdir()] == ["me.tar"]


@pytest.mark.anyio
async def test_two_that_write_the_same_name_do_not_mix(tmp_path: Path) -> None:
    archive = tar(tmp_path / "me.tar")

    async def both():
        async for part in parts(SEVERAL[:1]):
            yield part
        with pytest.raises(Unavailable, match="Another ChoirOS is writing"):
            await tar(tmp_path / "me.tar").write(parts(SEVERAL))

    await archive.write(both())
    assert await read_all(archive) == SEVERAL[:1]


@pytest.mark.anyio
async def test_a_name_that_appears_in_the_meantime_is_not_replaced(tmp_path: Path) -> None:
    async def late():
        async for part in parts(SEVERAL):
            yield part
        (tmp_path / "me.tar").write_bytes(b"mine")

    with pytest.raises(Rejected) as caught:
        await tar(tmp_path / "me.tar").write(late())
    assert caught.value.code == "archive.exists"
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("me.tar", b"mine")]


@pytest.mark.anyio
async def test_where_there_is_no_place_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        await tar(tmp_path / "gone" / "me.tar").write(parts(SEVERAL))
    assert caught.value.code == "archive.unavailable"
    assert not list(tmp_path.iterdir())


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["directory", "pipe"])
async def test_only_a_file_is_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "me.tar"
    path.mkdir() if kind == "directory" else os.mkfifo(path)
    with pytest.raises(Rejected) as caught:
        await read_all(tar(path))
    assert caught.value.code == "archive.not_found"


# --- Every byte counts ---


@pytest.mark.anyio
async def test_any_cut_is_found_and_named(tmp_path: Path) -> None:
    """C-23."""
    path = tmp_path / "me.tar"
    await tar(path).write(parts(SEVERAL[:3]))
    whole = path.read_bytes()
    for end in [*range(0, len(whole), 101), *range(len(whole) - 1100, len(whole))]:
        path.write_bytes(whole[:end])
        with pytest.raises(Corrupt) as caught:
            await read_all(tar(path))
        assert caught.value.code == "archive.cut", end
        assert caught.value.fields["at"] == end


@pytest.mark.anyio
async def test_any_changed_byte_outside_the_contents_is_found(tmp_path: Path) -> None:
    """C-23."""
    path = tmp_path / "me.tar"
    contents = [("manifest.json", b"x" * 100), ("log/000001.records", b"y")]
    await tar(path).write(parts(contents))
    whole = path.read_bytes()
    inside = {*range(512, 612), 1536}
    for at in range(len(whole)):
        for bit in (1, 0x80):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            if at in inside:
                assert await read_all(tar(path)) != contents
            else:
                with pytest.raises(Corrupt):
                    await read_all(tar(path))
