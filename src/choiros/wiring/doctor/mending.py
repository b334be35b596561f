"""Makes again from the log what can be made again; the log, contents that events name, and keys stay as they are."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from choiros.features.checkpoints.react import AUTHOR, kept_in_commits
from choiros.kernel.errors import ChoirError
from choiros.kernel.tables import Snapshot
from choiros.wiring.doctor.case import Measuring
from choiros.wiring.doctor.kinds import KINDS, MENDS, Mend
from choiros.wiring.opening import open_computer
from choiros.wiring.repair import rebuild

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from choiros.features.checkpoints.view import Checkpoint
    from choiros.features.workspaces.view import Workspace
    from choiros.settings import Settings
    from choiros.wiring.computer import Computer
    from choiros.wiring.doctor.finding import Finding
    from choiros.wiring.parts import Parts

CHECKPOINTS_MAX = 1_000_000


def plan(findings: Iterable[Finding]) -> dict[Mend, list[Finding]]:
    """Return what would be done about these findings, in the order in which it would be done."""
    wanted: defaultdict[Mend, list[Finding]] = defaultdict(list)
    for one in findings:
        if one.mends:
            wanted[KINDS[one.code].mend].append(one)
    return {mend: wanted[mend] for mend in MENDS if mend in wanted}


async def mend(parts: Parts, settings: Settings, *, findings: Iterable[Finding]) -> list[str]:
    """Carry out a plan and return in sentences what was done, and what not: the next look finds that again.

    Raises Unavailable (`lock.held`) when somebody else is changing the data.
    """
    work = _Work(plan(findings))
    await parts.lock.acquire(settings.lock_timeout_s)
    try:
        if "sweep" in work.wanted:
            with work.attempt("sweep"):
                await _sweep(parts)
        if "views" in work.wanted:
            with work.attempt("views"):
                await rebuild(parts, settings, full=True)
    finally:
        parts.lock.release()
    rest: list[Mend] = [one for one in work.wanted if one not in {"sweep", "views"}]
    if rest:
        with work.attempt(*rest):
            computer = await open_computer(parts, settings, write=True, notice=work.troubles.append)
            try:
                await _mend_opened(computer, work)
            finally:
                await computer.close()
    return work.said()


class _Work:
    """What shall be done, and what of it could not be done."""

    def __init__(self, wanted: dict[Mend, list[Finding]]) -> None:
        self.wanted = wanted
        self.troubles: list[str] = []
        self._failed: set[Mend] = set()

    @contextmanager
    def attempt(self, *mends: Mend) -> Generator[None]:
        """Note why something could not be done, and go on with the rest."""
        try:
            yield
        except ChoirError as error:
            self._failed.update(mends)
            self.troubles.append(f"Not done: {'; '.join(MENDS[one] for one in mends)}. {error.message}")

    def said(self) -> list[str]:
        """Return in sentences what was done and what was not."""
        done = [f"Done: {MENDS[one]}." for one in self.wanted if one not in self._failed]
        return done + list(dict.fromkeys(self.troubles))


async def _sweep(parts: Parts) -> None:
    """Let each engine remove what a crash left in its own place; folders are swept whenever they are looked at."""
    parts.cabinet.snapshots()
    async for _ in parts.blobs.digests():
        pass


async def _mend_opened(computer: Computer, work: _Work) -> None:
    for one in work.wanted.get("contents", ()):
        with work.attempt("contents"):
            await _restore_content(computer, one)
    if computer.fault is not None:
        # Nothing else is made from a log that is not what it was.
        left: list[Mend] = [one for one in work.wanted if one in {"folders", "snapshots", "commits"}]
        with work.attempt(*left):
            raise computer.fault
        return
    for name, paths in _by_workspace(work.wanted.get("folders", ())).items():
        with work.attempt("folders"):
            await _restore_folder(computer, name, paths=paths)
    for one in work.wanted.get("snapshots", ()):
        with work.attempt("snapshots"):
            _drop_snapshot(computer.parts, one.where)
    for name in _by_workspace(work.wanted.get("commits", ())):
        with work.attempt("commits"):
            workspace = computer.workspaces.named(name)
            if workspace is not None:
                await _commit_again(computer, workspace)


async def _restore_content(computer: Computer, one: Finding) -> None:
    """Store the content of a file again, if it is still the one that is wanted."""
    workspace = computer.workspaces.named(one.workspace)
    tree = None if workspace is None else computer.folders.tree(workspace.id)
    if tree is None:
        return
    blobs, digest = computer.parts.blobs, one.where.rpartition("/")[2]
    entry, _ = await tree.take(one.path, Measuring(blobs))
    if entry.content == digest:
        await tree.take(one.path, blobs)
        await blobs.flush()


def _by_workspace(findings: Iterable[Finding]) -> dict[str, list[str]]:
    """Return the paths of these findings by the name of their workspace; none for a whole folder."""
    paths: defaultdict[str, list[str]] = defaultdict(list)
    for one in findings:
        paths[one.workspace] += [one.path] if one.path else []
    return dict(paths)


async def _restore_folder(computer: Computer, name: str, *, paths: Sequence[str]) -> None:
    workspace = computer.workspaces.named(name)
    if workspace is not None:
        await computer.merger.materialise(workspace.id, paths or computer.files.below(workspace.id))


def _drop_snapshot(parts: Parts, where: str) -> None:
    for one in parts.cabinet.snapshots():
        if where.endswith(f"{one.seq:012d}-{one.digest}.sqlite"):
            parts.cabinet.drop(Snapshot(one.seq, one.digest))


async def _commit_again(computer: Computer, workspace: Workspace) -> None:
    """Make the commits that are missing behind the last one that is there, each as it was made at its time."""
    repository = computer.repository(workspace.id)
    points = [one for one in computer.checkpoints.all(workspace.id, CHECKPOINTS_MAX) if one.commit]
    head = await repository.head()
    for point in _behind(points[::-1], head.id if head else None):
        standing = computer.files.below_at(workspace.id, "", seq=point.seq)
        rules = await computer.files_loader.ignore_in_commits(standing)
        await repository.commit(
            kept_in_commits(standing, rules.matches),
            computer.parts.blobs,
            message=point.message,
            author=AUTHOR,
            timestamp=point.timestamp,
            seq=point.seq,
        )


def _behind(points: Sequence[Checkpoint], head: str | None) -> Sequence[Checkpoint]:
    """Return the checkpoints behind the one whose commit is the head; none when the head is something else."""
    if head is None:
        return points
    return next((points[place + 1 :] for place, one in enumerate(points) if one.commit == head), ())
