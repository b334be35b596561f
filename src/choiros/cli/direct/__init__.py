"""The client that opens the data directory itself, under the lock; for as long as there is no server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.cli.direct.carrying import Carrying
from choiros.cli.direct.opened import tell
from choiros.cli.direct.points import Points
from choiros.cli.direct.proofs import Proofs
from choiros.cli.direct.upkeep import Upkeep
from choiros.cli.direct.writes import Writes
from choiros.features.workspaces.view import Workspace, unknown
from choiros.wiring import Computer, disk_parts, open_computer

if TYPE_CHECKING:
    from choiros.settings import Resolved


class DirectClient(Writes, Points, Proofs, Carrying, Upkeep):
    """Answers every question of the command line from the data directory."""


async def connect(resolved: Resolved, *, workspace: str | None, write: bool) -> DirectClient:
    """Open a person's computer; `workspace` is the name of the one that is meant, None for the current one.

    Raises Rejected (`workspaces.unknown`), Unavailable (`lock.held`) and Corrupt.
    """
    computer = await open_computer(disk_parts(resolved), resolved.settings, write=write, notice=tell)
    try:
        return DirectClient(computer, resolved, workspace=_chosen(computer, workspace))
    except BaseException:
        await computer.close()
        raise


def _chosen(computer: Computer, name: str | None) -> Workspace:
    found = computer.workspaces.current() if name is None else computer.workspaces.named(name)
    if found is None:
        raise unknown(name or "main")
    return found
