"""A signature is remembered beside the keys and shown to every witness; what each said is recorded."""

import asyncio
from collections.abc import Callable, Coroutine

from choiros.engines.witness.memory import MemoryWitness
from choiros.features.proof.events import LogSigned
from choiros.features.proof.note import parse_note, parse_tree_head
from choiros.features.proof.react import WitnessCalls
from choiros.kernel.errors import Conflict
from tests.unit.features.proof.logs import SignedLog


def told(story: Callable[[SignedLog], Coroutine[None, None, None]]) -> None:
    asyncio.run(story(SignedLog()))


def remembered(log: SignedLog) -> int:
    return parse_tree_head(parse_note(log.signer.remembered("me")).text).size


def test_the_newest_signature_is_remembered_beside_the_keys() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(3)
        await log.sign()
        assert remembered(log) == 3
        await log.live(3)
        events = await log.sign()
        newest = remembered(log)
        assert newest > 6
        older = [event for event in events if isinstance(event.payload, LogSigned)]
        log.signer.remember("me", log.signer.remembered("me"))
        await log.memory.react(older)
        assert remembered(log) == newest

    told(story)


def test_an_older_signature_that_is_seen_again_does_not_replace_a_newer_one() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(3)
        first = await log.sign()
        await log.live(3)
        await log.sign()
        newest = remembered(log)
        await log.memory.react(first)
        assert remembered(log) == newest

    told(story)


def test_every_witness_is_shown_the_newest_signature_with_a_proof_from_what_it_knows() -> None:
    async def story(log: SignedLog) -> None:
        for _ in range(3):
            await log.live(5)
            await log.sign()
        olds = [int(request.split("\n")[0].split(" ")[1]) for request in log.witness.requests]
        sizes = [int(request.partition("\n\n")[2].split("\n")[1]) for request in log.witness.requests]
        assert olds == [0, *sizes[:2]]
        assert [one.error for one in log.view.newest_answers()] == [""]
        assert log.view.last_taken("w") == sizes[-1]

    told(story)


def test_a_witness_that_is_away_is_reported_and_hears_of_the_next_one() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(5)
        log.witness.is_away = True
        await log.sign()
        (answer,) = log.view.newest_answers()
        assert "cannot be reached" in answer.error
        log.witness.is_away = False
        await log.live(5)
        await log.sign()
        (answer,) = log.view.newest_answers()
        assert (answer.error, answer.size) == ("", log.view.last_taken("w"))

    told(story)


def test_a_witness_that_remembers_more_than_we_do_is_asked_again_from_there() -> None:
    """After a rebuild from a backup the answers of witnesses may be lost, and theirs are right."""

    class Other(MemoryWitness):
        async def add(self, request: str) -> str:
            if request.startswith("old 0\n") and self.requests:
                self.requests.append(request)
                raise Conflict("witness.other_size", "It was seen at 3.", fix="Send it from 3.", size=3)
            return await super().add(request)

    async def story(log: SignedLog) -> None:
        await log.live(3)
        events = await log.sign()
        witness = Other("other")
        calls = WitnessCalls(log.view, [witness], handle=log._report)
        witness.requests.append("before")
        await calls.react(events)
        assert [request.split("\n")[0] for request in witness.requests[1:]] == ["old 0", "old 3"]
        assert log.view.last_taken("other") == 3

    told(story)


def test_what_is_no_signature_causes_nothing() -> None:
    async def story(log: SignedLog) -> None:
        events = await log.happen(LogSigned(1, "", ""))
        await log.live(1)
        await log.memory.react(events[:0])
        await log.calls.react(events[:0])
        assert (log.signer.remembered("me"), log.witness.requests) == ("", [])

    told(story)
