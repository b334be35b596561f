"""Every tree keeps the promises of the port, alone and while somebody else changes the same folder (C-40)."""

import errno
import os
import shutil
import socket
from pathlib import Path

import pytest

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.tree.disk import DiskTree, renames
from choiros.engines.tree.memory import MemoryTree
from choiros.engines.worker.inline import InlineWorker
from choiros.engines.worker.thread import ThreadWorker
from choiros.testing.tree_apply_contract import ApplyContract, RepeatContract
from choiros.testing.tree_contract import ScanContract, TakeContract, TreeContract
from choiros.testing.tree_diverge_contract import DivergeContract

LIMIT = 4 << 20


class OutsideMemory:
    """Changes a tree in memory."""

    def __init__(self, tree: MemoryTree) -> None:
        self.write = tree.outside_write
        self.link = tree.outside_link
        self.mkdir = tree.outside_mkdir
        self.special = tree.outside_special
        self.chmod = tree.outside_chmod
        self.remove = tree.outside_remove
        self.move = tree.outside_move
        self.read = tree.outside_read


class OutsideDisk:
    """Changes a folder on disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        self._make_way(place, keeps_files=True)
        is_new = not os.path.lexists(place)
        place.write_bytes(data)
        if mode is not None or is_new:
            place.chmod(0o644 if mode is None else mode)

    def link(self, path: str, target: str) -> None:
        self.remove(path)
        (self._root / path).parent.mkdir(parents=True, exist_ok=True)
        (self._root / path).symlink_to(target)

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        place = self._root / path
        self._make_way(place, keeps_files=False)
        place.mkdir(parents=True)
        place.chmod(mode)

    def special(self, path: str) -> None:
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        # A socket's address is short, so it is made from within its directory.
        here = Path.cwd()
        os.chdir(place.parent)
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(place.name)
        finally:
            os.chdir(here)

    def chmod(self, path: str, mode: int) -> None:
        (self._root / path).chmod(mode)

    def remove(self, path: str) -> None:
        place = self._root / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)

    def move(self, path: str, target: str) -> None:
        (self._root / path).rename(self._root / target)

    def read(self, path: str) -> bytes:
        return (self._root / path).read_bytes()

    def _make_way(self, place: Path, *, keeps_files: bool) -> None:
        is_kept = keeps_files and place.is_file() and not place.is_symlink()
        if os.path.lexists(place) and not is_kept:
            self.remove(str(place.relative_to(self._root)))


def without_careful_renames(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_spots, **_options):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(renames, "renameat2", missing)


class InMemory(TreeContract):
    @pytest.fixture
    def tree(self):
        return MemoryTree()

    @pytest.fixture
    def outside(self, tree):
        assert isinstance(tree, MemoryTree)
        return OutsideMemory(tree)

    @pytest.fixture
    def blobs(self):
        return MemoryBlobs(LIMIT)


class OnDisk(TreeContract):
    @pytest.fixture
    def root(self, tmp_path):
        (tmp_path / "workspace").mkdir()
        return tmp_path / "workspace"

    @pytest.fixture
    def worker(self):
        worker = ThreadWorker("test")
        yield worker
        worker.close()

    @pytest.fixture
    def tree(self, root, worker):
        return DiskTree(root, worker)

    @pytest.fixture
    def outside(self, root):
        return OutsideDisk(root)

    @pytest.fixture
    def blobs(self):
        return MemoryBlobs(LIMIT)


class OnDiskInline(OnDisk):
    @pytest.fixture
    def worker(self):
        return InlineWorker()


class OnPlainDisk(OnDiskInline):
    """A file system that has neither of the two careful renames, as FAT and some network file systems."""

    @pytest.fixture(autouse=True)
    def _no_renameat2(self, monkeypatch):
        without_careful_renames(monkeypatch)


class TestScanInMemory(InMemory, ScanContract): ...


class TestTakeInMemory(InMemory, TakeContract): ...


class TestApplyInMemory(InMemory, ApplyContract): ...


class TestRepeatInMemory(InMemory, RepeatContract): ...


class TestDivergeInMemory(InMemory, DivergeContract): ...


class TestScanOnDisk(OnDisk, ScanContract): ...


class TestTakeOnDisk(OnDisk, TakeContract): ...


class TestApplyOnDisk(OnDisk, ApplyContract): ...


class TestApplyOnDiskInline(OnDiskInline, ApplyContract): ...


class TestRepeatOnDisk(OnDisk, RepeatContract): ...


class TestDivergeOnDisk(OnDisk, DivergeContract): ...


class TestApplyOnPlainDisk(OnPlainDisk, ApplyContract): ...


class TestRepeatOnPlainDisk(OnPlainDisk, RepeatContract): ...


class TestDivergeOnPlainDisk(OnPlainDisk, DivergeContract): ...
