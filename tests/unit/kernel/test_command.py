"""A wish and what it would record: what binds a person's word to exactly that."""

import asyncio
import hashlib

import pytest
from msgspec import Struct

from choiros.kernel.command import CommandType, Context, Decision, Fact, Proposal, encode_command
from tests.unit.kernel.notes import AGENT, ME, AddNote, NoteAdded


class Other(Struct, frozen=True):
    text: str


def proposal(
    *texts: str, name: str = "add", command: Struct | None = None, context: Context = ME
) -> Proposal:
    facts = tuple(Fact(NoteAdded(text)) for text in texts)
    return Proposal(name, command or AddNote("a"), context, Decision(facts), "reversible")


def test_proposing_loads_the_state_and_asks_the_rule() -> None:
    async def load(command: AddNote, context: Context) -> str:
        return f"{command.text} for {context.user}"

    kind = CommandType(
        "add",
        AddNote,
        load=load,
        decide=lambda command, state: Decision((Fact(NoteAdded(f"{command.text}: {state}")),)),
    )
    proposed = asyncio.run(kind.propose(AddNote("x"), AGENT))
    assert proposed.decision.payloads == [NoteAdded("x: x for me")]
    assert (proposed.name, proposed.command, proposed.context) == ("add", AddNote("x"), AGENT)


def test_what_declares_nothing_counts_as_irreversible() -> None:
    async def load(command: AddNote, context: Context) -> None:
        del command, context

    kind = CommandType("add", AddNote, load=load, decide=lambda _, __: Decision(()))
    assert kind.effect == "irreversible"
    assert asyncio.run(kind.propose(AddNote("x"), ME)).effect == "irreversible"


def test_the_same_command_with_the_same_facts_has_the_same_digest() -> None:
    assert proposal("a").digest() == proposal("a", context=AGENT).digest()


def test_the_digest_is_the_one_that_approvals_on_disk_are_bound_to() -> None:
    hasher = hashlib.sha256(b"choir-command-1\x00")
    for part in (b"add", b'["AddNote",{"text":"a"}]', b'["NoteAdded",{"text":"a"}]'):
        hasher.update(len(part).to_bytes(8) + part)
    assert proposal("a").digest() == hasher.hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        proposal("b"),
        proposal(),
        proposal("a", "a"),
        proposal("a", name="adds"),
        proposal("a", command=AddNote("b")),
        proposal("a", command=Other("a")),
    ],
    ids=["another fact", "no fact", "one fact more", "another name", "another argument", "another command"],
)
def test_anything_else_has_another_digest(other: Proposal) -> None:
    assert other.digest() != proposal("a").digest()


def test_parts_cannot_borrow_from_their_neighbours() -> None:
    digests = {
        proposal("ab", name="x").digest(),
        proposal("b", name="xa").digest(),
        proposal("a", "b", name="x").digest(),
        proposal('a"]["NoteAdded",{"text":"b', name="x").digest(),
    }
    assert len(digests) == 4


def test_text_that_is_no_unicode_still_has_a_digest_of_its_own() -> None:
    odd = [AddNote("\udcff"), AddNote("\\udcff"), AddNote("\udcfe"), AddNote("?")]
    assert len({encode_command(command) for command in odd}) == 4
