"""The rule for snapshots: what is reported is recorded as it is."""

import asyncio

from choiros.features.audit.commands import ReportSnapshot
from choiros.features.audit.decide import command_types, decide, load_nothing
from choiros.features.audit.events import SnapshotKept
from choiros.kernel.command import Context


def test_a_snapshot_is_recorded_with_its_place_and_its_hash() -> None:
    """C-16."""
    assert decide(ReportSnapshot(7, "ab"), None).payloads == [SnapshotKept(7, "ab")]


def test_the_one_command_of_the_room_needs_nothing_and_changes_nothing_outside() -> None:
    (kind,) = command_types()
    assert (kind.name, kind.command, kind.effect) == ("audit.snapshot", ReportSnapshot, "pure")
    assert asyncio.run(load_nothing(ReportSnapshot(7, "ab"), Context("me"))) is None
