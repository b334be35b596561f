"""What comes in from a file is the same computer again, or nothing (C-81)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from choiros.features.backups.events import HistoryImported
from choiros.features.files.events import FileWritten
from choiros.features.workspaces.commands import ArchiveWorkspace, CreateWorkspace
from choiros.features.workspaces.events import WorkspaceCreated
from choiros.kernel.errors import ChoirError, Corrupt, Rejected, Unavailable
from choiros.kernel.tree import Entry
from choiros.wiring.portable.arriving import bring_in, rehearse, restore
from choiros.wiring.portable.backups import tar_archive
from choiros.wiring.portable.manifest import ViewState
from tests.carrying import (
    at,
    changed,
    exported,
    forged,
    furnished,
    imported,
    left_in,
    manifest_of,
    of,
    opened,
    packed,
    records_of,
    silent,
    state,
)
from tests.places import Hand

pytestmark = pytest.mark.anyio


async def test_the_same_events_and_the_same_state_hash_are_there_afterwards(tmp_path: Path) -> None:
    """C-81."""
    one, two, file = tmp_path / "one", tmp_path / "two", tmp_path / "me.tar"
    await furnished(one)
    before, digests = await state(one)
    await exported(one, file)
    arrival = await imported(two, file)
    assert (arrival.manifest.head, arrival.put_away, arrival.uncompared) == (before, (), ())
    assert await state(two, before.seq) == (before, digests)
    assert (await records_of(two))[: before.seq] == (await records_of(one))[: before.seq]


async def test_the_folder_shows_what_it_showed_and_work_goes_on(tmp_path: Path) -> None:
    await furnished(tmp_path / "one")
    await exported(tmp_path / "one", tmp_path / "me.tar")
    await imported(tmp_path / "two", tmp_path / "me.tar")
    assert not (tmp_path / "two/users/me/workspace").exists()
    computer = await opened(tmp_path / "two")
    assert (await computer.merger.capture("main")).events == ()
    folder = tmp_path / "two/users/me/workspace"
    assert (folder / "notes/today.md").read_bytes() == b"one\nTWO\n"
    assert (folder / "empty").stat().st_mode & 0o777 == 0o700
    assert (folder / "latest").readlink() == Path("notes/today.md")
    await Hand(computer).write("notes/today.md", b"three\n")
    await Hand(computer).undo()
    assert (folder / "notes/today.md").read_bytes() == b"one\nTWO\n"
    await computer.close()


async def test_the_import_is_recorded_as_the_next_event(tmp_path: Path) -> None:
    await furnished(tmp_path / "one")
    done = await exported(tmp_path / "one", tmp_path / "me.tar")
    await imported(tmp_path / "two", tmp_path / "me.tar")
    computer = await opened(tmp_path / "two")
    (event,) = await computer.journal.fetch([done.manifest.seq + 2])
    manifest = done.manifest
    assert event.payload == HistoryImported(
        str(tmp_path / "me.tar"), manifest.seq, manifest.hash, manifest.contents.count
    )
    await computer.close()


async def test_where_there_is_data_nothing_is_brought_in(tmp_path: Path) -> None:
    await furnished(tmp_path / "one")
    await exported(tmp_path / "one", tmp_path / "me.tar")
    before = left_in(tmp_path / "one")
    with pytest.raises(Rejected) as caught:
        await imported(tmp_path / "one", tmp_path / "me.tar")
    assert caught.value.code == "import.exists"
    assert "choir restore" in caught.value.fix
    assert left_in(tmp_path / "one") == before


async def test_another_persons_data_comes_in_only_as_that_person(tmp_path: Path) -> None:
    parts = await forged([], user="anna", owner="anna")
    with pytest.raises(Rejected) as caught:
        await bring_in(at(tmp_path / "home"), of(parts), file="x", progress=silent)
    assert caught.value.code == "import.other_user"
    assert left_in(tmp_path) == []
    await bring_in(at(tmp_path / "home", user="anna"), of(parts), file="x", progress=silent)
    assert (tmp_path / "home/users/anna/.choir/log.db").is_file()


async def test_another_state_than_was_packed_is_refused(tmp_path: Path) -> None:
    await furnished(tmp_path / "one")
    parts = await packed(tmp_path / "one")
    views = manifest_of(parts).views
    wrong = changed(parts, views={**views, "files": replace(views["files"], digest="00" * 32)})
    with pytest.raises(Corrupt, match="files") as caught:
        await bring_in(at(tmp_path / "two"), of(wrong), file="x", progress=silent)
    assert caught.value.code == "import.differs"
    assert not (tmp_path / "two").exists()


async def test_views_of_an_older_version_are_told_and_not_compared(tmp_path: Path) -> None:
    await furnished(tmp_path / "one")
    parts = await packed(tmp_path / "one")
    views = dict(manifest_of(parts).views)
    views["files"] = ViewState(0, "00" * 32)
    del views["undo"]
    older = changed(parts, views=views)
    arrival = await bring_in(at(tmp_path / "two"), of(older), file="x", progress=silent)
    assert arrival.uncompared == ("files", "undo")


@pytest.mark.parametrize("name", ["files", "holograms"])
async def test_views_of_a_newer_version_are_refused(tmp_path: Path, name: str) -> None:
    await furnished(tmp_path / "one")
    parts = await packed(tmp_path / "one")
    newer = changed(parts, views={**manifest_of(parts).views, name: ViewState(99, "00" * 32)})
    with pytest.raises(Rejected, match=name) as caught:
        await bring_in(at(tmp_path / "two"), of(newer), file="x", progress=silent)
    assert caught.value.code == "import.newer"
    assert not (tmp_path / "two").exists()


async def test_events_of_a_type_that_is_not_known_come_in_as_they_are(tmp_path: Path) -> None:
    parts = await forged([("hologram.open", b'{"size":3}')])
    await bring_in(at(tmp_path / "home"), of(parts), file="x", progress=silent)
    assert (await records_of(tmp_path / "home"))[1].payload == b'{"size":3}'


# --- Folders of the person's own ---

KEY = b"ssh-ed25519 AAAA somebody\n"


async def test_nothing_is_written_to_a_folder_outside_before_the_person_says_so(tmp_path: Path) -> None:
    """C-81: or a file from elsewhere could put a key where it opens a door."""
    own = tmp_path / "dot-ssh"
    entry = Entry("file", 0o600, len(KEY), hashlib.sha256(KEY).hexdigest())
    payloads = [WorkspaceCreated("own", "own", str(own)), FileWritten("own", "authorized_keys", entry)]
    arrival = await bring_in(
        at(tmp_path / "home"), of(await forged(payloads, [KEY])), file="x", progress=silent
    )
    assert arrival.put_away == (("own", str(own)),)
    computer = await opened(tmp_path / "home")
    for workspace in computer.workspaces.all():
        await computer.merger.capture(workspace.id)
    assert {one.name: one.state for one in computer.workspaces.all()} == {"main": "open", "own": "archived"}
    await computer.close()
    assert not own.exists()


async def test_there_is_a_workspace_to_work_in_even_if_all_were_put_away(tmp_path: Path) -> None:
    computer = await opened(tmp_path / "one")
    (tmp_path / "own").mkdir()
    await Hand(computer).do(CreateWorkspace("own", str(tmp_path / "own")))
    await Hand(computer).do(ArchiveWorkspace("main"))
    await computer.close()
    await exported(tmp_path / "one", tmp_path / "me.tar")
    await imported(tmp_path / "two", tmp_path / "me.tar")
    computer = await opened(tmp_path / "two")
    current = computer.workspaces.current()
    assert current is not None
    assert (current.name, current.folder) == ("main 2", None)
    await computer.close()


# --- Instead of what is there ---


async def test_a_restore_keeps_aside_what_was_there(tmp_path: Path) -> None:
    """C-23."""
    await furnished(tmp_path / "home")
    done = await exported(tmp_path / "home", tmp_path / "me.tar")
    computer = await opened(tmp_path / "home")
    await Hand(computer).write("later.txt", b"later\n")
    await computer.close()
    later = await records_of(tmp_path / "home")
    arrival, aside = await restore(
        at(tmp_path / "home"),
        tar_archive(tmp_path / "me.tar"),
        file="me.tar",
        name="me-then",
        progress=silent,
    )
    assert (arrival.manifest, aside) == (done.manifest, str(tmp_path / "home/aside/me-then"))
    assert (await state(tmp_path / "home", done.manifest.seq))[0] == done.manifest.head
    (tmp_path / "old/users").mkdir(parents=True)
    (tmp_path / "home/aside/me-then").rename(tmp_path / "old/users/me")
    assert await records_of(tmp_path / "old") == later
    assert (tmp_path / "old/users/me/workspace/later.txt").read_bytes() == b"later\n"


async def test_a_restore_where_nothing_is_only_brings_in(tmp_path: Path) -> None:
    await furnished(tmp_path / "one")
    await exported(tmp_path / "one", tmp_path / "me.tar")
    archive = tar_archive(tmp_path / "me.tar")
    _, aside = await restore(at(tmp_path / "two"), archive, file="x", name="n", progress=silent)
    assert aside is None
    assert not (tmp_path / "two/aside").exists()


async def test_a_restore_waits_for_nobody_longer_than_is_set(tmp_path: Path) -> None:
    await furnished(tmp_path / "home")
    await exported(tmp_path / "home", tmp_path / "me.tar")
    computer = await opened(tmp_path / "home")
    resolved = at(tmp_path / "home", lock_timeout_s="0")
    with pytest.raises(Unavailable) as caught:
        await restore(resolved, tar_archive(tmp_path / "me.tar"), file="x", name="n", progress=silent)
    assert caught.value.code == "lock.held"
    await computer.close()


async def test_a_damaged_file_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    """C-23."""
    await furnished(tmp_path / "home")
    await exported(tmp_path / "home", tmp_path / "me.tar")
    whole, before = bytearray((tmp_path / "me.tar").read_bytes()), left_in(tmp_path / "home")
    whole[len(whole) // 2] ^= 1
    (tmp_path / "me.tar").write_bytes(whole)
    with pytest.raises(ChoirError):
        await restore(
            at(tmp_path / "home"), tar_archive(tmp_path / "me.tar"), file="x", name="n", progress=silent
        )
    assert left_in(tmp_path / "home") == before


async def test_data_that_is_damaged_can_be_replaced(tmp_path: Path) -> None:
    await furnished(tmp_path / "home")
    await exported(tmp_path / "home", tmp_path / "me.tar")
    log = tmp_path / "home/users/me/.choir/log.db"
    log.write_bytes(log.read_bytes()[:5000])
    await restore(
        at(tmp_path / "home"), tar_archive(tmp_path / "me.tar"), file="x", name="n", progress=silent
    )
    await (await opened(tmp_path / "home")).close()
    assert (tmp_path / "home/aside/n/.choir/log.db").stat().st_size == 5000


async def test_a_rehearsal_finds_what_an_import_would_and_leaves_nothing(tmp_path: Path) -> None:
    await furnished(tmp_path / "home")
    done = await exported(tmp_path / "home", tmp_path / "me.tar")
    before = left_in(tmp_path / "home")
    archive = tar_archive(tmp_path / "me.tar")
    assert await rehearse(at(tmp_path / "home"), archive, progress=silent) == done.manifest
    assert left_in(tmp_path / "home") == before
