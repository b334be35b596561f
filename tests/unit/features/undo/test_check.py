"""An undo is allowed because it can be redone; what it would bring about is judged by the others all the same."""

import asyncio

import pytest

from choiros.features.files.check import ProtectedNames
from choiros.features.files.events import FileDeleted
from choiros.features.undo.check import UndoAllowed
from choiros.features.undo.commands import Undo
from choiros.features.undo.events import Undone
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.event import Source
from choiros.kernel.gate import Gate, Ruling
from choiros.kernel.tree import Entry

UNDONE = Fact(Undone("unit", "4", ((4, 4),)))


def deleted(path: str) -> Fact:
    return Fact(FileDeleted("main", path, Entry("dir", 0o755)), because_of=0)


def ruled(*facts: Fact, source: Source = "user") -> Ruling:
    proposal = Proposal("undo", Undo("main"), Context("me", source=source), Decision(facts), "reversible")
    return asyncio.run(Gate([UndoAllowed(), ProtectedNames()]).judge(proposal))


@pytest.mark.parametrize("source", ["user", "agent", "system"])
def test_whoever_may_change_may_take_back(source: Source) -> None:
    ruling = ruled(UNDONE, deleted("a"), source=source)
    assert ruling.answer == "allow"
    assert [verdict.check for verdict in ruling.verdicts] == ["undo.allowed"]


def test_the_same_changes_without_the_undo_are_none_of_its_business() -> None:
    assert ruled(deleted("a")).answer == "block"
    assert ruled().answer == "block"
    assert ruled(deleted("a"), UNDONE).answer == "block"


def test_an_undo_opens_no_way_to_protected_names() -> None:
    ruling = ruled(UNDONE, deleted("a"), deleted("sub/.git"))
    assert ruling.answer == "block"
    assert "sub/.git" in ruling.reasons()
