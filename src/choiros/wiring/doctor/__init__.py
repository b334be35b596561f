"""Looks at a whole computer, names every kind of drift between its parts, and mends what the log can mend."""

from choiros.wiring.doctor.case import Case, LeftOut, Looked, Progress
from choiros.wiring.doctor.examination import AREAS, examination, look_at
from choiros.wiring.doctor.finding import Area, Checkup, Finding, checkup, found
from choiros.wiring.doctor.kinds import KINDS, MENDS, Kind
from choiros.wiring.doctor.mending import mend, plan

__all__ = [
    "AREAS",
    "KINDS",
    "MENDS",
    "Area",
    "Case",
    "Checkup",
    "Finding",
    "Kind",
    "LeftOut",
    "Looked",
    "Progress",
    "checkup",
    "examination",
    "found",
    "look_at",
    "mend",
    "plan",
]
