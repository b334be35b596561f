"""Every witness keeps the promises of the port: a directory, a branch of a repository, a second computer."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from choiros.engines.witness.command import CommandWitness
from choiros.engines.witness.file import FileWitness
from choiros.engines.witness.git import BRANCH, GitWitness
from choiros.engines.witness.memory import MemoryWitness
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.errors import Conflict, Unavailable
from choiros.testing.witness_contract import WitnessContract, note, request


class TestMemoryWitness(WitnessContract):
    @pytest.fixture
    def witness(self) -> MemoryWitness:
        return MemoryWitness()


class TestFileWitness(WitnessContract):
    @pytest.fixture
    def witness(self, tmp_path: Path) -> FileWitness:
        return FileWitness("stick", tmp_path, worker=InlineWorker())


class TestGitWitness(WitnessContract):
    @pytest.fixture
    def witness(self, tmp_path: Path) -> GitWitness:
        return git_witness(tmp_path)


def git(*words: str, at: Path) -> str:
    return subprocess.run(["git", *words], cwd=at, check=True, capture_output=True, text=True).stdout


def git_witness(directory: Path, cache: str = "cache") -> GitWitness:
    there = directory / "there.git"
    if not there.exists():
        git("init", "--quiet", "--bare", str(there), at=directory)
    return GitWitness("tower", str(there), cache=directory / cache, worker=InlineWorker())


# --- A directory ---


def test_a_directory_that_is_not_there_is_away_and_not_empty(tmp_path: Path) -> None:
    witness = FileWitness("stick", tmp_path / "not plugged in", worker=InlineWorker())
    for act in (witness.newest("choiros/me/1"), witness.add(request(3))):
        with pytest.raises(Unavailable, match="not there"):
            asyncio.run(act)
    assert not (tmp_path / "not plugged in").exists()


def test_a_directory_keeps_every_note_that_it_was_ever_shown(tmp_path: Path) -> None:
    witness = FileWitness("stick", tmp_path, worker=InlineWorker())
    for size in (3, 7, 9):
        asyncio.run(witness.add(request(size)))
    (history,) = tmp_path.glob("*/history")
    assert history.read_text() == "".join(note(size) + "\n" for size in (3, 7, 9))


# --- A branch ---


def test_a_branch_holds_one_commit_for_each_note_and_loses_none(tmp_path: Path) -> None:
    witness = git_witness(tmp_path)
    for size in (3, 7):
        asyncio.run(witness.add(request(size)))
    asyncio.run(witness.add(request(7, 7)))
    log = git("log", "--format=%s", BRANCH, at=tmp_path / "there.git").splitlines()
    assert log == ["choiros/me/1 at 7 events", "choiros/me/1 at 3 events"]
    assert git("fsck", "--strict", at=tmp_path / "there.git") == ""


def test_two_computers_share_a_branch_and_neither_loses_what_the_other_wrote(tmp_path: Path) -> None:
    one, other = git_witness(tmp_path, "one"), git_witness(tmp_path, "other")
    for size in (3, 5, 7):
        asyncio.run(one.add(request(size)))
        asyncio.run(other.add(request(size, origin="choiros/you/2")))
    assert asyncio.run(other.newest("choiros/me/1")) == note(7)
    assert asyncio.run(one.newest("choiros/you/2")) == note(7, "choiros/you/2")


def test_the_cache_may_be_thrown_away(tmp_path: Path) -> None:
    asyncio.run(git_witness(tmp_path).add(request(3)))
    shutil.rmtree(tmp_path / "cache")
    assert asyncio.run(git_witness(tmp_path).newest("choiros/me/1")) == note(3)


def test_a_branch_that_somebody_set_back_is_told_by_what_it_holds(tmp_path: Path) -> None:
    witness = git_witness(tmp_path)
    asyncio.run(witness.add(request(3)))
    asyncio.run(witness.add(request(7)))
    git("update-ref", BRANCH, f"{BRANCH}~1", at=tmp_path / "there.git")
    assert asyncio.run(witness.newest("choiros/me/1")) == note(3)


def test_a_repository_that_is_not_there_is_away(tmp_path: Path) -> None:
    witness = git_witness(tmp_path)
    shutil.rmtree(tmp_path / "there.git")
    for act in (witness.newest("choiros/me/1"), witness.add(request(3))):
        with pytest.raises(Unavailable) as caught:
            asyncio.run(act)
        assert caught.value.code == "witness.unavailable"


def test_an_address_that_looks_like_an_option_or_a_command_does_nothing(tmp_path: Path) -> None:
    for url in ("--upload-pack=touch x", f"ext::sh -c touch% {tmp_path}/x"):
        witness = GitWitness("bad", url, cache=tmp_path / "cache", worker=InlineWorker())
        with pytest.raises(Unavailable):
            asyncio.run(witness.newest("choiros/me/1"))
        assert not (tmp_path / "x").exists()


# --- A command ---


def command(tmp_path: Path, body: str) -> CommandWitness:
    script = tmp_path / "answer.py"
    script.write_text(f"import json, sys, time\ntext = sys.stdin.read()\n{body}\n")
    return CommandWitness("tower", f"{sys.executable} '{script}' here", worker=InlineWorker(), timeout_s=5)


def test_a_command_gets_the_request_and_its_answer_is_taken(tmp_path: Path) -> None:
    witness = command(tmp_path, "print(json.dumps({'signatures': text, 'note': ' '.join(sys.argv[1:])}))")
    assert asyncio.run(witness.add(request(3))) == request(3)
    assert asyncio.run(witness.newest("choiros/me/1")) == "here --newest choiros/me/1 --json"


def test_a_refusal_is_one_and_tells_what_the_other_knows(tmp_path: Path) -> None:
    body = (
        "print(json.dumps({'error': {'code': 'witness.other_size', 'message': 'No.', 'fix': 'Send more.',"
        " 'fields': {'size': 7}}})); sys.exit(1)"
    )
    with pytest.raises(Conflict) as caught:
        asyncio.run(command(tmp_path, body).add(request(3)))
    assert (caught.value.code, caught.value.fields["size"], caught.value.fix) == (
        "witness.refused",
        7,
        "Send more.",
    )


@pytest.mark.parametrize(
    "body",
    [
        "sys.exit(1)",
        "print('hello')",
        "print('[]')",
        "print(json.dumps({'other': 1}))",
        "print(json.dumps({'error': {'code': 'lock.held', 'message': 'Busy.', 'fix': 'Wait.'}}))",
        "print(json.dumps({'error': 'text'}))",
        "time.sleep(60)",
    ],
)
def test_anything_else_means_that_it_cannot_be_asked(tmp_path: Path, body: str) -> None:
    witness = command(tmp_path, body)
    witness._timeout_s = 2
    with pytest.raises(Unavailable) as caught:
        asyncio.run(witness.add(request(3)))
    assert caught.value.code == "witness.unavailable"


def test_a_command_that_does_not_exist_cannot_be_asked() -> None:
    with pytest.raises(Unavailable):
        asyncio.run(CommandWitness("tower", "no-such-program", worker=InlineWorker()).add(request(3)))
