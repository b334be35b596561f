"""choir status: the computer at a glance."""

from __future__ import annotations

from choiros.cli.call import Call
from choiros.cli.exits import DONE
from choiros.cli.show import amount_of
from choiros.cli.verb import Verb

STATES = {
    "ready": "ready",
    "behind": "behind the log: 'choir rebuild' brings it up",
    "read-only": "read-only, because the log is not what it was: 'choir verify' tells where",
}


async def _status(call: Call) -> int:
    async with call.client(write=False) as client:
        found = await client.status()
    screen = call.screen
    if screen.json:
        screen.data(found)
        return DONE
    waiting = found.pending_approvals
    approvals = f"{amount_of(waiting, 'request')} waiting: 'choir approvals'" if waiting else "none waiting"
    state = STATES[found.state]
    screen.fields(
        [
            ("user", found.user),
            ("home", found.home),
            ("workspace", found.workspace),
            ("folder", found.folder),
            ("events", f"{found.events:,}"),
            ("approvals", approvals),
            ("state", state),
        ]
    )
    return DONE


VERBS = {
    "status": Verb(
        "Show the computer at a glance: whose it is, where it is kept, what waits.",
        ("choir status", "choir status --workspace garden --json"),
        _status,
    )
}
