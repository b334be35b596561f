"""Compares a computer's log with itself and with everybody who remembers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from choiros.features.proof.note import parse_key
from choiros.features.proof.verify import Claim, Verified, Verifier
from choiros.kernel.errors import ChoirError

if TYPE_CHECKING:
    from choiros.wiring.computer import Computer

MEMORY = "What is remembered beside the keys"


async def verified(
    computer: Computer,
    after: int = 0,
    *,
    until: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Verified, list[str]]:
    """Return what is found behind event `after`, up to and with `until`, and which witnesses could not be asked.

    Raises Corrupt (`log.broken`) when the chain itself does not hold.
    """
    claims, unasked = await _claims(computer)
    verifier = Verifier(
        computer.journal,
        computer.proof,
        origin=await computer.proofs.origin(),
        verify=computer.parts.signer.verify,
        witnesses=[parse_key(key) for key in computer.settings.proof.witness_keys.split()],
        progress=progress,
    )
    return await verifier.check(claims, after, until=until), unasked


async def _claims(computer: Computer) -> tuple[list[Claim], list[str]]:
    """Return what is remembered of this log beside the keys and by witnesses, and who could not be asked."""
    parts, origin = computer.parts, await computer.proofs.origin()
    claims: list[Claim] = []
    unasked: list[str] = []
    remembered = parts.signer.remembered(computer.settings.user)
    if remembered:
        claims.append(Claim(MEMORY, remembered))
    for witness in parts.witnesses:
        try:
            newest = await witness.newest(origin)
        except ChoirError as error:
            unasked.append(error.message)
            continue
        if newest:
            claims.append(Claim(f"The witness '{witness.name}'", newest))
    return claims, unasked
