"""What a look at a computer finds: one thing that is not as it should be, with its place and its fix."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from choiros.wiring.doctor.kinds import KINDS, Severity

Worst = Literal["ok", "note", "warning", "broken", "skipped"]
_ORDER: tuple[Severity, ...] = ("note", "warning", "broken")


class Finding(Struct, frozen=True):
    """One thing that is not as it should be; `where` is a path, an event or a digest."""

    area: str
    code: str
    severity: Severity
    what: str
    where: str
    fix: str
    mends: bool
    """Whether `choir doctor --fix` mends it."""
    workspace: str = ""
    """The name of the workspace, where it is about one."""
    path: str = ""
    """The path inside that workspace."""


class Area(Struct, frozen=True):
    """One area that was looked at: how it stands, and in a few words what there is; or why it was left out."""

    name: str
    state: Worst
    summary: str


class Checkup(Struct, frozen=True):
    """Everything that was looked at and found."""

    areas: list[Area]
    findings: list[Finding]
    mended: list[str]
    """What was done before this look, in sentences."""
    is_sound: bool
    """Whether nothing is broken."""


def found(
    code: str,
    what: str,
    *,
    where: str = "",
    fix: str = "",
    mends: bool = True,
    workspace: str = "",
    path: str = "",
) -> Finding:
    """Return a finding of a known kind; `mends` is False where this one cannot be mended although others can."""
    kind = KINDS[code]
    words = fix or (kind.fix if mends or not kind.otherwise else kind.otherwise)
    return Finding(
        area=code.partition(".")[0],
        code=code,
        severity=kind.severity,
        what=what,
        where=where,
        fix=words.replace("{where}", shlex.quote(where)).replace("{workspace}", shlex.quote(workspace)),
        mends=mends and kind.mend != "",
        workspace=workspace,
        path=path,
    )


def area(name: str, findings: Iterable[Finding], *, summary: str) -> Area:
    """Return how an area stands after these findings."""
    own = {one.severity for one in findings if one.area == name}
    worst: Worst = "ok"
    for severity in _ORDER:
        worst = severity if severity in own else worst
    return Area(name, worst, summary)


def checkup(areas: Sequence[Area], findings: Sequence[Finding], *, is_log_whole: bool) -> Checkup:
    """Return everything together; what is made from the log is not promised from a log that cannot be read."""
    kept = [one if is_log_whole else _without_log(one) for one in findings]
    stands = [one if one.state == "skipped" else area(one.name, kept, summary=one.summary) for one in areas]
    return Checkup(stands, kept, [], all(one.severity != "broken" for one in kept))


def _without_log(one: Finding) -> Finding:
    if not one.mends or KINDS[one.code].mend in {"sweep", "contents"}:
        return one
    return Finding(
        one.area,
        one.code,
        one.severity,
        one.what,
        one.where,
        "Bring the log back first, from the newest backup: choir restore FILE; then: choir doctor --fix",
        mends=False,
        workspace=one.workspace,
        path=one.path,
    )
