"""The repositories: each opens, and holds for every checkpoint a commit with the files that stood there."""

from __future__ import annotations

import hashlib
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from choiros.features.checkpoints.react import COMMITS_MAX, kept_in_commits
from choiros.kernel.errors import ChoirError, Corrupt, Rejected, Unavailable
from choiros.wiring.doctor.case import Case, Looked, Measuring
from choiros.wiring.doctor.finding import Finding, found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from choiros.features.checkpoints.view import Checkpoint
    from choiros.features.workspaces.view import Workspace
    from choiros.kernel.repository import Repository
    from choiros.kernel.tree import Entry

CHECKPOINTS_MAX = 1_000_000
OBJECT = re.compile(r"[0-9a-f]{38}")
CHUNK = 1 << 16
LOST_AT_MOST = 100
"""Beyond so many missing commits the sentence about one more says nothing new."""


async def look_at_git(case: Case) -> Looked:
    """Compare the repository of every workspace that has checkpoints."""
    computer = case.lived()
    findings: list[Finding] = []
    count = 0
    for workspace in computer.workspaces.all():
        points = computer.checkpoints.all(workspace.id, CHECKPOINTS_MAX)
        if not points:
            continue
        count += len(points)
        where = str(case.data / "git" / f"{workspace.id}.git")
        findings += _without_commit(points, where=where, workspace=workspace.name)
        if spoiled := spoiled_objects(case.data / "git" / f"{workspace.id}.git"):
            # Not asked any further: libgit2 would wait for ever for the end of an object that was cut off.
            what = f"{len(spoiled)} objects in it are not what their names say, such as {spoiled[0]}."
            findings.append(found("git.damaged", what, where=where, workspace=workspace.name))
            continue
        try:
            findings += await _compared(case, workspace, points=points, where=where)
        except (Corrupt, Unavailable) as error:
            findings.append(found("git.damaged", error.message, where=where, workspace=workspace.name))
    return Looked(findings, f"checkpoints: {count:,}")


def spoiled_objects(repository: Path) -> list[str]:
    """Return the loose objects of a git directory that are cut off or hold something else than their names say."""
    loose = (path for path in (repository / "objects").glob("??/*") if OBJECT.fullmatch(path.name))
    return sorted(path.relative_to(repository).as_posix() for path in loose if not _is_whole(path))


def _is_whole(path: Path) -> bool:
    hasher, inflating = hashlib.sha1(usedforsecurity=False), zlib.decompressobj()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                hasher.update(inflating.decompress(chunk))
    except (OSError, zlib.error):
        return False
    return inflating.eof and hasher.hexdigest() == path.parent.name + path.name


def _without_commit(points: Sequence[Checkpoint], *, where: str, workspace: str) -> list[Finding]:
    findings = [
        found(
            "git.pending",
            f"The commit of checkpoint {one.seq} was not made yet.",
            where=where,
            workspace=workspace,
        )
        for one in points
        if one.commit is None and not one.error
    ]
    newest = points[0]
    if newest.commit is None and newest.error:
        what = f"Checkpoint {newest.seq} in '{workspace}' has no commit: {newest.error}"
        findings.append(found("git.failed", what, where=f"event {newest.seq}"))
    return findings


async def _compared(
    case: Case, workspace: Workspace, *, points: Sequence[Checkpoint], where: str
) -> list[Finding]:
    """Look for every commit; read the files of all with --deep, of the newest without."""
    repository = case.lived().repository(workspace.id)
    there = {commit.id for commit in await repository.log(COMMITS_MAX)}
    made = [one for one in points if one.commit is not None]
    findings: list[Finding] = []
    lost: list[Checkpoint] = []
    # One store for all of them: it remembers which contents it was shown already.
    measuring = Measuring(case.needed().blobs)
    for number, point in enumerate(made):
        case.progress("git", number + 1, len(made))
        if point.commit in there and number and not case.deep:
            continue
        files = await _files(repository, str(point.commit), measuring=measuring)
        if files is None:
            lost.append(point)
        elif differs := await _difference(case, workspace.id, point=point, files=files):
            what = f"The commit {str(point.commit)[:10]} of checkpoint {point.seq} {differs}"
            findings.append(found("git.differs", what, where=f"event {point.seq}", workspace=workspace.name))
    if made and not lost and str(made[0].commit) not in there:
        what = f"The commit of checkpoint {made[0].seq} is there, but HEAD does not lead to it."
        fix = f"If nobody did that on purpose: git --git-dir={where} update-ref HEAD {made[0].commit}"
        findings.append(found("git.head", what, where=where, fix=fix, workspace=workspace.name))
    first = await _first_lost(repository, made, lost=lost) if lost else None
    for point in lost[:LOST_AT_MOST]:
        what = f"The commit {str(point.commit)[:10]} of checkpoint {point.seq} is not there."
        mends = first is not None and point.seq >= first
        findings.append(found("git.missing", what, where=where, workspace=workspace.name, mends=mends))
    return findings


async def _files(repository: Repository, commit: str, *, measuring: Measuring) -> Mapping[str, Entry] | None:
    try:
        return await repository.files(commit, measuring)
    except Rejected as refused:
        if refused.code != "repository.unknown_commit":
            raise
        return None


async def _first_lost(
    repository: Repository, made: Sequence[Checkpoint], *, lost: Sequence[Checkpoint]
) -> int | None:
    """Return from which checkpoint on commits can be made again as they were: behind those that are there.

    None when the head is another one: a commit behind it would be another one as well.
    """
    first = min(point.seq for point in lost)
    earlier = [point for point in made if point.seq < first]
    head = await repository.head()
    wanted = max(earlier, key=lambda point: point.seq).commit if earlier else None
    all_behind = len(lost) == len(made) - len(earlier)
    return first if all_behind and (head.id if head else None) == wanted else None


async def standing_at(case: Case, workspace: str, *, seq: int) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """Return what stood in a workspace at a checkpoint, and what of it enters a commit."""
    computer = case.lived()
    standing = computer.files.below_at(workspace, "", seq=seq)
    rules = await computer.files_loader.ignore_in_commits(standing)
    return standing, kept_in_commits(standing, rules.matches)


async def _difference(case: Case, workspace: str, *, point: Checkpoint, files: Mapping[str, Entry]) -> str:
    """Return in a sentence how a commit differs from what stood there, '' when it does not."""
    try:
        standing, kept = await standing_at(case, workspace, seq=point.seq)
    except ChoirError:
        # What is left out of commits stands in a content that is damaged itself, and named as such.
        return ""
    return difference(files, standing, kept=kept)


def difference(
    files: Mapping[str, Entry], standing: Mapping[str, Entry], *, kept: Mapping[str, Entry]
) -> str:
    """Return how the files of a commit differ from what stood there.

    What today's rules leave out may be in it all the same: it was made by the rules of its day.
    """
    for path, entry in sorted(files.items()):
        if path not in standing:
            return f"holds {path}, which did not stand there."
        if _plain(entry) != _plain(standing[path]):
            return f"holds another {path} than stood there."
    lacking = sorted(kept.keys() - files.keys())
    return f"lacks {lacking[0]}, which stood there." if lacking else ""


def _plain(entry: Entry) -> tuple[str, bool, str, str]:
    """Return what git knows of a file."""
    return entry.kind, entry.kind == "file" and bool(entry.mode & 0o100), entry.content, entry.target
