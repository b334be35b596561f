"""What ChoirOS itself reports to the log."""

from __future__ import annotations

from msgspec import Struct


class ReportSnapshot(Struct, frozen=True):
    """Report that the tables after event `at` are kept."""

    at: int
    digest: str
