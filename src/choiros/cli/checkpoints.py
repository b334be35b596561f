"""choir checkpoint and choir checkpoints: name the present state, compare, restore, send it elsewhere."""

from __future__ import annotations

from pathlib import Path

from choiros.cli.arguments import Parser, amount, event_number
from choiros.cli.call import Call
from choiros.cli.client import CheckpointLine, Client, GitState, RestorePreview
from choiros.cli.confirm import Plan, carry_out, declare_confirmation
from choiros.cli.diff import in_words, show_differences
from choiros.cli.exits import DONE
from choiros.cli.show import Paint, Screen, amount_of, moment
from choiros.cli.verb import Verb

LINES = 20
BRANCH = "main"


def _declare_checkpoint(parser: Parser) -> None:
    parser.add_argument(
        "message", metavar="MESSAGE", nargs="?", default="Checkpoint", help="what this state is"
    )


async def _checkpoint(call: Call) -> int:
    async with call.client(write=True) as client:
        await call.place(client)
        answer = await client.checkpoint(call.arguments.text("message"))
        newest = await client.checkpoints(1)
    status = await call.settle(answer)
    if newest and newest[0].commit and not call.screen.json:
        call.screen.line(f"        commit {newest[0].commit}")
    return status


def _declare_list(parser: Parser) -> None:
    parser.add_argument(
        "-n", dest="count", metavar="N", type=amount, default=LINES, help=f"how many ({LINES})"
    )


async def _list(call: Call) -> int:
    async with call.client(write=False) as client:
        found = await client.checkpoints(call.arguments.number("count") or LINES)
    for line in found:
        if call.screen.json:
            call.screen.data(line)
        else:
            _show_line(call.screen, line)
    if not found:
        call.screen.note("There are no checkpoints yet: 'choir checkpoint MESSAGE' makes one.")
    return DONE


def _show_line(screen: Screen, line: CheckpointLine) -> None:
    commit = Paint(f"{(line.commit or '-')[:10]:<10}", "yellow" if line.commit else "dim")
    failed = Paint(f"  no commit: {line.error}", "red") if line.error else ""
    made = Paint("  (automatic)", "dim") if line.automatic else ""
    screen.row(
        Paint(f"{line.seq:>6}  {moment(line.timestamp)}", "dim"),
        "  ",
        commit,
        "  ",
        line.message,
        made,
        failed,
    )


async def _status(call: Call) -> int:
    async with call.fresh_client() as client:
        await call.place(client)
        found = await client.git_state()
    if call.screen.json:
        call.screen.data(found)
    else:
        _show_state(call.screen, found)
    return DONE


def _show_state(screen: Screen, found: GitState) -> None:
    if found.last is None:
        screen.line(f"The workspace '{found.workspace}' has no checkpoint yet.")
    else:
        screen.line(f"The newest checkpoint of '{found.workspace}':")
        _show_line(screen, found.last)
    if found.changes:
        screen.line(Paint(f"{amount_of(len(found.changes), 'path')} changed since then:", "bold"))
    for one in found.changes:
        screen.row("  ", in_words(one))
    for path, reason in sorted(found.unkept.items()):
        screen.note(Paint("not kept: ", "yellow"), f"{path}: {reason}")


def _declare_diff(parser: Parser) -> None:
    parser.add_argument("seq", metavar="SEQ", type=event_number, help="the number of the checkpoint")


async def _diff(call: Call) -> int:
    async with call.fresh_client() as client:
        await call.place(client)
        found = await client.diff(call.arguments.number("seq"), None, path=None)
    show_differences(call.screen, found)
    if not found:
        call.screen.note("Nothing differs.")
    return DONE


def _declare_restore(parser: Parser) -> None:
    parser.add_argument("commit", metavar="SEQ|COMMIT", help="the number of the checkpoint, or a commit")
    declare_confirmation(parser)


async def _restore(call: Call) -> int:
    commit = call.arguments.text("commit")

    async def preview(client: Client) -> RestorePreview:
        await call.place(client)
        return await client.preview_restore(commit)

    plan = Plan[RestorePreview](
        preview=preview,
        show=_show_restore,
        act=lambda client: client.restore(commit),
        question="Restore this? The present state is kept as a checkpoint first.",
    )
    return await carry_out(call, plan)


def _show_restore(screen: Screen, preview: RestorePreview) -> None:
    if not preview.changes:
        screen.line("The files are just as in this checkpoint.")
        return
    screen.line(
        Paint(f"Restoring {preview.commit} changes {amount_of(len(preview.changes), 'path')}:", "bold")
    )
    for one in preview.changes:
        screen.row("  ", in_words(one))


def _declare_push(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", help="the other repository")
    parser.add_argument("--branch", metavar="B", default=BRANCH, help=f"the branch there ({BRANCH})")


async def _push(call: Call) -> int:
    async with call.client(write=True) as client:
        await call.place(client)
        answer = await client.push(_address(call.arguments.text("url")), call.arguments.text("branch"))
    return await call.settle(answer)


def _address(url: str) -> str:
    """Return the address as another process understands it: a path is meant from where the person is."""
    if "://" in url or not (url.startswith((".", "~", "/")) or Path(url).exists()):
        return url
    return str(Path(url).expanduser().resolve())


ACTS = {
    "list": Verb(
        "List the newest checkpoints.",
        ("choir checkpoints", "choir checkpoints list -n 100 --json"),
        _list,
        _declare_list,
    ),
    "status": Verb(
        "Show what has changed since the newest checkpoint.",
        ("choir checkpoints status", "choir checkpoints status --json"),
        _status,
    ),
    "diff": Verb(
        "Show what has changed since a checkpoint.",
        ("choir checkpoints diff 120", "choir checkpoints diff 120 --json"),
        _diff,
        _declare_diff,
    ),
    "restore": Verb(
        "Bring the files of a checkpoint back; it can be undone, and the present state is kept first.",
        ("choir checkpoints restore 120 --preview", "choir checkpoints restore 4f3a2b1c --yes"),
        _restore,
        _declare_restore,
    ),
    "push": Verb(
        "Send the newest commit to another repository; a person must allow it.",
        (
            "choir checkpoints push ../backup.git",
            "choir checkpoints push ssh://git@example.org/me/notes.git --branch laptop",
        ),
        _push,
        _declare_push,
    ),
}

VERBS = {
    "checkpoint": Verb(
        "Give the present state a name and commit it.",
        ("choir checkpoint", "choir checkpoint 'Before the move'"),
        _checkpoint,
        _declare_checkpoint,
    ),
    "checkpoints": Verb(
        "List, compare, restore and send checkpoints.",
        ("choir checkpoints", "choir checkpoints restore 120 --preview"),
        _list,
        acts=ACTS,
        default_act="list",
    ),
}
