"""Every verb of the command line with the module it lives in, and the overview that 'choir help' prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import cast

from choiros.cli.arguments import WrongUsage, nearest
from choiros.cli.verb import Verb

ROOMS = {
    "up": "up",
    "status": "status",
    "log": "log",
    "show": "log",
    "why": "why",
    "files": "files",
    "cat": "files",
    "diff": "diff",
    "at": "at",
    "write": "changes",
    "edit": "changes",
    "mkdir": "changes",
    "ln": "changes",
    "chmod": "changes",
    "mv": "changes",
    "rm": "changes",
    "undo": "undo",
    "redo": "undo",
    "checkpoint": "checkpoints",
    "checkpoints": "checkpoints",
    "workspaces": "workspaces",
    "approvals": "approvals",
    "verify": "proof",
    "prove": "proof",
    "keys": "proof",
    "witness": "proof",
    "watch": "upkeep",
    "doctor": "doctor",
    "rebuild": "upkeep",
    "gc": "upkeep",
    "backup": "backups",
    "restore": "backups",
    "export": "portable",
    "import": "portable",
    "config": "config",
    "completion": "completion",
    "help": "help",
}

OVERVIEW = """\
usage: choir [OPTIONS] VERB ...      'choir help VERB' tells all about one

start    up                  a first tour, three minutes
         status, config      the computer at a glance; all settings
look     log, show, why      what happened; one event; who wrote each line
         files, cat, diff    what is there, now or back then; what differs
         at                  look at everything as it was right after an event
change   write, edit         write a file; replace text in it
         mv, rm, mkdir       move, remove, make a directory
         ln, chmod           make a link, set permissions
         watch               record what other programs change, as it happens
go back  undo, redo          take back the last change, a run, an event ...
         checkpoint(s)       name this state; list, compare, restore, push
arrange  workspaces          several folders: new, add, use, rename, archive, rm
         approvals           questions that wait for a person
prove    verify, prove       check the log; show one event to somebody else
         keys, witness       who signs the log; be a witness for another one
keep     backup, restore     copies on another disk: make, list, try, bring back
         export, import      everything in one file; bring it in elsewhere
repair   doctor, rebuild, gc name what is wrong, mend it; derive all again; tidy
shell    completion, help    complete words in bash and zsh; this page

options of every verb:  --json  --user ID  --workspace NAME  --home DIR
                        --set KEY=VALUE  --no-color  --debug"""


def load(name: str) -> Verb:
    """Return a verb; raises WrongUsage (`usage.unknown_verb`)."""
    room = ROOMS.get(name)
    if room is None:
        raise unknown(name, "choir", known=ROOMS)
    return cast("Mapping[str, Verb]", import_module(f"choiros.cli.{room}").VERBS)[name]


def unknown(name: str, program: str, *, known: Iterable[str]) -> WrongUsage:
    """Return the error for a word that is no verb here."""
    if " " in name.strip():
        fix = f"There is no agent yet that could work on that; '{program} --help' lists what there is."
        return WrongUsage("usage.unknown_verb", f"'{name}' is no verb.", fix=fix)
    near = nearest(name, known)
    hint = f"Did you mean '{program} {near}'?" if near else f"'{program} --help' lists what there is."
    return WrongUsage("usage.unknown_verb", f"'{program}' has no verb '{name}'.", fix=hint)
