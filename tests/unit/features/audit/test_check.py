"""Who may report a snapshot: a forged one would be trusted by the next rebuild."""

import asyncio
from pathlib import Path

import pytest

from choiros.features.audit.check import SystemReports
from choiros.features.audit.commands import ReportSnapshot
from choiros.features.audit.events import SnapshotKept
from choiros.features.workspaces.events import WorkspaceArchived
from choiros.kernel.command import Context, Decision, Fact, Proposal
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Source
from choiros.settings import Settings, SnapshotSettings
from tests.computers import Desk

SNAPSHOT = Fact(SnapshotKept(7, "ab"))
OTHER = Fact(WorkspaceArchived("a"))


def judged(*facts: Fact, source: Source) -> str | None:
    context = Context("me", source=source)
    proposal = Proposal("any", ReportSnapshot(7, "ab"), context, Decision(facts), "pure")
    verdict = asyncio.run(SystemReports().judge(proposal))
    return verdict.answer if verdict else None


def test_the_program_itself_reports_snapshots() -> None:
    assert judged(SNAPSHOT, source="system") == "allow"


@pytest.mark.parametrize("source", ["user", "agent"])
def test_nobody_else_reports_snapshots_by_whatever_command(source: Source) -> None:
    assert judged(SNAPSHOT, source=source) == "block"
    assert judged(OTHER, SNAPSHOT, source=source) == "block"


@pytest.mark.parametrize("source", ["user", "agent", "system"])
def test_what_is_no_snapshot_is_left_to_others(source: Source) -> None:
    assert judged(OTHER, source=source) is None


@pytest.mark.parametrize("source", ["user", "agent"])
def test_a_forged_snapshot_is_blocked_and_the_refusal_recorded(tmp_path: Path, source: Source) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        with pytest.raises(Rejected) as caught:
            await computer.kernel.handle(ReportSnapshot(1, "ab"), Context("me", source=source))
        assert caught.value.code == "gate.blocked"
        (event,) = await computer.journal.fetch([(await computer.journal.head()).seq])
        assert event.head.event_type == "policy.verdict"
        await computer.close()

    asyncio.run(story())


def test_a_kept_snapshot_is_reported_with_its_hash(tmp_path: Path) -> None:
    async def story() -> None:
        settings = Settings(snapshots=SnapshotSettings(events_max=1, kept=1))
        computer = await Desk(tmp_path, settings=settings).open()
        snapshot = await computer.keep_snapshot()
        assert snapshot is not None
        (event,) = await computer.journal.fetch([(await computer.journal.head()).seq])
        assert event.payload == SnapshotKept(snapshot.seq, snapshot.digest)
        assert event.head.source == "system"
        await computer.close()

    asyncio.run(story())
