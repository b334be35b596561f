"""choir workspaces: several folders of files, one of which is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from choiros.cli.arguments import Parser, completes
from choiros.cli.call import Call
from choiros.cli.client import Client, WorkspaceLine
from choiros.cli.confirm import Plan, carry_out, declare_confirmation
from choiros.cli.exits import DONE
from choiros.cli.show import Paint, Screen, amount_of
from choiros.cli.verb import Run, Verb
from choiros.cli.verbs import nearest
from choiros.kernel.errors import Rejected

Act = Literal["new", "add", "use", "rename", "archive", "open", "rm"]


def _declare_name(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the workspace")


async def _list(call: Call) -> int:
    async with call.client(write=False) as client:
        found = await client.workspaces()
    if call.screen.json:
        for line in found:
            call.screen.data(line)
        return DONE
    width = max((len(line.name) for line in found), default=0)
    for line in found:
        mark = Paint("* ", "green") if line.current else "  "
        state = Paint(f"  ({line.state})", "yellow") if line.state != "open" else ""
        name = Paint(f"{line.name:<{width}}", "bold")
        call.screen.line(mark, name, f"  {amount_of(line.files, 'path'):>12}  ", line.folder, state)
    return DONE


def _plain(act: Literal["new", "use", "archive", "open"]) -> Run:
    """Return what carries out an act that needs nothing but the name."""

    async def run(call: Call) -> int:
        return await _change(call, act, name=call.arguments.text("name"))

    return run


async def _change(call: Call, act: Act, *, name: str, argument: str | None = None) -> int:
    async with call.client(write=True) as client:
        answer = await client.change_workspace(act, name, argument=argument)
    return await call.settle(answer)


def _declare_add(parser: Parser) -> None:
    completes(
        parser.add_argument("folder", metavar="PATH", help="a folder that you already have"), "directory"
    )
    parser.add_argument("--name", metavar="NAME", help="how to call it (the name of the folder)")


async def _add(call: Call) -> int:
    folder = _existing(call.arguments.text("folder"))
    name = call.arguments.maybe("name") or folder.name
    return await _change(call, "add", name=name, argument=str(folder))


def _existing(text: str) -> Path:
    folder = Path(text).expanduser().absolute()
    if not folder.is_dir():
        raise Rejected(
            "workspaces.no_folder",
            f"'{folder}' is not a folder.",
            fix="Name a folder that exists, or make a new workspace: choir workspaces new NAME.",
            folder=str(folder),
        )
    return folder.resolve()


def _declare_rename(parser: Parser) -> None:
    _declare_name(parser)
    parser.add_argument("new", metavar="NEW", help="its new name")


async def _rename(call: Call) -> int:
    return await _change(
        call, "rename", name=call.arguments.text("name"), argument=call.arguments.text("new")
    )


def _declare_rm(parser: Parser) -> None:
    _declare_name(parser)
    declare_confirmation(parser)


async def _rm(call: Call) -> int:
    name = call.arguments.text("name")
    plan = Plan[WorkspaceLine](
        preview=lambda client: _named(client, name),
        show=_show_removal,
        act=lambda client: client.change_workspace("rm", name, argument=None),
        question="Remove this workspace?",
    )
    return await carry_out(call, plan)


async def _named(client: Client, name: str) -> WorkspaceLine:
    lines = await client.workspaces()
    for line in lines:
        if line.name == name and line.state != "removed":
            return line
    near = nearest(name, [line.name for line in lines if line.state != "removed"])
    raise Rejected(
        "workspaces.unknown",
        f"There is no workspace '{name}'.",
        fix=f"Did you mean '{near}'?" if near else "'choir workspaces' lists them.",
        workspace=name,
    )


def _show_removal(screen: Screen, line: WorkspaceLine) -> None:
    screen.line(f"This removes the workspace '{line.name}' with {amount_of(line.files, 'path')}.")
    screen.line(f"Its folder: {line.folder}")
    screen.line(
        "A folder that ChoirOS made is emptied of what the log keeps; one of your own stays as it is."
    )
    screen.line(f"The log keeps everything: 'choir workspaces open {line.name}' brings it back.")


def _verb(sentence: str, act: Literal["new", "use", "archive", "open"]) -> Verb:
    example = f"choir workspaces {act} garden"
    return Verb(sentence, (example, f"{example} --json"), _plain(act), _declare_name)


ACTS = {
    "list": Verb(
        "List the workspaces; a star marks the one in use.",
        ("choir workspaces", "choir workspaces list --json"),
        _list,
    ),
    "new": _verb("Make a new, empty workspace.", "new"),
    "add": Verb(
        "Make a workspace of a folder that you already have.",
        ("choir workspaces add ~/notes", "choir workspaces add . --name website"),
        _add,
        _declare_add,
    ),
    "use": _verb("Work in this workspace from now on.", "use"),
    "rename": Verb(
        "Give a workspace another name; its folder keeps its place.",
        ("choir workspaces rename garden allotment", "choir workspaces rename garden allotment --json"),
        _rename,
        _declare_rename,
    ),
    "archive": _verb("Put a workspace away: nothing in it changes until it is opened again.", "archive"),
    "open": _verb("Bring an archived or removed workspace back.", "open"),
    "rm": Verb(
        "Remove a workspace; the log keeps everything, and 'choir workspaces open' brings it back.",
        ("choir workspaces rm garden --preview", "choir workspaces rm garden --yes"),
        _rm,
        _declare_rm,
    ),
}

VERBS = {
    "workspaces": Verb(
        "List and arrange workspaces: folders of files, each with its own undo.",
        ("choir workspaces", "choir workspaces new garden"),
        _list,
        acts=ACTS,
        default_act="list",
    )
}
