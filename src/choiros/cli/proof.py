"""choir verify, prove, keys, witness: show that the log is what it was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from choiros.cli.arguments import NUMBER_DIGITS_MAX, Parser, WrongUsage, amount, completes
from choiros.cli.call import Call
from choiros.cli.exits import DONE, FAILED
from choiros.cli.show import Paint, amount_of
from choiros.cli.source import opened_source
from choiros.cli.verb import Verb
from choiros.kernel.errors import Rejected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from choiros.cli.client import Client, ProofMade, Verification
    from choiros.features.proof.note import Key

FILE_CHARACTERS_MAX = 8 << 20


def _declare_verify(parser: Parser) -> None:
    file = parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a proof file, instead of this computer's log"
    )
    completes(file, "file")
    parser.add_argument("--last", metavar="N", type=amount, help="only the newest N events")
    parser.add_argument("--range", metavar="A..B", help="only the events from A to B")
    parser.add_argument("--fast", action="store_true", help="only what came after the newest signature")
    parser.add_argument("--key", metavar="KEY", action="append", help="the key of the log that you trust")
    parser.add_argument(
        "--witness-key", metavar="KEY", action="append", help="the key of a witness that you trust"
    )
    content = parser.add_argument(
        "--content", metavar="PATH", help="a file that must be the one that is proved"
    )
    completes(content, "file")


async def _verify(call: Call) -> int:
    file = call.arguments.maybe("file")
    if file is not None:
        return await _verify_file(call, file)
    with call.screen.progress() as progress:
        async with call.client(write=False) as client:
            first, last = await _span(call, client)
            found = await client.verify(first, last, progress=progress)
    if call.screen.json:
        call.screen.data(found)
    else:
        _show_verification(call, found)
    return FAILED if found.problems else DONE


async def _span(call: Call, client: Client) -> tuple[int, int | None]:
    """Return the first and the last event that are wanted, None for the newest."""
    words, events = call.arguments, (await client.status()).events
    last, span = words.number("last"), words.maybe("range")
    if sum((last is not None, span is not None, words.flag("fast"))) > 1:
        raise WrongUsage(
            "usage.too_many", "--last, --range and --fast exclude each other.", fix="Give one of them."
        )
    if last is not None:
        return max(events - last + 1, 1), None
    if words.flag("fast"):
        return await client.unsigned_from(), None
    if span is None:
        return 1, None
    first, dots, end = span.partition("..")
    if not dots or not all(map(_is_number, (first, end))) or not 0 < int(first) <= int(end) <= events:
        raise WrongUsage(
            "usage.bad_value",
            f"'--range {span}' names no events of this log.",
            fix=f"Write it like --range 1..{max(events, 1)}.",
        )
    return int(first), int(end)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= NUMBER_DIGITS_MAX


def _show_verification(call: Call, found: Verification) -> None:
    screen = call.screen
    for seq, what, fix in found.problems:
        screen.line(Paint("broken: " if seq == 0 else f"broken at event {seq}: ", "red"), what)
        screen.line("  fix: ", fix)
    for reason in found.unasked:
        screen.note(Paint("not asked: ", "yellow"), reason)
    count = max(found.last - found.first + 1, 0)
    screen.line(
        f"{amount_of(count, 'event')} from {found.first} to {found.last}: the chain "
        + ("holds." if not found.problems else "holds, but what is said about it elsewhere does not.")
    )
    screen.line(f"Tree of {found.last:,} events: {found.root}")
    seen = f", and {amount_of(found.claims, 'memory')} of it elsewhere" if found.claims == 1 else ""
    seen = f", and {found.claims} memories of it elsewhere" if found.claims > 1 else seen
    screen.line(f"Compared with {amount_of(found.signed, 'signature')} in the log{seen}.")
    if found.witnessed:
        screen.line(f"{amount_of(found.witnessed, 'signature')} of witnesses checked.")
    if found.signed:
        screen.line(f"Signed up to event {found.signed_until:,}; what follows hangs on it by its chain.")
    if not found.signed and not found.claims:
        screen.line("Nothing vouches for these events but their own chain: 'choir keys sign' signs the log.")


async def _verify_file(call: Call, file: str) -> int:
    from choiros.features.proof.note import parse_key
    from choiros.features.proof.prove import check_proof, parse_proof
    from choiros.wiring import verify_signature

    proof = parse_proof(_text_of(file))
    keys = [parse_key(key) for key in call.arguments.texts("key")] or await _own_keys(call)
    witnesses = [parse_key(key) for key in call.arguments.texts("witness_key")]
    proven = check_proof(proof, keys=keys, witnesses=witnesses, verify=verify_signature)
    content = call.arguments.maybe("content")
    matches = None if content is None else _check_content(content, bytes(proven.payload or b""))
    if call.screen.json:
        call.screen.data(proven)
        return DONE
    screen = call.screen
    screen.line(Paint("The proof holds.", "green"))
    screen.line(f"Event {proven.seq} of {proven.origin}, whose first {proven.size:,} events were signed by")
    screen.line(f"  {proven.signed_by}")
    for name in proven.witnesses:
        screen.line(f"Witnessed by {name}.")
    for name in proven.unknown:
        screen.note(Paint("not checked: ", "yellow"), f"a signature of {name}, whose key was not given")
    if matches:
        screen.line(matches)
    screen.line("head:    ", bytes(proven.head).decode())
    erased = "(erased; that it was there is proved)"
    screen.line("payload: ", erased if proven.payload is None else bytes(proven.payload).decode())
    return DONE


def _text_of(file: str) -> str:
    try:
        with Path(file).open(encoding="utf-8") as stream:
            return stream.read(FILE_CHARACTERS_MAX)
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(
            "proof.no_file",
            f"'{file}' cannot be read as a proof file: {error}.",
            fix="Name a file that 'choir prove' made.",
            file=file,
        ) from error


async def _own_keys(call: Call) -> Sequence[Key]:
    """Return the keys of this computer's own log; where there is none yet, none is made."""
    from choiros.features.proof.note import parse_key

    settings = call.resolved
    if not (settings.home / "users" / settings.settings.user).is_dir():
        return []
    async with call.client(write=False) as client:
        return [parse_key(key) for key in (await client.key_state()).keys]


