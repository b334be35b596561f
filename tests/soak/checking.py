"""What must hold of a data directory after any fault; each check raises AssertionError with what it found."""

from __future__ import annotations

import asyncio
import hashlib
import json
import stat
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any

from choiros.cli.client import Changed
from choiros.cli.direct import DirectClient, connect
from choiros.features.workspaces.view import Workspace
from choiros.settings import resolve
from tests.soak.witness import batches, captured, log_of, read_log

Thing = tuple[str, int, str]


def check(arguments: Mapping[str, Any]) -> int:
    """Check everything that must hold, and print how many events there are.

    Unless it is to be `full`, no views are rebuilt and nothing is written.

    `acknowledged` are number and id of what was printed, `refused` the contents of files that were refused,
    `reference` the file that `describe` made from the same session without a fault, None for another session.
    """
    home = Path(arguments["home"])
    stored = read_log(log_of(home))
    ids = {event.seq: event.id for event in stored}
    lost = [(seq, name) for seq, name in arguments["acknowledged"] if ids.get(seq) != name]
    assert not lost, f"acknowledged and lost: {lost} of {len(ids)}"
    ends = batches(stored)
    reference = json.loads(Path(arguments["reference"]).read_text()) if arguments.get("reference") else None
    if reference is not None:
        kinds = [event.kind for event in stored]
        assert kinds == reference["kinds"][: len(kinds)], f"another course of events: {kinds[-5:]}"
        assert len(stored) in reference["ends"], f"half a command: {kinds[-5:]}"
    assert len(stored) in ends
    taken = captured(stored) - set(arguments.get("outside", ()))
    assert not taken, f"our own work was taken for somebody's: {taken}"
    named = {
        event.payload["entry"].get("content")  # type: ignore[union-attr]
        for event in stored
        if event.kind == "file.write"
    }
    said_refused = named.intersection(arguments.get("refused", ()))
    assert not said_refused, f"refused with nothing written, and recorded all the same: {said_refused}"
    asyncio.run(_opened(home, len(stored), reference=reference, full=arguments.get("full", True)))
    taken = captured(read_log(log_of(home))) - set(arguments.get("outside", ()))
    assert not taken, f"the recovery took our own work for somebody's: {taken}"
    print(json.dumps({"events": len(stored)}))
    return 0


def describe(arguments: Mapping[str, Any]) -> int:
    """Print what an undisturbed session leads to: types, ends of batches, and the state after each batch."""
    stored = read_log(log_of(Path(arguments["home"])))
    ends = sorted(batches(stored))

    async def states() -> dict[int, str]:
        client = await connect(resolve({"home": arguments["home"]}, {}), workspace=None, write=True)
        try:
            return {seq: state_at(client, seq) for seq in ends}
        finally:
            await client.close()

    found = {"kinds": [event.kind for event in stored], "ends": ends, "states": asyncio.run(states())}
    print(json.dumps(found))
    return 0


def state_at(client: DirectClient, seq: int) -> str:
    """Return a hash over all files of all workspaces right after an event."""
    computer = client._computer
    things = {
        f"{index}/{path}": _thing(entry.kind, entry.mode, entry.content or entry.target)
        for index, one in enumerate(computer.workspaces.all())
        for path, entry in computer.files.below_at(one.id, "", seq=seq).items()
    }
    return hashlib.sha256(json.dumps(things, sort_keys=True).encode()).hexdigest()


async def _opened(home: Path, killed_at: int, *, reference: dict[str, Any] | None, full: bool) -> None:
    client = await connect(resolve({"home": str(home)}, {}), workspace=None, write=True)
    try:
        computer = client._computer
        if reference is not None and killed_at:
            expected = reference["states"][str(killed_at)]
            assert state_at(client, killed_at) == expected, f"another state after event {killed_at}"
        for one in computer.workspaces.all():
            if one.state == "open":
                found = await computer.merger.capture(one.id)
                assert not found.unkept, found.unkept
        _folders_show_what_the_log_says(client)
        live = computer.projectors.digests()
        seq = (await computer.journal.head()).seq
        if full:
            rebuilt = await client.rebuild(full=True)
            assert not rebuilt.differed, f"rebuilt views differ: {rebuilt.differed}"
            assert rebuilt.seq > seq or dict(rebuilt.digests) == live
            assert rebuilt.files_restored == 0
            await _goes_on(client)
    finally:
        await client.close()
    leftovers = sorted(_temporary_files(home)) if full else []
    assert not leftovers, f"temporary files were left: {leftovers}"


def _folders_show_what_the_log_says(client: DirectClient) -> None:
    computer = client._computer
    for one in computer.workspaces.all():
        if one.state != "open":
            continue
        entries = computer.files.below(one.id)
        said = {
            path: _thing(entry.kind, entry.mode, entry.content or entry.target)
            for path, entry in entries.items()
        }
        shown = look(folder_of(client, one))
        differ = sorted(path for path in {*said, *shown} if said.get(path) != shown.get(path))
        assert not differ, (
            f"folder and log differ: {[(path, said.get(path), shown.get(path)) for path in differ]}"
        )


def folder_of(client: DirectClient, workspace: Workspace) -> Path:
    """Return the folder of a workspace."""
    return Path(client._computer.place(workspace))


def look(folder: Path) -> dict[str, Thing]:
    """Return what stands in a folder, but for the pointer to its repository."""
    found: dict[str, Thing] = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        name = path.relative_to(folder).as_posix()
        if name == ".git":
            continue
        if stat.S_ISLNK(status.st_mode):
            found[name] = _thing("link", 0o777, str(path.readlink()))
        elif stat.S_ISDIR(status.st_mode):
            found[name] = _thing("dir", stat.S_IMODE(status.st_mode), "")
        else:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[name] = _thing("file", stat.S_IMODE(status.st_mode), digest)
    return found


def _thing(kind: str, mode: int, content: str) -> Thing:
    return kind, mode, content


async def _goes_on(client: DirectClient) -> None:
    """The next change and the next checkpoint work as if nothing had happened."""
    changed = await client.write("after/the-fault.txt", _content(), mode=None, run=None, base=None)
    assert isinstance(changed, Changed)
    assert not changed.warnings, changed.warnings
    made = await client.checkpoint("after the fault")
    assert isinstance(made, Changed)
    assert not made.warnings, made.warnings


async def _content() -> AsyncIterator[bytes]:
    yield b"all is well\n"


def _temporary_files(home: Path) -> Iterable[str]:
    data = home / "users" / "me" / ".choir"
    for path in home.rglob("*"):
        name = path.name
        if (
            name.startswith((".choir-tmp-", "state.next", "next.sqlite"))
            or path.parent == data / "blobs" / "tmp"
            or (".git" in path.as_posix() and name.endswith(".lock"))
        ):
            yield str(path.relative_to(home))
