"""Every repository engine keeps the promises of the port."""

import itertools
import subprocess
from pathlib import Path

import pytest

from choiros.engines.repository.libgit import LibgitRepository
from choiros.engines.repository.memory import MemoryRepository
from choiros.engines.worker.inline import InlineWorker
from choiros.engines.worker.thread import ThreadWorker
from choiros.kernel.tree import Entry
from choiros.testing.repository_contract import Make, RepositoryContract, Shelf, Writer


class TestMemoryRepository(RepositoryContract):
    @pytest.fixture
    def make(self) -> Make:
        places: dict[tuple[str, str], list[str]] = {}
        return lambda: MemoryRepository(places)

    @pytest.fixture
    def place(self) -> str:
        return "/somewhere"

    @pytest.mark.anyio
    async def test_what_was_staged_is_kept(self) -> None:
        repository, shelf = MemoryRepository(), Shelf()
        writer = Writer(repository, shelf)
        await writer.commit({"a": "1"})
        repository.index = {"a": await shelf.file(b"1")}
        await writer.commit({"a": "2"})
        assert repository.refs == {}
        repository.index = {"a": await shelf.file(b"1"), "b": Entry("link", 0o777, target="a")}
        await writer.commit({"a": "3"})
        assert await repository.files("refs/choir/index/3", shelf) == {
            "a": await shelf.file(b"1"),
            "b": Entry("link", 0o777, target="a"),
        }


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