def _check_content(path: str, payload: bytes) -> str:
    """Return a sentence about a file that is the one of the proof; raises Rejected (`proof.other_content`)."""
    import hashlib

    try:
        with Path(path).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise Rejected(
            "proof.no_file", f"'{path}' cannot be read: {error}.", fix="Name a file that you may read."
        ) from error
    if digest.encode() not in payload:
        raise Rejected(
            "proof.other_content",
            f"The proof holds, but it is not about the content of '{path}' (SHA-256 {digest}).",
            fix="Compare the file with the one that the event names.",
            digest=digest,
        )
    return f"'{path}' is the content that this event names."


def _declare_prove(parser: Parser) -> None:
    parser.add_argument("what", metavar="SEQ|PATH", help="an event, or the newest event that changed a file")
    output = parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write it; else it is printed"
    )
    completes(output, "file")


async def _prove(call: Call) -> int:
    what, output = call.arguments.text("what"), call.arguments.maybe("output")
    async with call.client(write=True) as client:
        if _is_number(what):
            made = await client.prove(int(what))
        else:
            made = await client.prove((await call.place(client)).path(what))
    if output is not None:
        _write(output, made)
    if call.screen.json:
        call.screen.data(made)
        return DONE
    if output is None:
        call.screen.text(made.text)
        return DONE
    call.screen.line(f"Proof of event {made.seq} written to {output}.")
    call.screen.line("Whoever has this key can check it, with 'choir verify' or examples/check_proof.py:")
    call.screen.line(f"  {made.key}")
    return DONE


