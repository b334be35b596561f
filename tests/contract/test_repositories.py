"""Every repository engine keeps the promises of the port."""

import itertools
import subprocess
from pathlib import Path

import pytest

from choiros.engines.repository.libgit import LibgitRepository
from choiros.engines.repository.memory import MemoryRepository
from choiros.engines.worker.inline import InlineWorker
from choiros.engines.worker.thread import ThreadWorker
from choiros.testing.repository_contract import Make, RepositoryContract


class TestMemoryRepository(RepositoryContract):
    @pytest.fixture
    def make(self) -> Make:
        places: dict[tuple[str, str], list[str]] = {}
        return lambda: MemoryRepository(places)

    @pytest.fixture
    def place(self) -> str:
        return "/somewhere"


class TestLibgitRepository(RepositoryContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        numbers = itertools.count()
        return lambda: LibgitRepository(tmp_path / "git" / str(next(numbers)), InlineWorker())

    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        subprocess.run(["git", "init", "-q", "--bare", tmp_path / "place"], check=True)
        return f"file://{tmp_path}/place"


class TestLibgitRepositoryInAThread(TestLibgitRepository):
    @pytest.fixture
    def make(self, tmp_path: Path, request: pytest.FixtureRequest) -> Make:
        numbers = itertools.count()

        def made() -> LibgitRepository:
            worker = ThreadWorker("git")
            request.addfinalizer(worker.close)
            return LibgitRepository(tmp_path / "git" / str(next(numbers)), worker)

        return made
