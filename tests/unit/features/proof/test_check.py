"""Proofs are kept by ChoirOS itself; keys and witnesses are arranged by people, and by nobody else."""

import asyncio

import pytest
from msgspec import Struct

from choiros.features.files.events import FileDeleted
from choiros.features.proof.check import ProofsAreKept
from choiros.features.proof.commands import SignLog
from choiros.features.proof.events import KeyChanged, LogSeen, LogSigned, LogTrusted, WitnessAnswered
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.event import Source
from choiros.kernel.tree import Entry

KEY, SIGNED, ANSWER = KeyChanged("k"), LogSigned(1, "", ""), WitnessAnswered("w", 1)
TRUST, SEEN = LogTrusted("o", "k"), LogSeen("o", 1, "", "", 1)


def answer(*payloads: Struct, source: Source) -> str | None:
    decision = Decision(tuple(Fact(one) for one in payloads))
    proposal = Proposal("any", SignLog(), Context("me", source=source), decision, "pure")
    verdict = asyncio.run(ProofsAreKept().judge(proposal))
    return verdict.answer if verdict else None


@pytest.mark.parametrize(
    ("payloads", "answers"),
    [
        ((SIGNED,), "allow block block"),
        ((KEY, SIGNED), "allow block block"),
        ((ANSWER,), "allow block block"),
        ((KEY,), "allow allow block"),
        ((TRUST,), "allow allow block"),
        ((SEEN,), "allow allow block"),
        ((TRUST, SIGNED), "allow block block"),
    ],
)
def test_each_fact_is_a_matter_for_some_and_not_for_others(
    payloads: tuple[Struct, ...], answers: str
) -> None:
    sources: tuple[Source, ...] = ("system", "user", "agent")
    assert [answer(*payloads, source=source) for source in sources] == answers.split()


def test_what_does_not_concern_proofs_is_left_to_others() -> None:
    assert answer(FileDeleted("main", "a", Entry("dir", 0o755)), source="agent") is None
    assert answer(source="user") is None
