"""Each workspace's folder compared with what the log says stands in it, and with what it was last seen to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from choiros.features.files.capture import leaving_out, looks_same
from choiros.features.files.ignore import Ignore
from choiros.kernel.errors import ChoirError, Conflict, Rejected
from choiros.kernel.path import parents
from choiros.wiring.doctor.case import Case, Looked, Measuring, is_there, place_of, placed
from choiros.wiring.doctor.finding import Finding, found

if TYPE_CHECKING:
    from choiros.features.files.view import Shown
    from choiros.kernel.tree import Entry, Stat, Tree
    from choiros.wiring.doctor.case import Standing

Drift = Literal["", "lacking", "behind", "unrecorded", "unseen"]


class Spot:
    """One path: what the log says stands there, what was last seen there, how it looks, and what it is."""

    __slots__ = ("found", "last", "look", "wanted")

    def __init__(
        self, wanted: Entry | None, last: Shown | None, *, look: Stat | None, found: Entry | None
    ) -> None:
        self.wanted = wanted
        self.last = last
        self.look = look
        self.found = found


def drift(spot: Spot) -> Drift:
    """Return how a path differs from what the log says, '' where it does not."""
    if spot.found == spot.wanted:
        return ""
    seen = spot.last.entry if spot.last else None
    if spot.look is None and spot.last is None:
        return "lacking"
    if looks_same(spot.look, spot.last) and spot.found != seen:
        return "unseen"
    return "behind" if spot.found == seen else "unrecorded"


WORDS: dict[Drift, str] = {
    "lacking": "The log says that {wanted} stands there, and there is nothing.",
    "behind": "The folder shows {found}, as before; the log says: {wanted}.",
    "unrecorded": "The folder shows {found} there, which is not recorded yet; the log says: {wanted}.",
    "unseen": "There is {found} of other content than was recorded, and its times say that nobody wrote it.",
}


async def look_at_workspaces(case: Case) -> Looked:
    """Compare the folder of every open workspace."""
    case.steady()
    findings: list[Finding] = []
    count = 0
    for standing in case.open_workspaces():
        name = standing.workspace.name
        if not is_there(standing.place):
            what = f"The folder of '{name}' is not there."
            if standing.workspace.folder is not None:
                what += " It is your own: if it lies on a disk that can be taken away, bring that disk back first."
            findings.append(found("workspaces.no_folder", what, where=standing.place, workspace=name))
            continue
        try:
            fresh, looked_at = await _one(case, standing)
        except ChoirError as error:
            what = f"The folder of '{name}' cannot be looked at: {error.message}"
            findings.append(found("workspaces.unreadable", what, where=standing.place, workspace=name))
            continue
        findings += fresh
        count += looked_at
    return Looked(findings, f"paths: {count:,}")


async def _one(case: Case, standing: Standing) -> tuple[list[Finding], int]:
    workspace, computer = standing.workspace, case.lived()
    tree, _ = case.needed().folder(workspace.id, workspace.folder)
    wanted = computer.files.below(workspace.id)
    reserved: dict[str, str] = {}
    looks, unkept = await tree.scan(leaving_out(wanted, await _ignore(case, workspace.id), reserved=reserved))
    shown = case.shown.all(workspace.id) if case.shown else {}
    findings: list[Finding] = []
    for number, path in enumerate(sorted({*wanted, *looks, *shown}), 1):
        look, last = looks.get(path), shown.get(path)
        if path in unkept or _is_hidden(path, unkept):
            continue
        is_known = last is not None and looks_same(look, last) and not case.deep
        try:
            entry = last.entry if last and is_known else await _read(case, tree, path=path, look=look)
        except (Rejected, Conflict) as reason:
            unkept[path] = reason.message
            continue
        spot = Spot(wanted.get(path), last, look=look, found=entry)
        if kind := drift(spot):
            findings.append(_named(kind, spot, standing=standing, path=path))
        case.progress("workspaces", number, len(looks))
    for path, reason in sorted({**unkept, **reserved}.items()):
        where = place_of(standing.place, path)
        what = f"{path}: {reason}"
        findings.append(found("workspaces.unkept", what, where=where, workspace=workspace.name, path=path))
    return findings, len(looks)


def _named(kind: Drift, spot: Spot, *, standing: Standing, path: str) -> Finding:
    what = WORDS[kind].format(wanted=placed(spot.wanted), found=placed(spot.found))
    where = place_of(standing.place, path)
    return found(f"workspaces.{kind}", what, where=where, workspace=standing.workspace.name, path=path)


async def _read(case: Case, tree: Tree, *, path: str, look: Stat | None) -> Entry | None:
    """Return what stands there now, by its content."""
    if look is None:
        return None
    entry, _ = await tree.take(path, Measuring(case.needed().blobs))
    return entry


async def _ignore(case: Case, workspace: str) -> Ignore:
    """Return what is left out; by the rules that hold everywhere when the workspace's own cannot be read."""
    try:
        return await case.lived().files_loader.ignore(workspace)
    except ChoirError:
        return Ignore("")


def _is_hidden(path: str, unkept: dict[str, str]) -> bool:
    """Return whether a path lies in a directory that cannot be listed: what was not seen is not gone."""
    return any(above in unkept for above in (".", *parents(path)))
