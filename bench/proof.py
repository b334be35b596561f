"""Proofs behind a long history: verifying all of it, proving one event, signing, and what keeping the tree costs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

from bench.home import long_home, opened
from bench.measure import Figure, Json, Stopwatch, Target, interleaved, median, rounded, spread
from bench.stage import Stage
from bench.story import USER, Story, contents
from choiros.engines.clock.system import SystemClock
from choiros.engines.log.sqlite import SqliteLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.engines.worker.inline import InlineWorker
from choiros.features.proof.commands import SignLog
from choiros.features.proof.note import parse_key
from choiros.features.proof.prove import check_proof, parse_proof, proof_file
from choiros.features.proof.verify import Verifier
from choiros.features.proof.view import ProofProjector
from choiros.kernel.command import Context
from choiros.kernel.event import Draft
from choiros.kernel.journal import Journal
from choiros.kernel.projector import Projector, ProjectorRunner
from choiros.wiring import Computer, projectors, registry

PROOFS = 300
SIGNATURES = 30
GROUP = 32
VERIFICATIONS = 3

_names = itertools.count()


class Appends:
    """Durable appends in groups of 32, each followed by all views, with the tree among them or without."""

    def __init__(self, directory: Path, count: int) -> None:
        self._directory = directory
        story = Story(1000, contents(200))
        self._drafts = [story.draft(story.fact(), "user", cause=None) for _ in range(count)]

    async def with_tree(self) -> float:
        return await self._appended(projectors(registry()))

    async def without(self) -> float:
        return await self._appended(
            [one for one in projectors(registry()) if one.name != ProofProjector.name]
        )

    async def _appended(self, views: Sequence[Projector]) -> float:
        number = next(_names)
        path = self._directory / f"{number}.db"
        log = SqliteLog(lambda _: path, InlineWorker(), clock=SystemClock())
        journal = Journal(log, registry(), user=USER)
        tables = SqliteTables(self._directory / f"{number}.sqlite")
        runner = ProjectorRunner(journal, tables, projectors=views)
        runner.prepare()
        with Stopwatch() as watch:
            for group in _groups(self._drafts):
                runner.apply(await journal.append(group))
        tables.close()
        await log.close()
        return len(self._drafts) / watch.spent.wall


def _groups(drafts: Sequence[Draft]) -> list[Sequence[Draft]]:
    return [drafts[start : start + GROUP] for start in range(0, len(drafts), GROUP)]


async def signed(computer: Computer) -> list[float]:
    """Return milliseconds for signing the log, a few events after the last time, without the disk and the gate."""
    took: list[float] = []
    system = Context(USER, source="system")
    await computer.kernel.handle(SignLog(), system)
    for number in range(SIGNATURES):
        story = Story(10, contents(10))
        await computer.journal.append([story.draft(story.fact(), "user", cause=None) for _ in range(10)])
        await computer.projectors.catch_up()
        with Stopwatch() as watch:
            await computer.kernel.propose(SignLog(), system)
        took.append(1000 * watch.spent.wall)
        if number % 10 == 0:
            await computer.kernel.handle(SignLog(), system)
    await computer.kernel.handle(SignLog(), system)
    return took


async def proved(computer: Computer) -> tuple[list[float], list[int]]:
    """Return milliseconds and bytes of proofs of events anywhere in the log; every proof is checked."""
    chance = random.Random(3)
    last = computer.proof.last()
    assert last is not None
    keys = [parse_key(one.key) for one in computer.proof.signing_keys()]
    took: list[float] = []
    sizes: list[int] = []
    for _ in range(PROOFS):
        seq = chance.randrange(1, last.size)
        with Stopwatch() as watch:
            record = (await computer.journal.fetch([seq]))[0].record
            text = proof_file(record, computer.proof, size=last.size, note=last.note)
        took.append(1000 * watch.spent.wall)
        sizes.append(len(text.encode()))
        verify = computer.parts.signer.verify
        assert check_proof(parse_proof(text), keys=keys, witnesses=[], verify=verify).seq == seq
    return took, sizes


async def verified(computer: Computer) -> tuple[list[float], int]:
    """Return events a second of processor time for checking the whole log."""
    rates: list[float] = []
    verifier = Verifier(
        computer.journal,
        computer.proof,
        origin=await computer.proofs.origin(),
        verify=computer.parts.signer.verify,
    )
    events = 0
    for _ in range(VERIFICATIONS):
        with Stopwatch() as watch:
            found = await verifier.check([])
        assert not found.problems, found.problems
        events = found.last
        rates.append(found.last / watch.spent.cpu)
    return rates, events


async def run(stage: Stage) -> Figure:
    home, _ = await long_home(stage, stage.size.long)
    computer = await opened(home)
    signing = await signed(computer)
    proving, sizes = await proved(computer)
    verifying, events = await verified(computer)
    await computer.close()
    with stage.room("proof") as directory:
        appends = Appends(directory, stage.size.appends)
        rates = await interleaved({"with": appends.with_tree, "without": appends.without}, stage.size.rounds)
    share = [100 * one / other for one, other in zip(rates["with"], rates["without"], strict=True)]
    raw: dict[str, Json] = {
        "events": events,
        "verify": spread(verifying),
        "prove_ms": spread(proving),
        "prove_bytes": {"median": rounded(median([float(one) for one in sizes])), "max": max(sizes)},
        "sign_ms": spread(signing),
        "append": {name: spread(values) for name, values in rates.items()},
    }
    return Figure(
        f"Proofs over {events:,} events",
        [
            Target(
                "verify: chain, payloads, tree, signatures", median(verifying), "/s", 200_000, at_least=True
            ),
            Target("proof of one event", median(proving), "ms", 5),
            Target("size of a proof, the largest", max(sizes), "bytes", 2048),
            Target("signing: tree computed twice, key, note", median(signing), "ms", 1),
            Target("append and project with the tree, of without", median(share), "%", 95, at_least=True),
        ],
        [
            f"verify in events per second of processor time; proofs of {PROOFS} events anywhere, each checked;",
            "  signing ten events after the last time; appends of 32 in a durable group, then all views.",
            f"{median(rates['with']):,.0f} events/s with the tree, {median(rates['without']):,.0f} without.",
        ],
        raw,
    )
