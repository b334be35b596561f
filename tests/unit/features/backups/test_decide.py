"""The rule for reports about backups: what is reported is recorded as it is."""

import asyncio

import pytest
from msgspec import Struct

from choiros.features.backups.commands import (
    BackupCommand,
    ReportBackup,
    ReportDrill,
    ReportFailure,
    ReportImport,
)
from choiros.features.backups.decide import command_types, decide, load_nothing
from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone, HistoryImported
from choiros.kernel.command import Context

MADE = BackupMade("/disk/me.tar", "ab", 1, 2, "cd", removed=("old",))
FAILED = BackupFailed("full", automatic=True)
DRILL = DrillDone("/disk/me.tar", 2, ok=False, reason="cut")
IMPORTED = HistoryImported("/disk/me.tar", 2, "cd", 1, aside="/a")
FACTS: list[tuple[BackupCommand, Struct]] = [
    (ReportBackup(MADE), MADE),
    (ReportFailure(FAILED), FAILED),
    (ReportDrill(DRILL), DRILL),
    (ReportImport(IMPORTED), IMPORTED),
]


@pytest.mark.parametrize(("command", "fact"), FACTS, ids=lambda one: type(one).__name__)
def test_a_report_is_recorded_as_it_is(command: BackupCommand, fact: Struct) -> None:
    """C-23."""
    assert decide(command, None).payloads == [fact]


def test_the_commands_need_nothing_and_change_nothing() -> None:
    kinds = command_types()
    assert {kind.command for kind in kinds} == {type(command) for command, _ in FACTS}
    assert {kind.effect for kind in kinds} == {"pure"}
    assert asyncio.run(load_nothing(FACTS[0][0], Context("me"))) is None
