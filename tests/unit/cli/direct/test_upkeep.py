"""The verbs for workspaces, approvals, repair and watching, on a real data directory."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec
import pytest

from choiros.cli.client import Asked, Changed
from choiros.cli.direct import DirectClient, connect
from choiros.kernel.errors import Conflict, Corrupt, Rejected, Unavailable
from choiros.kernel.event import Draft
from choiros.settings import resolve
from tests.unit.cli.direct.homes import Home, changed


def test_workspaces_are_listed_with_their_folders_and_states(home: Home) -> None:
    home.do(lambda client: client.change_workspace("new", "work", argument=None))
    home.do(lambda client: client.change_workspace("use", "work", argument=None))
    lines = {line.name: line for line in home.do(lambda client: client.workspaces())}
    assert (lines["work"].current, lines["main"].current) == (True, False)
    assert lines["work"].folder == str(home.path / "users/me/workspaces/work")


def test_each_workspace_has_its_own_files_and_its_own_undo(home: Home) -> None:
    """C-42."""
    home.write("a.txt", b"1")
    home.do(lambda client: client.change_workspace("new", "work", argument=None))
    work = Home(home.path, {}, workspace="work")
    work.write("b.txt", b"2")
    assert (home.paths(), work.paths()) == (["a.txt"], ["b.txt"])
    home.undo()
    assert (home.paths(), work.paths()) == ([], ["b.txt"])


def test_a_removed_workspace_comes_back_with_undo(home: Home) -> None:
    home.do(lambda client: client.change_workspace("new", "work", argument=None))
    Home(home.path, {}, workspace="work").write("b.txt", b"2")
    gone = changed(home.do(lambda client: client.change_workspace("rm", "work", argument=None)))
    assert not (home.path / "users/me/workspaces/work/b.txt").exists()
    home.undo(seq=gone.seqs[0])
    assert (home.path / "users/me/workspaces/work/b.txt").read_bytes() == b"2"


def test_a_removed_workspace_is_opened_again_by_its_name(home: Home) -> None:
    home.do(lambda client: client.change_workspace("new", "work", argument=None))
    Home(home.path, {}, workspace="work").write("b.txt", b"2")
    home.do(lambda client: client.change_workspace("rm", "work", argument=None))
    home.do(lambda client: client.change_workspace("open", "work", argument=None))
    assert (home.path / "users/me/workspaces/work/b.txt").read_bytes() == b"2"


def test_an_added_folder_is_adopted_as_it_is_and_no_undo_empties_it(home: Home, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.txt").write_bytes(b"mine\n")
    home.do(lambda client: client.change_workspace("add", "own", argument=str(own)))
    added = Home(home.path, {}, workspace="own")
    assert added.paths() == ["mine.txt"]
    with pytest.raises(Rejected, match="Nothing in this workspace"):
        added.undo()
    added.write("mine.txt", b"changed\n")
    added.undo()
    assert (own / "mine.txt").read_bytes() == b"mine\n"
    home.do(lambda client: client.change_workspace("rm", "own", argument=None))
    assert (own / "mine.txt").read_bytes() == b"mine\n"


@pytest.mark.parametrize("place", ["home", "home/users/me", ".", "nothing"])
def test_a_folder_that_shares_something_with_the_data_cannot_be_added(
    home: Home, tmp_path: Path, place: str
) -> None:
    home.write("a.txt", b"1")
    with pytest.raises(Rejected):
        home.do(lambda client: client.change_workspace("add", "own", argument=str(tmp_path / place)))


def test_an_answer_is_bound_to_what_was_shown_and_holds_once(home: Home, tmp_path: Path) -> None:
    home.write("a.txt", b"1")
    home.do(lambda client: client.checkpoint("first"))
    asked = home.do(lambda client: client.push(str(tmp_path / "x.git"), "main"))
    assert isinstance(asked, Asked)
    assert [line.request for line in home.do(lambda client: client.approvals())] == [asked.request]
    with pytest.raises(Conflict):
        home.do(lambda client: client.decide(asked.request, "0" * 64, answer="allow", note=""))
    home.do(lambda client: client.decide(asked.request, asked.digest, answer="deny", note="not now"))
    assert home.do(lambda client: client.approvals()) == []
    with pytest.raises(Conflict):
        home.do(lambda client: client.decide(asked.request, asked.digest, answer="allow", note=""))


def test_everything_that_is_derived_comes_back_from_the_log_alone(home: Home) -> None:
    """C-21."""
    home.write("d/a.txt", b"1")
    home.do(lambda client: client.make_link("l", "d/a.txt", run=None))
    home.do(lambda client: client.make_directory("empty", None))
    before = home.files().files
    shutil.rmtree(home.folder)
    for path in (home.path / "users/me/.choir").glob("state.sqlite*"):
        path.unlink()
    rebuilt = home.do(lambda client: client.rebuild(full=True))
    assert rebuilt.differed == []
    assert home.files().files == before
    assert (home.folder / "d/a.txt").read_bytes() == b"1"
    assert (home.folder / "empty").is_dir()


def test_a_lost_folder_comes_back_but_for_what_the_disk_spoilt_and_undo_goes_on(home: Home) -> None:
    """C-21."""
    home.write("a.txt", b"1")
    digest = home.files().files[0].content
    home.write("b.txt", b"2")
    home.write("b.txt", b"3")
    (home.path / "users/me/.choir/blobs" / digest[:2] / digest).write_bytes(b"0")
    shutil.rmtree(home.folder)
    found = home.files()
    assert [path.name for path in home.folder.iterdir()] == ["b.txt"]
    assert digest in found.unkept["a.txt"]
    home.undo()
    assert (home.folder / "b.txt").read_bytes() == b"2"
    assert home.do(lambda client: client.rebuild(full=True)).unkept.keys() == {"a.txt"}
    home.write("a.txt", b"1")
    home.files()
    assert (home.folder / "a.txt").read_bytes() == b"1"


def test_a_rebuild_that_finds_no_space_says_so_and_changes_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise Unavailable("state.unavailable", "There is no space left.", fix="Free some.")

    home.write("a.txt", b"1")
    with monkeypatch.context() as patch:
        patch.setattr("choiros.cli.direct.upkeep.rebuild", fails)
        with pytest.raises(Unavailable, match="no space"):
            home.do(lambda client: client.rebuild(full=True))
    assert home.do(lambda client: client.rebuild(full=True)).differed == []
    assert home.read("a.txt") == b"1"


def test_a_rebuild_names_the_views_that_somebody_edited(home: Home) -> None:
    apsw = pytest.importorskip("apsw")
    home.write("a.txt", b"1")
    database = apsw.Connection(str(home.path / "users/me/.choir/state.sqlite"))
    database.execute("UPDATE files SET size = 99")
    database.close()
    assert home.do(lambda client: client.rebuild(full=True)).differed == ["files"]
    assert home.files().files[0].size == 1


def test_a_damaged_state_is_rebuilt_by_itself_and_said(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.write("a.txt", b"1")
    (home.path / "users/me/.choir/state.sqlite").write_bytes(b"not a database, but longer than a header " * 9)
    assert home.read("a.txt") == b"1"
    assert "nothing is lost" in capsys.readouterr().err


def test_a_rebuild_from_a_damaged_log_names_the_event_and_leaves_everything_as_it_was(home: Home) -> None:
    seqs = [home.write(name, name.encode()).seqs[-1] for name in ("a.txt", "b.txt", "c.txt")]
    data = home.path / "users/me/.choir"
    content = (data / "log.db").read_bytes()
    (data / "log.db").write_bytes(content.replace(b'"path":"a.txt"', b'"path":"x.txt"'))
    for _ in range(2):
        with pytest.raises(Corrupt, match=f"damaged at event {seqs[0]}") as caught:
            home.do(lambda client: client.rebuild(full=True))
        assert caught.value.code == "log.broken"
    assert [home.read(name) for name in home.paths()] == [b"a.txt", b"b.txt", b"c.txt"]


def test_a_rebuild_survives_state_in_which_text_is_damaged(home: Home) -> None:
    home.write("umbrella.txt", b"1")
    state = home.path / "users/me/.choir/state.sqlite"
    state.write_bytes(state.read_bytes().replace(b"umbrella", b"umbr\xff\xfe\xfda"))
    home.do(lambda client: client.rebuild(full=False))
    assert home.paths() == ["umbrella.txt"]


@pytest.mark.parametrize("place", ["snapshots", "snapshots/next.sqlite/inside"])
def test_a_snapshot_that_cannot_be_kept_is_told_and_the_change_is_answered_all_the_same(
    home: Home, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    home.flags["snapshots.events_max"] = "1"
    in_the_way = home.path / "users/me/.choir" / place
    in_the_way.parent.mkdir(parents=True)
    in_the_way.touch()
    assert home.write("a.txt", b"1").lines[0].event_type == "file.write"
    assert "No snapshot of the state was kept" in capsys.readouterr().err
    assert home.read("a.txt") == b"1"


def test_an_older_log_that_was_put_back_loses_nothing_of_what_the_folder_holds(home: Home) -> None:
    data = home.path / "users/me/.choir"
    home.flags["snapshots.events_max"] = "2"
    home.write("kept.txt", b"old\n")
    home.write("gone.txt", b"1")
    shutil.copy(data / "log.db", home.path / "backup.db")
    home.write("kept.txt", b"new\n")
    home.write("later.txt", b"2")
    home.do(lambda client: client.remove(["gone.txt"], recursive=False, run=None))
    shutil.copy(home.path / "backup.db", data / "log.db")
    with pytest.raises(Corrupt, match="The log ends") as caught:
        home.write("more.txt", b"3")
    assert "move state.sqlite away" in caught.value.fix
    (data / "state.sqlite").rename(home.path / "aside.sqlite")
    assert home.paths() == ["gone.txt", "kept.txt", "later.txt"]
    assert [home.read(name) for name in home.paths()] == [b"1", b"new\n", b"2"]
    assert (home.folder / "later.txt").read_bytes() == b"2"
    assert home.do(lambda client: client.rebuild(full=True)).differed == []


def test_garbage_is_what_no_event_names_and_an_old_version_is_none(home: Home) -> None:
    first = home.write("a.txt", b"old").seqs[0]
    home.write("a.txt", b"new")

    async def leave_orphan() -> None:
        resolved = resolve({"home": str(home.path)}, {})
        client = await connect(resolved, workspace=None, write=True)
        await client._computer.parts.blobs.put(b"orphan")
        await client._computer.parts.blobs.flush()
        await client.close()

    asyncio.run(leave_orphan())
    assert home.do(lambda client: client.collect(preview=True)).contents == 1
    assert home.do(lambda client: client.collect(preview=False)).size_bytes == 6
    assert home.do(lambda client: client.collect(preview=True)).contents == 0
    assert home.read("a.txt", first) == b"old"


def test_garbage_is_what_the_log_does_not_name_whatever_became_of_the_views(home: Home) -> None:
    apsw = pytest.importorskip("apsw")
    first = home.write("a.txt", b"old").seqs[0]
    home.write("a.txt", b"new")
    database = apsw.Connection(str(home.path / "users/me/.choir/state.sqlite"))
    database.execute("DELETE FROM file_history; DELETE FROM files")
    database.close()
    assert home.do(lambda client: client.collect(preview=False)).contents == 0
    home.do(lambda client: client.rebuild(full=True))
    assert (home.read("a.txt", first), home.read("a.txt")) == (b"old", b"new")


def test_what_an_event_of_an_unknown_type_names_is_no_garbage(home: Home) -> None:
    async def record(client: DirectClient) -> None:
        parts = client._computer.parts
        digest = await parts.blobs.put(b"of a newer version")
        await parts.blobs.flush()
        payload = msgspec.json.encode({"sheet": {"cells": digest}})
        event_id = parts.ids.event_id(parts.clock.now_ms())
        draft = Draft(event_id, parts.clock.now_ms(), "me", "user", "sheet.save", payload, parts.ids.salt())
        await parts.log.append("me", [draft])

    home.do(record)
    assert home.do(lambda client: client.collect(preview=False)).contents == 0


def test_watching_records_what_other_programs_write(home: Home) -> None:
    home.write("a.txt", b"1")

    async def watch() -> Changed:
        resolved = resolve({"home": str(home.path)}, {})
        client = await connect(resolved, workspace=None, write=False)
        stream = client.watch()
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.3)
        (home.folder / "b.txt").write_bytes(b"outside")
        try:
            return await asyncio.wait_for(waiting, 20)
        finally:
            await stream.aclose()
            await client.close()

    assert [line.sentence for line in asyncio.run(watch()).lines] == ["created b.txt (7 bytes)"]


def test_a_rebuild_that_fails_is_told_as_what_it_is(home: Home) -> None:
    home.write("a.txt", b"1")
    in_the_way = home.path / "users/me/.choir/state.next.sqlite"
    in_the_way.mkdir()
    (in_the_way / "file").touch()
    with pytest.raises(Unavailable, match="Is a directory") as caught:
        home.do(lambda client: client.rebuild(full=True))
    assert caught.value.code == "state.unavailable"
    shutil.rmtree(in_the_way)
    assert home.do(lambda client: client.rebuild(full=True)).differed == []
