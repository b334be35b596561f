"""Changes of files are quiet, but for the names that nobody may change by any route (C-12)."""

import asyncio

import pytest

from choiros.features.files.check import ProtectedNames, WorkspaceChanges
from choiros.features.files.commands import ChangeFiles
from choiros.features.files.events import FileDeleted, FileFact, FileMoved, FileWritten
from choiros.features.workspaces.events import WorkspaceRemoved
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.event import Source
from choiros.kernel.gate import Gate, Ruling
from choiros.kernel.tree import Entry
from tests.unit.features.files.wishes import A

FREE: list[FileFact] = [
    FileWritten("main", "a", A),
    FileDeleted("main", "a", A),
    FileMoved("main", "a", "b", A),
    FileWritten("main", "a", Entry("link", 0o777, target=".choir/keys")),
]
BARRED: list[FileFact] = [
    FileWritten("main", ".choir/policy", A),
    FileWritten("main", "sub/.git/hooks/pre-commit", A),
    FileWritten("main", ".GIT", A),
    FileDeleted("main", "sub/.Choir", A),
    FileMoved("main", ".git/config", "a", A),
    FileMoved("main", "a", "b/.git", A),
]


def ruled(*payloads: object, source: Source = "user") -> Ruling:
    facts = tuple(Fact(payload) for payload in payloads)  # pyright: ignore[reportArgumentType]
    context = Context("me", source=source)
    proposal = Proposal("any", ChangeFiles("main", ()), context, Decision(facts), "reversible")
    return asyncio.run(Gate([ProtectedNames(), WorkspaceChanges()]).judge(proposal))


@pytest.mark.parametrize("source", ["user", "agent", "system"])
@pytest.mark.parametrize("fact", FREE)
def test_a_change_in_a_workspace_is_quiet(fact: FileFact, source: Source) -> None:
    assert ruled(fact, source=source).answer == "allow"


@pytest.mark.parametrize("source", ["user", "agent", "system"])
@pytest.mark.parametrize("fact", BARRED)
def test_a_protected_name_is_barred_to_everybody_and_among_whatever_else(
    fact: FileFact, source: Source
) -> None:
    ruling = ruled(*FREE, fact, *FREE, source=source)
    assert ruling.answer == "block"
    assert "is protected" in ruling.reasons()


def test_an_allowance_for_files_covers_nothing_else() -> None:
    assert ruled(FREE[0], WorkspaceRemoved("a", "open")).answer == "block"


def test_a_wish_that_is_fulfilled_already_needs_no_question() -> None:
    assert ruled().answer == "allow"
