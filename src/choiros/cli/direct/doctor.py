"""Looks at a data directory as it lies there, and never ends because of what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.cli.errors import explained
from choiros.kernel.errors import Rejected
from choiros.settings import fallback, resolve
from choiros.wiring import disk_parts
from choiros.wiring.doctor import AREAS, Area, Case, checkup, examination, found, look_at, mend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from choiros.settings import Resolved
    from choiros.wiring.doctor import Checkup, Progress


class DirectDoctor:
    """Looks at the computer that the options of a call, the environment and the settings file mean."""

    def __init__(self, flags: Mapping[str, str], environment: Mapping[str, str] | None = None) -> None:
        self._refusal: Rejected | None = None
        try:
            self._resolved: Resolved = resolve(flags, environment)
        except Rejected as refusal:
            self._refusal = refusal
            self._resolved = fallback(flags, environment)

    async def examine(self, *, deep: bool, progress: Progress) -> Checkup:
        """Return everything that was looked at and found."""
        async with examination(self._resolved, deep=deep, progress=progress) as case:
            if self._refusal is not None:
                refused = self._refusal
                where = str(self._resolved.file)
                case.findings.append(found("settings.refused", refused.message, where=where, fix=refused.fix))
            for name in AREAS:
                await _looked_at(case, name)
            is_log_whole = case.is_log_whole or case.nothing_yet
            return checkup(case.areas, case.findings, is_log_whole=is_log_whole)

    async def mend(self, seen: Checkup) -> list[str]:
        """Mend what can be mended, in the order in which one thing needs the other."""
        if self._refusal is not None:
            # With the defaults it might be another person's data that is changed.
            raise self._refusal
        return await mend(disk_parts(self._resolved), self._resolved.settings, findings=seen.findings)


async def _looked_at(case: Case, name: str) -> None:
    """Look at an area; a fault that nobody foresaw is a finding as well, and the next area is looked at."""
    try:
        await look_at(case, name)
    except Exception as error:
        trouble = explained(error)
        what = f"The area '{name}' could not be looked at: {trouble.message}"
        case.findings.append(found("doctor.failed", what, where=name, fix=trouble.fix))
        case.areas.append(Area(name, "broken", trouble.message))
