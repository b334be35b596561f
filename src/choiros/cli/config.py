"""choir config: every setting with its origin, and a new value for one; the data is not opened."""

from __future__ import annotations

from choiros import settings
from choiros.cli.arguments import Parser, nearest
from choiros.cli.call import Call
from choiros.cli.exits import DONE
from choiros.cli.show import Paint
from choiros.cli.verb import Verb
from choiros.kernel.errors import Rejected
from choiros.settings import Resolved

HOME = "home"
"""Where everything is kept, the settings file too; it has an origin like a setting."""


def _declare(parser: Parser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="one setting")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="its new value, kept in choiros.toml")


def _config(call: Call) -> int:
    key, value = call.arguments.maybe("key"), call.arguments.maybe("value")
    if key is not None:
        _check_key(key, writes=value is not None)
    if key is not None and value is not None:
        settings.set_in_file(call.resolved, key, value=value)
        fresh = settings.resolve({"home": str(call.resolved.home)})
        _print_one(call, fresh, key=key)
        if fresh.origins[key] != "file":
            call.screen.note(
                Paint("note: ", "yellow"), f"the {fresh.origins[key]} gives another value, which wins."
            )
    elif key is not None:
        _print_one(call, call.resolved, key=key)
    else:
        _print_all(call)
    return DONE


def _check_key(key: str, *, writes: bool) -> None:
    known = [*settings.keys(), HOME]
    if key == HOME and writes:
        raise Rejected(
            "config.not_editable",
            "Where everything is kept cannot be told by a file that is kept there.",
            fix="Give --home DIR with each call, or set CHOIR_HOME.",
            key=key,
        )
    if key in known:
        return
    near = nearest(key, known)
    raise Rejected(
        "config.unknown_key",
        f"There is no setting '{key}'.",
        fix=f"Did you mean '{near}'?" if near else "'choir config' lists all settings.",
        key=key,
    )


def _print_one(call: Call, resolved: Resolved, *, key: str) -> None:
    value, origin = _values(resolved)[key], resolved.origins[key]
    if call.screen.json:
        call.screen.data({"key": key, "value": value, "origin": origin})
    else:
        call.screen.line(_shown(value))


def _values(resolved: Resolved) -> dict[str, settings.Plain]:
    return {HOME: str(resolved.home), **settings.flat(resolved.settings)}


def _print_all(call: Call) -> None:
    resolved = call.resolved
    values = _values(resolved)
    if call.screen.json:
        found = {key: {"value": value, "origin": resolved.origins[key]} for key, value in values.items()}
        call.screen.data({"home": str(resolved.home), "file": str(resolved.file), "settings": found})
        return
    width = max(map(len, values))
    shown = {key: _shown(value) for key, value in values.items()}
    column = max(len(text) for key, text in shown.items() if key != HOME)
    for key in sorted(shown):
        call.screen.line(f"{key:<{width}}  {shown[key]:<{column}}  ", Paint(resolved.origins[key], "dim"))
    call.screen.note(Paint(f"kept in {resolved.file}", "dim"))


def _shown(value: settings.Plain) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


VERBS = {
    "config": Verb(
        "Show every setting with its origin, show one, or change one.",
        ("choir config", "choir config checkpoints.minutes_max 10"),
        _config,
        _declare,
    )
}
