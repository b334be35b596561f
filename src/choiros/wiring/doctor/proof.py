"""What is signed, what is remembered beside the keys, and what witnesses keep, all compared with the log."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from choiros.features.proof.note import parse_key, parse_note, parse_tree_head
from choiros.kernel.errors import ChoirError, Corrupt, Rejected
from choiros.wiring.doctor.case import Case, LeftOut, Looked
from choiros.wiring.doctor.finding import Finding, found
from choiros.wiring.proving import MEMORY, verified

if TYPE_CHECKING:
    from choiros.features.proof.verify import Problem
    from choiros.wiring.computer import Computer


def _signed(case: Case) -> Computer:
    """Return the computer; raises LeftOut when there is no whole log that a signature could be about."""
    told = case.read()
    if not told.is_whole:
        raise LeftOut("the log cannot be read whole")
    if told.head.seq == 0:
        raise LeftOut("nothing was recorded yet")
    return case.lived()


async def look_at_signatures(case: Case) -> Looked:
    """Compare every signed point, key and signature with the log, and the log with every memory of it."""
    computer = _signed(case)

    def tell(done: int, total: int) -> None:
        case.progress("signatures", done, total)

    _check_memory(computer)
    try:
        result, _ = await verified(computer, progress=tell)
    except Rejected as error:
        return Looked([found("signatures.broken", error.message, where="the whole log")], "cannot be read")
    findings = [problem(one) for one in result.problems]
    return Looked(findings, f"signed points: {result.signed:,}, up to event {result.signed_until:,}")


def _check_memory(computer: Computer) -> None:
    """Raise LeftOut when something cannot be compared that another area names."""
    try:
        computer.parts.signer.remembered(computer.settings.user)
        for key in computer.settings.proof.witness_keys.split():
            parse_key(key)
    except (Corrupt, Rejected) as error:
        raise LeftOut(error.message) from error


def problem(one: Problem) -> Finding:
    """Return a problem of the verification as a finding of the area that it is about."""
    where = f"event {one.seq}" if one.seq else "the whole log"
    fix = f"{one.fix} Then run: choir doctor"
    if MEMORY in one.what:
        return found("keys.memory", one.what, where=where, fix=fix)
    if "The witness '" in one.what or "What The witness" in one.what:
        return found("witnesses.contradicts", one.what, where=where, fix=fix)
    return found("signatures.broken", one.what, where=where)


async def look_at_keys(case: Case) -> Looked:
    """Look whether the keys and what is remembered beside them can be read, by us alone."""
    parts = case.needed()
    settings = case.resolved.settings
    folder = Path(settings.proof.keys) if settings.proof.keys else case.data / "keys"
    findings: list[Finding] = []
    publics: list[bytes] | None = None
    remembered = None
    try:
        publics = parts.signer.publics()
        remembered = parts.signer.remembered(case.user)
    except ChoirError as error:
        where = str(folder / str(error.fields.get("file", "")))
        findings.append(found("keys.damaged", error.message, where=where))
    if publics is not None and case.computer is not None and case.is_log_whole and case.read().head.seq:
        key = await case.computer.proofs.key()
        if key is not None and key.public not in publics:
            what = f"The log is signed with {key}, of which only the public half is here."
            findings.append(found("keys.missing", what, where=str(folder)))
    if remembered == "" and case.computer is not None and case.is_log_whole and case.computer.proof.last():
        what = "The log is signed, and nothing of that is remembered beside the keys."
        findings.append(found("keys.forgotten", what, where=str(folder)))
    findings += _open_to_others(folder)
    return Looked(findings, f"private halves in {folder}: {len(publics or ())}")


def _open_to_others(folder: Path) -> list[Finding]:
    paths = [path for path in [folder, *sorted(folder.glob("*.key"))] if path.exists()]
    return [
        found(
            "keys.permissions", f"Its permissions are {stat.S_IMODE(path.stat().st_mode):o}.", where=str(path)
        )
        for path in paths
        if path.stat().st_mode & 0o077
    ]


async def look_at_witnesses(case: Case) -> Looked:
    """Ask each witness what it knows, and whether that is not long ago."""
    computer = _signed(case)
    findings: list[Finding] = []
    origin = await computer.proofs.origin()
    for witness in computer.parts.witnesses:
        try:
            note = await witness.newest(origin)
            size = parse_tree_head(parse_note(note).text).size if note else 0
        except ChoirError as error:
            findings.append(
                found("witnesses.unreachable", f"{error.message} {error.fix}", where=witness.name)
            )
            continue
        missed, last = computer.proof.first_over(size + 1), computer.proof.last()
        if missed is not None and last is not None and missed.size < last.size:
            what = f"It has seen {size} events, but {last.size} are signed."
            findings.append(found("witnesses.behind", what, where=witness.name))
    return Looked(findings, f"named in the settings: {len(computer.parts.witnesses)}")
