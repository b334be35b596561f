"""Every kind of drift, injected on a real data directory, is found, named, and mended where that is said (C-22)."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from choiros.cli.direct.doctor import DirectDoctor
from choiros.kernel.errors import Rejected, Unavailable
from choiros.kernel.path import TEMPORARY
from choiros.wiring.doctor import AREAS, KINDS, Checkup, Finding
from tests.unit.cli.direct import drifts
from tests.unit.cli.direct.drifts import (
    INJECTED,
    A,
    Bench,
    blobs_damaged,
    blobs_missing,
    chain_broken,
    git_missing,
    leftovers_left,
    live,
    lock_held,
    log_unopened,
    projections_damaged,
    projections_differs,
    projections_missing,
    settings_refused,
    snapshots_damaged,
    workspaces_lacking,
    workspaces_unrecorded,
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("sound")
    live(top)
    return top


@pytest.fixture
def bench(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    shutil.copytree(sound, tmp_path / "copy", symlinks=True)
    made = Bench(tmp_path / "copy", monkeypatch)
    made.look_like()
    return made


def of(code: str, seen: Checkup) -> list[Finding]:
    return [one for one in seen.findings if one.code == code]


@pytest.mark.parametrize("code", KINDS)
def test_every_kind_of_drift_is_found_named_and_mended_where_it_says_so(bench: Bench, code: str) -> None:
    """C-22, C-71."""
    place = INJECTED[code](bench)
    seen = bench.examine()
    named = of(code, seen)
    assert named, [(one.code, one.what) for one in seen.findings]
    assert any(place in one.where for one in named), named
    assert all(one.fix and one.what for one in named)
    assert seen.is_sound == (not any(one.severity == "broken" for one in seen.findings))
    assert all(one.mends == (KINDS[code].mend != "") for one in named)
    if not KINDS[code].mend:
        return
    events = bench.rows()
    bench.mend(seen)
    assert bench.rows()[: len(events)] == events
    after = bench.examine()
    assert of(code, after) == []
    assert after.is_sound, after.findings


def test_a_sound_computer_shows_nothing_and_is_left_as_it_is(bench: Bench) -> None:
    before = listing(bench.top)
    for bench.deep in (False, True):
        seen = bench.examine()
        assert (seen.findings, seen.is_sound) == ([], True)
        assert [area.name for area in seen.areas] == list(AREAS)
        assert {area.state for area in seen.areas} == {"ok"}
    assert listing(bench.top) == before


def listing(top: Path) -> dict[str, bytes]:
    """Return every file but the ones in which SQLite keeps who reads just now."""
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def test_where_nothing_is_kept_nothing_is_made(tmp_path: Path) -> None:
    doctor = DirectDoctor({"home": str(tmp_path / "none")}, {})
    seen = asyncio.run(doctor.examine(deep=False, progress=lambda *_: None))
    assert (seen.findings, seen.is_sound) == ([], True)
    assert list(tmp_path.iterdir()) == []


def test_only_looking_changes_no_drift(bench: Bench) -> None:
    for inject in (projections_differs, workspaces_lacking, blobs_missing, snapshots_damaged, leftovers_left):
        inject(bench)
    before = listing(bench.top)
    first = bench.examine()
    assert listing(bench.top) == before
    assert bench.examine().findings == first.findings


def test_many_kinds_of_drift_at_once_are_mended_together(bench: Bench) -> None:
    drifts = (projections_damaged, blobs_missing, snapshots_damaged, git_missing, leftovers_left)
    for inject in drifts:
        inject(bench)
    said = bench.mend(bench.examine())
    assert len(said) == len(drifts)
    assert bench.examine().findings == []


def test_a_content_that_no_file_holds_any_more_is_named_and_not_promised(bench: Bench) -> None:
    bench.blob(A).unlink()
    (found,) = of("blobs.missing", bench.examine())
    assert (found.mends, "a.txt" in found.what, "backup" in found.fix) == (False, True, True)


def test_a_file_that_was_edited_in_the_meantime_brings_no_wrong_content_back(bench: Bench) -> None:
    blobs_missing(bench)
    seen = bench.examine()
    (bench.folder / "b" / "c.txt").write_bytes(b"edited\n")
    bench.mend(seen)
    (found,) = of("blobs.missing", bench.examine())
    assert not found.mends


def test_a_content_is_read_whole_only_with_deep_beyond_the_sample(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("choiros.wiring.doctor.contents.SAMPLE", 1)
    summary = next(area.summary for area in bench.examine().areas if area.name == "blobs")
    assert summary == "contents: 3, read whole: 1"
    bench.deep = True
    blobs_damaged(bench)
    assert of("blobs.damaged", bench.examine())


def test_every_broken_event_of_a_log_is_named_and_the_rest_looked_at(bench: Bench) -> None:
    bench.sql("log.db", "UPDATE events SET payload = x'7b7d' WHERE seq IN (4, 9)")
    workspaces_unrecorded(bench)
    seen = bench.examine()
    assert [one.where for one in of("chain.broken", seen)] == ["event 4", "event 9"]
    assert of("workspaces.unrecorded", seen)
    skipped = {area.name for area in seen.areas if area.state == "skipped"}
    assert skipped == {"snapshots", "signatures", "witnesses"}


def test_with_a_broken_log_nothing_is_promised_that_is_made_from_it(bench: Bench) -> None:
    chain_broken(bench)
    workspaces_lacking(bench)
    leftovers_left(bench)
    seen = bench.examine()
    (lacking,) = of("workspaces.lacking", seen)
    assert not lacking.mends
    assert "backup" in lacking.fix
    events = bench.rows()
    bench.mend(seen)
    assert bench.rows() == events
    assert of("leftovers.left", bench.examine()) == []


def test_with_both_the_log_and_the_views_broken_it_still_answers(bench: Bench) -> None:
    log_unopened(bench)
    projections_damaged(bench)
    shutil.rmtree(bench.folder)
    seen = bench.examine()
    assert {"log.unopened", "projections.damaged"} <= {one.code for one in seen.findings}
    assert of("doctor.failed", seen) == []


def test_a_commit_is_made_again_only_where_it_is_the_same_one(bench: Bench) -> None:
    (bench.data / "git" / "main.git" / "refs" / "heads" / "main").write_text("ab" * 20 + "\n")
    assert of("git.damaged", bench.examine())
    shutil.rmtree(bench.data / "git")
    wanted = [one.commit for one in bench.home.do(lambda client: client.checkpoints(5))]
    bench.mend(bench.examine())
    assert of("git.missing", bench.examine()) == []
    assert [one.commit for one in bench.home.do(lambda client: client.checkpoints(5))] == wanted


def test_what_a_crash_left_in_a_folder_is_named(bench: Bench) -> None:
    name = f"{TEMPORARY}999999999-1-1"
    (bench.folder / "b" / name).write_bytes(b"half")
    (found,) = of("leftovers.left", bench.examine())
    assert found.where.endswith(name)


def test_while_somebody_else_works_what_moves_is_left_out(bench: Bench) -> None:
    lock_held(bench)
    seen = bench.examine()
    assert seen.is_sound
    assert {area.name for area in seen.areas if area.state == "skipped"} == {
        "leftovers",
        "projections",
        "workspaces",
    }
    with pytest.raises(Unavailable):
        bench.mend(seen)


def test_nothing_is_mended_with_settings_that_are_not_understood(bench: Bench) -> None:
    settings_refused(bench)
    projections_missing(bench)
    seen = bench.examine()
    assert {"settings.refused", "projections.missing"} <= {one.code for one in seen.findings}
    with pytest.raises(Rejected, match="nonsense"):
        bench.mend(seen)


def test_a_git_object_that_was_cut_off_is_named_and_nobody_waits_for_its_end(bench: Bench) -> None:
    head = bench.home.do(lambda client: client.checkpoints(1))[0].commit
    assert head is not None
    path = bench.data / "git" / "main.git" / "objects" / head[:2] / head[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:20])
    (found,) = of("git.damaged", bench.examine())
    assert f"objects/{head[:2]}/{head[2:]}" in found.what


def test_what_could_not_be_done_is_not_called_done(bench: Bench) -> None:
    for path in bench.data.glob("state.sqlite*"):
        path.unlink()
    (bench.data / "state.sqlite").mkdir()
    seen = bench.examine()
    said = bench.mend(seen)
    assert [one.partition(":")[0] for one in said] == ["Not done"]
    assert of("projections.damaged", bench.examine())


def test_the_fixes_that_are_commands_of_git_and_of_choir_really_work(bench: Bench) -> None:
    """C-71."""
    for code in ("git_head", "keys_forgotten", "blobs_garbage", "workspaces_unrecorded"):
        getattr(drifts, code)(bench)
    (head,) = of("git.head", bench.examine())
    subprocess.run(head.fix.partition(": ")[2], shell=True, check=True)
    bench.home.files()
    bench.home.do(lambda client: client.collect(preview=False))
    bench.home.do(lambda client: client.sign())
    assert bench.examine().findings == []


def test_with_a_damaged_memory_contents_come_back_and_the_rest_waits(bench: Bench) -> None:
    blobs_missing(bench)
    snapshots_damaged(bench)
    (bench.data / "keys" / "me.last").write_bytes(b"rust")
    said = bench.mend(bench.examine())
    assert [one.partition(".")[0] for one in said if not one.startswith("READ-ONLY")] == [
        "Done: bring contents back from files in the folders that still hold them",
        "Not done: remove snapshots that do not fit the log",
    ]
    after = bench.examine()
    assert (of("blobs.missing", after), len(of("snapshots.damaged", after))) == ([], 1)
