"""A log that signs itself, in memory, with everything of this room around it and no other room."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from choiros.engines.log.memory import MemoryLog
from choiros.engines.signer.memory import MemorySigner
from choiros.engines.witness.memory import MemoryWitness
from choiros.features.proof.commands import ReportWitness, RotateKey, SignLog
from choiros.features.proof.decide import ProofLoader, decide_report, decide_rotate, decide_sign
from choiros.features.proof.note import Key
from choiros.features.proof.react import SignatureMemory, WitnessCalls
from choiros.features.proof.verify import Claim, Verified, Verifier
from choiros.features.proof.view import ProofProjector, ProofView
from choiros.features.workspaces.events import WorkspaceRenamed
from choiros.kernel.command import Context, Decision
from choiros.kernel.event import GENESIS, Draft, Event, Point, Record, link, payload_digest
from choiros.kernel.journal import Journal
from choiros.testing.clock import FakeClock
from choiros.wiring.parts import registry
from tests.places import empty_tables

SYSTEM = Context("me", source="system")


class SignedLog:
    """A log with its tree, its keys and its witnesses."""

    def __init__(self, name: str = "me", seed: bytes = b"") -> None:
        self.log, self.tables = MemoryLog(), empty_tables(ProofProjector())
        self.journal = Journal(self.log, registry(), user=name)
        self.view, self.signer, self.clock = ProofView(self.tables), MemorySigner(seed), FakeClock()
        self.loader = ProofLoader(self.view, self.journal, signer=self.signer, clock=self.clock)
        self.witness = MemoryWitness("w")
        self.memory = SignatureMemory(self.signer, user=name)
        self.calls = WitnessCalls(self.view, [self.witness], handle=self._report)
        self.name = name

    async def happen(self, *payloads: Struct) -> list[Event]:
        """Let facts be recorded."""
        known, number = self.journal.registry, (await self.journal.head()).seq + 1
        events = await self.journal.append(
            [
                Draft(
                    f"{self.name}-{at}",
                    at,
                    self.name,
                    "user",
                    known.type_of(one).name,
                    known.encode(one),
                    at.to_bytes(16),
                )
                for at, one in enumerate(payloads, number)
            ]
        )
        ProofProjector().apply(self.tables, events)
        return events

    async def live(self, count: int) -> None:
        """Let that many things happen."""
        head = (await self.journal.head()).seq
        await self.happen(*(WorkspaceRenamed("main", f"name {head + at}", "") for at in range(count)))

    async def _decided(self, decision: Decision) -> list[Event]:
        return await self.happen(*decision.payloads) if decision.payloads else []

    async def sign(self) -> list[Event]:
        """Sign the log, and let the signature have its effects."""
        events = await self._decided(decide_sign(SignLog(), await self.loader.sign(SignLog(), SYSTEM)))
        await self.memory.react(events)
        await self.calls.react(events)
        return events

    async def rotate(self) -> list[Event]:
        return await self._decided(decide_rotate(RotateKey(), await self.loader.rotate(RotateKey(), SYSTEM)))

    async def _report(self, command: Struct) -> object:
        assert isinstance(command, ReportWitness)
        return await self._decided(decide_report(command, None))

    async def records(self) -> list[Record]:
        return [record async for records in self.log.read(self.name) for record in records]

    async def check(
        self, *claims: Claim, after: int = 0, until: int | None = None, witnesses: Sequence[Key] = ()
    ) -> Verified:
        """Verify the log, and what is remembered beside the keys."""
        verifier = Verifier(
            self.journal,
            self.view,
            origin=await self.loader.origin(),
            verify=self.signer.verify,
            witnesses=witnesses,
        )
        own = self.signer.remembered(self.name)
        remembered = [Claim("The keys", own)] if own else []
        return await verifier.check([*remembered, *claims], after, until=until)


async def replaced(log: SignedLog, records: Sequence[Record]) -> SignedLog:
    """Return the same computer with another log put in its place, and the views made again from it."""
    other = SignedLog(log.name)
    other.signer, other.witness = log.signer, log.witness
    other.loader = ProofLoader(other.view, other.journal, signer=other.signer, clock=other.clock)
    other.log._records[log.name] = list(records)
    async for events in other.journal.events(Point(0, GENESIS)):
        ProofProjector().apply(other.tables, events)
    return other


def chained(records: Sequence[Record]) -> list[Record]:
    """Return records whose chain was computed anew, as somebody would who has the disk but not the keys."""
    fresh: list[Record] = []
    place = Point(0, GENESIS)
    for record in records:
        head = msgspec.json.decode(record.head)
        head["seq"], head["id"] = place.seq + 1, record.id
        stored = msgspec.json.encode(head)
        fresh.append(record._replace(seq=place.seq + 1, head=stored, hash=link(place.hash, stored)))
        place = Point(place.seq + 1, fresh[-1].hash)
    return fresh


def edited(record: Record, old: bytes, new: bytes) -> Record:
    """Return a record with another payload and the hash of that payload in its head."""
    payload = (record.payload or b"").replace(old, new)
    head = msgspec.json.decode(record.head)
    head["payload_hash"] = payload_digest(record.salt, payload)
    return record._replace(payload=payload, head=msgspec.json.encode(head))
