"""choir watch, rebuild, gc: record edits made outside, derive everything again, remove leftovers."""

from __future__ import annotations

from choiros.cli.arguments import Parser
from choiros.cli.call import Call, show_changed
from choiros.cli.direct.sentences import size
from choiros.cli.exits import DONE
from choiros.cli.log import show_line
from choiros.cli.show import Paint, amount_of
from choiros.cli.verb import Verb


async def _watch(call: Call) -> int:
    async with call.client(write=True) as client:
        status = await client.status()
        call.screen.note(f"Watching {status.folder}. Ctrl-C ends it (exit code 130).")
        async for changed in client.watch():
            if call.screen.json:
                show_changed(call.screen, changed)
            for line in () if call.screen.json else changed.lines:
                show_line(call.screen, line)
            for warning in changed.warnings:
                call.screen.note(Paint("warning: ", "yellow"), warning)
            call.screen.flush()
    return DONE


def _declare_rebuild(parser: Parser) -> None:
    parser.add_argument(
        "--full", action="store_true", help="read the whole log, not only what is newer than the snapshot"
    )


async def _rebuild(call: Call) -> int:
    async with call.client(write=True) as client:
        found = await client.rebuild(full=call.arguments.flag("full"))
    if call.screen.json:
        call.screen.data(found)
        return DONE
    start = f"the snapshot at event {found.snapshot}" if found.snapshot else "the beginning"
    call.screen.line(f"Rebuilt up to event {found.seq:,} from {start}.")
    differed = (
        f"was not what the log gives: {', '.join(found.differed)}"
        if found.differed
        else "was as the log gives it"
    )
    call.screen.line(f"What was there before {differed}.")
    if found.files_restored:
        call.screen.line(f"{amount_of(found.files_restored, 'file')} in the folders restored.")
    for path, reason in sorted(found.unkept.items()):
        call.screen.note(Paint("not kept: ", "yellow"), f"{path}: {reason}")
    return DONE


def _declare_gc(parser: Parser) -> None:
    parser.add_argument("--preview", action="store_true", help="only tell what would be removed")


async def _gc(call: Call) -> int:
    async with call.client(write=True) as client:
        found = await client.collect(preview=call.arguments.flag("preview"))
    if call.screen.json:
        call.screen.data(found)
        return DONE
    words = "Would remove" if found.preview else "Removed"
    amount = amount_of(found.contents, "stored content")
    call.screen.line(f"{words} {amount} that no event names ({size(found.size_bytes)}).")
    return DONE


VERBS = {
    "watch": Verb(
        "Record what other programs change in the workspace, as it happens, until Ctrl-C.",
        ("choir watch", "choir watch --workspace garden --json"),
        _watch,
    ),
    "rebuild": Verb(
        "Make everything that is derived again from the log and the stored contents.",
        ("choir rebuild", "choir rebuild --full"),
        _rebuild,
        _declare_rebuild,
    ),
    "gc": Verb(
        "Remove stored contents that no event names.", ("choir gc --preview", "choir gc"), _gc, _declare_gc
    ),
}
