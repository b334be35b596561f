"""The stored contents: each that an event names is there and whole; what nothing names is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choiros.kernel.errors import ChoirError, Corrupt
from choiros.wiring.doctor.case import Case, Looked, Measuring, is_there
from choiros.wiring.doctor.finding import Finding, found

if TYPE_CHECKING:
    from choiros.kernel.blob import BlobStore
    from choiros.wiring.doctor.told import Named

SAMPLE = 200
"""So many contents are read whole where not all of them shall be."""


async def look_at_blobs(case: Case) -> Looked:
    """Look for every content that an event names; read all of them with --deep, some of them without."""
    told, blobs = case.read(), case.needed().blobs
    wanted = sorted(told.contents)
    # Digests lie as chance will have it, so every so-manieth is a fair sample; another one at another time.
    step = 1 if case.deep else max(len(wanted) // SAMPLE, 1)
    turn = case.needed().clock.now_ms() % step
    findings: list[Finding] = []
    read = 0
    for number, digest in enumerate(wanted):
        is_read = number % step == turn
        fault = await fault_of(blobs, digest, size=told.contents[digest].size, is_read=is_read)
        read += is_read
        if fault is not None:
            findings.append(await _named(case, digest, fault=fault, named=told.contents[digest]))
        case.progress("blobs", number + 1, len(wanted))
    if told.is_whole:
        findings += await _garbage(case)
    return Looked(findings, f"contents: {len(wanted):,}, read whole: {read:,}")


async def fault_of(blobs: BlobStore, digest: str, *, size: int, is_read: bool) -> Corrupt | None:
    """Return what is wrong with a content; by its size alone unless it is read."""
    there = await blobs.size(digest)
    if there is not None and there != size:
        return Corrupt("blob.damaged", f"The content has {there:,} bytes instead of {size:,}.", fix="")
    if there is not None and not is_read:
        return None
    try:
        async for _ in blobs.read(digest):
            pass
    except Corrupt as fault:
        return fault
    return None


async def _named(case: Case, digest: str, *, fault: Corrupt, named: Named) -> Finding:
    """Return the finding about a content, which can be mended if a file in a folder still holds it."""
    code = "blobs.missing" if fault.code == "blob.missing" else "blobs.damaged"
    where = str(case.data / "blobs" / digest[:2] / digest)
    holder = await holding(case, digest)
    if holder is None:
        what = f"{fault.message} It was last named by event {named.seq}, for {named.path}."
        return found(code, what, where=where, mends=False)
    workspace, path = holder
    what = f"{fault.message} The file {path} in the workspace '{workspace}' still holds it."
    return found(code, what, where=where, workspace=workspace, path=path)


async def holding(case: Case, digest: str) -> tuple[str, str] | None:
    """Return the workspace and the path of a file that holds a content now."""
    if case.computer is None:
        return None
    blobs = case.needed().blobs
    for workspace, place in case.open_workspaces():
        if not is_there(place):
            continue
        paths = [
            path for path, entry in case.computer.files.below(workspace.id).items() if entry.content == digest
        ]
        for path in paths:
            tree, _ = case.needed().folder(workspace.id, workspace.folder)
            try:
                entry, _ = await tree.take(path, Measuring(blobs))
            except ChoirError:
                continue
            if entry.content == digest:
                return workspace.name, path
    return None


async def _garbage(case: Case) -> list[Finding]:
    told, blobs = case.read(), case.needed().blobs
    count = size = 0
    async for digest in blobs.digests():
        if digest not in told.mentioned:
            count += 1
            size += await blobs.size(digest) or 0
    if not count:
        return []
    what = f"{count:,} stored contents of {size:,} bytes are named by no event."
    return [found("blobs.garbage", what, where=str(case.data / "blobs"))]
