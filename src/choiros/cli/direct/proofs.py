"""The verbs that show to others, and to oneself, that the log is what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.cli.client import KeyState, ProofMade, Verification, WitnessLine
from choiros.cli.direct.opened import Opened
from choiros.features.files.decide import not_found
from choiros.features.proof.commands import RotateKey, SignLog, TrustLog, WitnessLog
from choiros.features.proof.events import LogSeen
from choiros.features.proof.note import COSIGNED, Key, Signature, cosigned, parse_note
from choiros.features.proof.prove import proof_file
from choiros.kernel.dispatch import Done
from choiros.wiring import verified

if TYPE_CHECKING:
    from choiros.cli.carried import Progress
    from choiros.cli.client import Asked, Changed


class Proofs(Opened):
    """Verifies, proves, shows keys, and witnesses other logs."""

    async def verify(self, first: int, last: int | None, *, progress: Progress) -> Verification:
        """Check the log from event `first` to `last`, and against everybody who remembers it."""
        computer = self._computer
        head = (await computer.journal.head()).seq
        after = max(first - 1, 0)
        await self._check_seq(min(after, head + 1))
        found, unasked = await verified(
            computer,
            after,
            until=last,
            progress=lambda done, total: progress("checking", done, total),
        )
        problems = [(one.seq, one.what, one.fix) for one in found.problems]
        return Verification(
            first=found.first,
            last=found.last,
            root=found.root,
            signed=found.signed,
            signed_until=found.signed_until,
            witnessed=found.witnessed,
            claims=found.claims,
            problems=problems,
            unasked=unasked,
        )

    async def unsigned_from(self) -> int:
        """Return the number of the first event that no signed point covers."""
        last = self._computer.proof.last()
        return last.size + 1 if last else 1

    async def prove(self, what: int | str) -> ProofMade:
        """Return the proof of an event, or of the newest event that changed a path."""
        computer = self._computer
        seq = what if isinstance(what, int) else self._newest_of(what)
        await self._answers.event(seq)
        signed = computer.proof.witnessed_over(seq) or computer.proof.first_over(seq)
        if signed is None:
            await computer.kernel.handle(SignLog(), self._own("system"))
            signed = computer.proof.witnessed_over(seq) or computer.proof.first_over(seq)
            assert signed is not None, "a signature covers everything before it"
        answers = [one.signatures for one in computer.proof.answers(signed.size)]
        record = (await computer.journal.fetch([seq]))[0].record
        text = proof_file(record, computer.proof, size=signed.size, note=signed.note + "".join(answers))
        key = await computer.proofs.key()
        return ProofMade(seq, signed.size, str(key), text)

    def _newest_of(self, path: str) -> int:
        history = self._computer.files.history(self._id, path)
        if not history:
            raise not_found(path)
        return history[-1].seq

    async def key_state(self) -> KeyState:
        """Return with which key the log is signed, how far, and what each witness said last."""
        computer = self._computer
        key, last = await computer.proofs.key(), computer.proof.last()
        answers = {one.witness: one for one in computer.proof.newest_answers()}
        witnesses = [
            WitnessLine(
                name=one.name,
                size=answers[one.name].size if one.name in answers else 0,
                error=answers[one.name].error if one.name in answers else "",
            )
            for one in computer.parts.witnesses
        ]
        return KeyState(
            origin=await computer.proofs.origin(),
            keys=[one.key for one in computer.proof.signing_keys()],
            key=str(key) if key else None,
            witness_key=str(Key(key.name, key.public, COSIGNED)) if key else None,
            is_here=key is not None and key.public in computer.parts.signer.publics(),
            signed=last.size if last else 0,
            events=(await computer.journal.head()).seq,
            witnesses=witnesses,
        )

    async def sign(self) -> Changed | Asked:
        """Sign the log as it is now, and show it to the witnesses."""
        return await self._changed(await self._computer.kernel.handle(SignLog(), self._own("system")))

    async def rotate_key(self) -> Changed | Asked:
        """Sign with a new key from now on."""
        changed = await self._handle(RotateKey())
        await self.sign()
        return changed

    async def trust_log(self, key: str) -> Changed | Asked:
        """Be a witness for another log."""
        return await self._handle(TrustLog(key))

    async def witness(self, request: str) -> str:
        """Look at another log and return this computer's signature line."""
        computer = self._computer
        if await computer.proofs.key() is None:
            await self.sign()
        outcome = await computer.kernel.handle(WitnessLog(request), computer.context())
        assert isinstance(outcome, Done), "a person's wish to witness is allowed at once"
        seen = next(one.payload for one in outcome.facts if isinstance(one.payload, LogSeen))
        return await self._cosigned(seen.note, seen.time_s)

    async def witnessed(self, origin: str) -> str:
        """Return the newest note of another log that this computer has signed, '' for none."""
        seen = self._computer.proof.seen(origin)
        return seen.note + await self._cosigned(seen.note, seen.time_s) if seen else ""

    async def _cosigned(self, note: str, time_s: int) -> str:
        own = await self._computer.proofs.key()
        assert own is not None, "the log is signed before it witnesses others"
        key = Key(own.name, own.public, COSIGNED)
        raw = self._computer.parts.signer.sign(key.public, cosigned(parse_note(note).text, time_s))
        return Signature(key.name, key.id, time_s.to_bytes(8) + raw).line()
