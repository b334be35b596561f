"""choir backup and restore: copies of everything on another disk, listed, tried, and brought back."""

from __future__ import annotations

from choiros.cli.arguments import Parser, WrongUsage, completes
from choiros.cli.call import Call
from choiros.cli.carried import BackupLine, RestoreSummary
from choiros.cli.direct.sentences import size
from choiros.cli.exits import DONE, FAILED
from choiros.cli.portable import show_imported
from choiros.cli.show import Paint, Screen, amount_of, moment
from choiros.cli.verb import Verb
from choiros.kernel.errors import Rejected


def _declare_backup(parser: Parser) -> None:
    parser.add_argument("--list", action="store_true", help="list the backups in the folder that is set")
    parser.add_argument(
        "--drill",
        action="store_true",
        help="restore the newest one in a place of its own, to see that it works",
    )


async def _backup(call: Call) -> int:
    wants_list, wants_drill = call.arguments.flag("list"), call.arguments.flag("drill")
    if wants_list and wants_drill:
        raise WrongUsage(
            "usage.bad_value", "'choir backup' can list or try, not both.", fix="Name one of them."
        )
    if wants_list:
        return await _list(call)
    return await (_drill(call) if wants_drill else _make(call))


async def _make(call: Call) -> int:
    with call.screen.progress() as progress:
        async with call.client(write=True) as client:
            done = await client.back_up(progress)
    if call.screen.json:
        call.screen.data(done)
        return DONE
    call.screen.line(f"Wrote and read back {done.file} ({size(done.size_bytes)}, up to event {done.seq:,}).")
    call.screen.line(Paint(f"SHA-256 {done.sha256}", "dim"))
    if done.removed:
        call.screen.line(f"Removed {amount_of(len(done.removed), 'older backup')}: {', '.join(done.removed)}")
    return DONE


async def _list(call: Call) -> int:
    async with call.client(write=False) as client:
        found = await client.backups()
    for line in found:
        if call.screen.json:
            call.screen.data(line)
        else:
            _show_line(call.screen, line)
    if not found:
        call.screen.note("There are no backups yet: 'choir backup' makes one.")
    return DONE


def _show_line(screen: Screen, line: BackupLine) -> None:
    tail: list[str | Paint] = []
    if line.error:
        tail = [Paint(f"  (failed when tried {moment(line.tried or 0)})", "red")]
    elif line.tried is not None:
        tail = [Paint(f"  (tried {moment(line.tried)})", "dim")]
    front = Paint(f"{moment(line.timestamp)}  {line.seq:>8}  {size(line.size_bytes):>9}", "dim")
    screen.row(front, "  ", line.file, tail=tail)


async def _drill(call: Call) -> int:
    with call.screen.progress() as progress:
        async with call.client(write=True) as client:
            found = await client.drill(progress)
    if call.screen.json:
        call.screen.data(found)
    elif found.ok:
        call.screen.line(
            f"{found.file} was restored in a place of its own: all is as it was at event {found.seq:,}."
        )
    else:
        call.screen.line(Paint(f"{found.file} cannot be restored: {found.reason}", "red"))
        call.screen.note("fix: 'choir backup' makes a new one; check the disk that this one is on.")
    return DONE if found.ok else FAILED


def _declare_restore(parser: Parser) -> None:
    completes(
        parser.add_argument("file", metavar="FILE", help="a backup, or what 'choir export' has written"),
        "file",
    )
    parser.add_argument("--preview", action="store_true", help="check the file, show what would happen")
    parser.add_argument("--yes", action="store_true", help="do it without asking")


async def _restore(call: Call) -> int:
    from choiros.cli.direct.arriving import check_same, restore_file, summarise

    file, screen = call.arguments.text("file"), call.screen
    if not (call.arguments.flag("yes") and not call.arguments.flag("preview")):
        with screen.progress() as progress:
            seen = await summarise(call.resolved, file, progress=progress)
        if call.arguments.flag("preview") or not screen.asks:
            return _only_shown(call, seen)
        _show_summary(screen, seen)
        if screen.ask("Restore this? What is there now is kept aside. [y/N]") not in {"y", "yes"}:
            screen.line("Nothing was changed.")
            return FAILED
        await check_same(call.resolved, seen)
    with screen.progress() as progress:
        found = await restore_file(call.resolved, file, progress=progress)
    return show_imported(screen, found)


def _only_shown(call: Call, seen: RestoreSummary) -> int:
    """Show what would happen; without --preview somebody would have to say yes first, and nobody can."""
    screen = call.screen
    if call.arguments.flag("preview"):
        if screen.json:
            screen.data(seen)
        else:
            _show_summary(screen, seen)
        return DONE
    refusal = Rejected(
        "confirm.needed",
        "Nothing was changed: this needs a yes, and there is no terminal to ask on.",
        fix="Add --yes to do it, or --preview to look only.",
    )
    if not screen.json:
        _show_summary(screen, seen)
    screen.trouble(refusal, FAILED, extra={"preview": seen})
    return FAILED


def _show_summary(screen: Screen, seen: RestoreSummary) -> None:
    events, contents = amount_of(seen.seq, "event"), amount_of(seen.contents, "content")
    screen.line(Paint(f"{seen.file} is whole: ", "bold"), f"{events} and {contents} of '{seen.user}'")
    if seen.now is None:
        screen.line("Nothing is there yet; it would be brought in.")
    elif seen.now.seq is None:
        screen.line(f"What is in {seen.now.place} cannot be read; it would be put aside as it is.")
    else:
        there = amount_of(seen.now.seq, "event")
        screen.line(f"What is in {seen.now.place} has {there}; all of it would be put aside, not removed.")


VERBS = {
    "backup": Verb(
        "Make a backup in the folder that the setting backup.directory names, and read it back.",
        ("choir backup", "choir backup --drill"),
        _backup,
        _declare_backup,
    ),
    "restore": Verb(
        "Bring back a backup, all of it checked before; what is there now is kept aside.",
        (
            "choir restore /media/disk/choir/choir-me-20261119T220000Z-120.tar --preview",
            "choir restore me.tar --yes",
        ),
        _restore,
        _declare_restore,
    ),
}