def _write(output: str, made: ProofMade) -> None:
    try:
        Path(output).write_text(made.text, encoding="utf-8")
    except OSError as error:
        raise Rejected(
            "proof.not_written",
            f"The proof cannot be written to '{output}': {error.strerror}.",
            fix="Name a file in a directory that you may write.",
            file=output,
        ) from error


async def _keys(call: Call) -> int:
    async with call.client(write=False) as client:
        found = await client.key_state()
    screen = call.screen
    if screen.json:
        screen.data(found)
        return DONE
    if found.key is None:
        screen.line("The log is not signed yet; 'choir keys sign' signs it now.")
        return DONE
    screen.fields(
        [
            ("log", found.origin),
            ("key", found.key),
            ("as witness", found.witness_key or ""),
            (
                "private half",
                "here" if found.is_here else "MISSING: 'choir keys rotate' goes on with a new one",
            ),
            ("signed", f"{found.signed:,} of {found.events:,} events"),
        ]
    )
    for one in found.witnesses:
        state = one.error or (f"has seen {one.size:,} events" if one.size else "has seen nothing yet")
        screen.line(Paint("witness ", "dim"), one.name, ": ", state)
    return DONE


async def _sign(call: Call) -> int:
    async with call.client(write=True) as client:
        return await call.settle(await client.sign())


async def _rotate(call: Call) -> int:
    async with call.client(write=True) as client:
        return await call.settle(await client.rotate_key())


def _declare_witness(parser: Parser) -> None:
    parser.add_argument(
        "--trust", metavar="KEY", help="be a witness for the log that is signed with this key"
    )
    parser.add_argument(
        "--newest", metavar="LOG", help="print the newest point of a log that was signed here"
    )


async def _witness(call: Call) -> int:
    trust, newest = call.arguments.maybe("trust"), call.arguments.maybe("newest")
    async with call.client(write=True) as client:
        if trust is not None:
            return await call.settle(await client.trust_log(trust))
        if newest is not None:
            name, text = "note", await client.witnessed(newest)
        else:
            name, text = "signatures", await client.witness(await _request(call))
    if call.screen.json:
        call.screen.data({name: text})
    else:
        call.screen.text(text)
    return DONE


async def _request(call: Call) -> str:
    with opened_source(None, call.screen) as source:
        raw = b"".join([chunk async for chunk in source.chunks()])
    try:
        return raw[:FILE_CHARACTERS_MAX].decode()
    except UnicodeDecodeError as error:
        raise Rejected(
            "proof.bad_note", "The request is not UTF-8.", fix="Send it as the other computer made it."
        ) from error


VERBS = {
    "verify": Verb(
        "Check that the log is what it was: its chain, its tree, every signature, and what witnesses remember. "
        "With FILE, check a proof that somebody else made.",
        ("choir verify", "choir verify notes.tlog-proof --key KEY --content notes.md"),
        _verify,
        _declare_verify,
    ),
    "prove": Verb(
        "Write a proof that an event is in the log, for somebody who has nothing but your key.",
        ("choir prove 12 -o twelve.tlog-proof", "choir prove notes.md -o notes.tlog-proof"),
        _prove,
        _declare_prove,
    ),
    "keys": Verb(
        "Show the key that the log is signed with, how far it is signed, and what witnesses say.",
        ("choir keys", "choir keys rotate"),
        _keys,
        default_act="show",
        acts={
            "show": Verb(
                "Show the key, how far the log is signed, and what witnesses say.",
                ("choir keys", "choir keys show --json"),
                _keys,
            ),
            "sign": Verb("Sign the log now.", ("choir keys sign", "choir keys sign --json"), _sign),
            "rotate": Verb(
                "Sign with a new key from now on; the old one vouches for it.",
                ("choir keys rotate", "choir keys rotate --json"),
                _rotate,
            ),
        },
    ),
    "witness": Verb(
        "Be a witness for the log of another computer: read its request, print this computer's signature.",
        ("choir witness --trust KEY", "choir witness --newest choiros/anna/0123456789abcdef"),
        _witness,
        _declare_witness,
    ),
}
