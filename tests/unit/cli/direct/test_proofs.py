"""Signing, verifying, proving and witnessing, on real data directories."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from choiros.cli.client import Verification
from choiros.cli.direct.arriving import restore_file
from choiros.features.proof.note import parse_key
from choiros.features.proof.prove import check_proof, parse_proof
from choiros.kernel.errors import Corrupt, Rejected
from choiros.settings import resolve
from choiros.wiring import verify_signature
from tests.unit.cli.direct.homes import Home, changed

OFTEN = {"proof.events_max": "4"}


def unseen(what: str, done: int, of: int) -> None:
    pass


def verified(home: Home, first: int = 1, last: int | None = None) -> Verification:
    return home.do(lambda client: client.verify(first, last, progress=unseen), write=False)


def signed(home: Home) -> None:
    home.do(lambda client: client.sign())


def log_of(home: Home) -> Path:
    return home.path / "users/me/.choir/log.db"


def kept_aside(home: Home) -> Path:
    """Return a copy of the log as it is now."""
    copy = home.path.parent / "aside"
    copy.mkdir(exist_ok=True)
    for path in log_of(home).parent.glob("log.db*"):
        shutil.copy(path, copy / path.name)
    return copy


def put_back(home: Home, copy: Path) -> None:
    """Put an older copy of the log in place, and nothing else."""
    for path in log_of(home).parent.glob("log.db*"):
        path.unlink()
    for path in copy.iterdir():
        shutil.copy(path, log_of(home).parent / path.name)


# --- Signing ---


def test_the_log_is_signed_when_enough_has_happened(home: Home) -> None:
    home.flags.update(OFTEN)
    home.write("a.txt", b"1")
    assert (
        home.do(lambda client: client.key_state()).signed == 0
        or home.do(lambda client: client.key_state()).signed >= 4
    )
    for number in range(3):
        home.write("a.txt", b"%d" % number)
    state = home.do(lambda client: client.key_state())
    assert state.signed > 4
    assert state.key is not None
    assert state.is_here
    assert verified(home).problems == []


def test_the_log_is_signed_some_time_after_something_happened(home: Home) -> None:
    home.flags["proof.minutes_max"] = "1"
    home.write("a.txt", b"1")
    assert home.do(lambda client: client.key_state()).key is None


def test_nothing_is_signed_twice(home: Home) -> None:
    home.write("a.txt", b"1")
    signed(home)
    events = home.do(lambda client: client.status()).events
    assert changed(home.do(lambda client: client.sign())).seqs == []
    assert home.do(lambda client: client.status()).events == events


def test_the_keys_lie_where_they_are_told_to_and_not_beside_the_log(home: Home, tmp_path: Path) -> None:
    home.flags["proof.keys"] = str(tmp_path / "stick")
    home.write("a.txt", b"1")
    signed(home)
    assert list((tmp_path / "stick").glob("*.key"))
    assert not (home.path / "users/me/.choir/keys").exists()


def test_a_changed_key_is_vouched_for_and_signs_from_then_on(home: Home) -> None:
    home.write("a.txt", b"1")
    signed(home)
    before = home.do(lambda client: client.key_state()).key
    home.do(lambda client: client.rotate_key())
    state = home.do(lambda client: client.key_state())
    assert [before, state.key] == state.keys
    assert verified(home).problems == []


def test_a_signature_that_cannot_be_made_lets_no_change_look_as_if_it_had_failed(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.flags.update(OFTEN)
    home.flags["proof.keys"] = "/proc/no/such/place"
    assert home.write("a.txt", b"1").seqs
    assert "The log was not signed" in capsys.readouterr().err
    assert home.read("a.txt") == b"1"


# --- Breaks: read-only, loud, with the place named ---


def test_an_older_copy_of_the_log_is_found_at_once_and_nothing_is_changed(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """F-46, F-08."""
    home.write("a.txt", b"1")
    copy = kept_aside(home)
    home.write("a.txt", b"2")
    signed(home)
    put_back(home, copy)
    shutil.rmtree(home.path / "users/me/.choir/snapshots", ignore_errors=True)
    (home.path / "users/me/.choir/state.sqlite").unlink()
    with pytest.raises(Corrupt) as caught:
        home.write("a.txt", b"3")
    assert caught.value.code == "log.rolled_back"
    assert "READ-ONLY" in capsys.readouterr().err
    assert home.read("a.txt") == b"1"
    assert (home.folder / "a.txt").read_bytes() == b"2"
    assert home.do(lambda client: client.status()).state == "read-only"
    assert "the log ends at event 4" in verified(home).problems[0][1]


def test_a_damaged_memory_beside_the_keys_is_loud_and_keeps_looking_possible(home: Home) -> None:
    home.write("a.txt", b"1")
    signed(home)
    memory = home.path / "users/me/.choir/keys/me.last"
    memory.write_bytes(memory.read_bytes()[:-3])
    with pytest.raises(Corrupt) as caught:
        home.write("a.txt", b"2")
    assert caught.value.code == "signer.damaged"
    assert "me.last" in caught.value.message
    assert home.read("a.txt") == b"1"
    memory.unlink()
    home.write("a.txt", b"2")


def test_an_edited_event_is_named_and_the_rest_can_still_be_read(home: Home) -> None:
    for number in range(4):
        home.write(f"{number}.txt", b"%d" % number)
    signed(home)
    db = apsw.Connection(str(log_of(home)))
    edited = "CAST(replace(CAST(payload AS TEXT), '2.txt', '9.txt') AS BLOB)"
    db.execute(f"UPDATE events SET payload = {edited} WHERE seq = 8")
    db.close()
    with pytest.raises(Corrupt) as caught:
        verified(home)
    assert (caught.value.code, caught.value.fields["seq"]) == ("log.broken", 8)
    assert home.read("0.txt") == b"0"


# --- Proving ---


def test_a_file_is_proved_by_the_newest_event_that_wrote_it(home: Home) -> None:
    home.write("a.txt", b"1")
    home.write("b.txt", b"2")
    seq = changed(home.write("a.txt", b"3")).seqs[0]
    made = home.do(lambda client: client.prove("a.txt"))
    assert made.seq == seq
    proven = check_proof(
        parse_proof(made.text), keys=[parse_key(made.key)], witnesses=[], verify=verify_signature
    )
    assert json.loads(bytes(proven.payload or b""))["path"] == "a.txt"
    assert len(made.text.encode()) < 2048
    with pytest.raises(Rejected):
        home.do(lambda client: client.prove("nothing.txt"))
    with pytest.raises(Rejected):
        home.do(lambda client: client.prove(9999))


# --- Witnesses ---


@pytest.fixture
def tower(home: Home) -> Home:
    """Return a second computer, which is a witness for the first one."""
    other = Home(home.path.parent / "tower", {})
    other.write("mine.txt", b"1")
    home.write("a.txt", b"1")
    signed(home)
    key = home.do(lambda client: client.key_state()).key
    assert key is not None
    other.do(lambda client: client.trust_log(key))
    command = f"{sys.executable} -m choiros.cli.main witness --home {other.path}"
    home.flags["proof.witnesses"] = f"tower=command:{command}"
    return other


def test_a_second_computer_signs_what_continues(home: Home, tower: Home) -> None:
    home.write("a.txt", b"2")
    signed(home)
    state = home.do(lambda client: client.key_state())
    assert [(one.name, one.error) for one in state.witnesses] == [("tower", "")]
    key = tower.do(lambda client: client.key_state()).witness_key
    assert key is not None
    home.flags["proof.witness_keys"] = key
    found = verified(home)
    assert (found.problems, found.witnessed, found.unasked) == ([], 1, [])
    made = home.do(lambda client: client.prove("a.txt"))
    proven = check_proof(
        parse_proof(made.text),
        keys=[parse_key(made.key)],
        witnesses=[parse_key(key)],
        verify=verify_signature,
    )
    assert proven.witnesses == (parse_key(key).name,)


def test_a_history_that_was_replaced_with_keys_and_all_contradicts_the_second_computer(
    home: Home, tower: Home, tmp_path: Path
) -> None:
    del tower
    before = tmp_path / "before"
    shutil.copytree(home.path, before)
    home.write("a.txt", b"what happened")
    signed(home)
    shutil.rmtree(home.path)
    shutil.copytree(before, home.path)
    home.write("a.txt", b"what is said to have happened")
    home.write("b.txt", b"and more")
    signed(home)
    (line,) = home.do(lambda client: client.key_state()).witnesses
    assert "does not continue" in line.error or "was last seen" in line.error
    assert any("tower" in what for _, what, _ in verified(home).problems)


def test_a_stick_that_is_not_plugged_in_is_told_and_keeps_nobody_from_working(
    home: Home, tmp_path: Path
) -> None:
    home.flags["proof.witnesses"] = f"stick=file:{tmp_path / 'stick'}"
    home.write("a.txt", b"1")
    signed(home)
    (line,) = home.do(lambda client: client.key_state()).witnesses
    assert "not there" in line.error
    assert verified(home).unasked
    (tmp_path / "stick").mkdir()
    home.write("a.txt", b"2")
    signed(home)
    assert home.do(lambda client: client.key_state()).witnesses[0].error == ""
    found = verified(home)
    assert (found.unasked, found.problems, found.claims) == ([], [], 2)


def test_only_a_part_is_verified_when_only_a_part_is_wanted(home: Home) -> None:
    for number in range(6):
        home.write("a.txt", b"%d" % number)
    signed(home)
    home.write("b.txt", b"1")
    last = home.do(lambda client: client.status()).events
    found = verified(home, 5, 9)
    assert (found.first, found.last, found.problems) == (5, 9, [])
    first = home.do(lambda client: client.unsigned_from())
    assert first > 9
    assert verified(home, first).last == last


def test_the_checks_do_not_depend_on_who_runs_them(home: Home) -> None:
    assert os.environ.get("CHOIR_PROOF_KEYS") is None
    home.write("a.txt", b"1")
    signed(home)
    first, second = verified(home), verified(home)
    assert first == second


@pytest.mark.parametrize("apart", [False, True], ids=["keys beside the log", "keys elsewhere"])
def test_after_a_restore_the_same_key_signs_and_the_log_goes_on(
    home: Home, tmp_path: Path, *, apart: bool
) -> None:
    """C-23: the older log was put in place on purpose, so it is no break."""
    if apart:
        home.flags["proof.keys"] = str(tmp_path / "stick")
    home.write("a.txt", b"1")
    signed(home)
    file = str(tmp_path / "me.tar")
    home.do(lambda client: client.export(file, unseen))
    home.write("a.txt", b"2")
    signed(home)
    key = home.do(lambda client: client.key_state()).key
    resolved = resolve({"home": str(home.path), **home.flags}, {})
    asyncio.run(restore_file(resolved, file, progress=unseen))
    assert home.read("a.txt") == b"1"
    home.write("a.txt", b"3")
    signed(home)
    state = home.do(lambda client: client.key_state())
    assert (state.key, state.is_here) == (key, True)
    assert verified(home).problems == []


def test_nothing_is_pushed_from_a_log_that_does_not_verify(home: Home, tmp_path: Path) -> None:
    """C-29: a failing verifier refuses the push, with its reason."""
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "there.git")], check=True)
    home.write("a.txt", b"1")
    home.do(lambda client: client.checkpoint("first"))
    signed(home)
    copy = kept_aside(home)
    home.write("a.txt", b"2")
    home.do(lambda client: client.checkpoint("second"))
    signed(home)
    put_back(home, copy)
    with pytest.raises(Corrupt, match="The log ends at event"):
        home.do(lambda client: client.push(str(tmp_path / "there.git"), "main"))
    refs = subprocess.run(
        ["git", "-C", str(tmp_path / "there.git"), "for-each-ref"], capture_output=True, check=True
    )
    assert refs.stdout == b""
