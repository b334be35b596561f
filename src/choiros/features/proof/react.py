"""What a signature causes: it is remembered beside the keys, and shown to the witnesses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from choiros.features.proof.commands import ReportWitness
from choiros.features.proof.events import LogSigned
from choiros.features.proof.merkle import consistency_proof
from choiros.features.proof.note import parse_note, parse_tree_head, proof_lines
from choiros.features.proof.view import ProofView
from choiros.kernel.errors import ChoirError, Conflict
from choiros.kernel.event import Event
from choiros.kernel.signer import Signer
from choiros.kernel.witness import Witness

Handle = Callable[[Struct], Awaitable[object]]


class SignatureMemory:
    """Keeps the newest signed point beside the keys, where an older copy of the log does not reach."""

    name = "proof.memory"

    def __init__(self, signer: Signer, *, user: str) -> None:
        self._signer = signer
        self._user = user

    async def react(self, events: Sequence[Event]) -> None:
        """Remember the newest of these signatures."""
        signed = [event.payload for event in events if isinstance(event.payload, LogSigned)]
        if not signed:
            return
        before = self._signer.remembered(self._user)
        if not before or parse_tree_head(parse_note(before).text).size < signed[-1].size:
            self._signer.remember(self._user, signed[-1].note)


class WitnessCalls:
    """Shows the newest signed point to every witness and reports what each says."""

    name = "proof.witnesses"

    def __init__(self, view: ProofView, witnesses: Sequence[Witness], *, handle: Handle) -> None:
        self._view = view
        self._witnesses = tuple(witnesses)
        self._handle = handle

    async def react(self, events: Sequence[Event]) -> None:
        """Show the newest of these signatures; one that cannot be reached hears of the next one."""
        signed = [event.payload for event in events if isinstance(event.payload, LogSigned)]
        for witness in self._witnesses if signed else ():
            await self._handle(await self._shown(witness, signed[-1]))

    async def _shown(self, witness: Witness, signed: LogSigned) -> ReportWitness:
        try:
            lines = await self._added(witness, signed)
        except ChoirError as error:
            return ReportWitness(witness.name, signed.size, error=f"{error.message} {error.fix}")
        return ReportWitness(witness.name, signed.size, lines)

    async def _added(self, witness: Witness, signed: LogSigned) -> str:
        """Return the signature lines; a witness that remembers another size is asked once more from there."""
        try:
            return await witness.add(self._request(self._view.last_taken(witness.name), signed))
        except Conflict as other:
            size = other.fields.get("size")
            if not isinstance(size, int) or not 0 <= size <= signed.size:
                raise
            return await witness.add(self._request(size, signed))

    def _request(self, old: int, signed: LogSigned) -> str:
        old = min(old, signed.size)
        hashes = consistency_proof(old, signed.size, node=self._view.node)
        return f"old {old}\n{proof_lines(hashes)}\n{signed.note}"
