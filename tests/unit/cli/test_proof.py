"""choir verify, prove, keys and witness: what is asked of the computer, and what a person is shown."""

import json
from pathlib import Path

import pytest

from choiros.cli.client import KeyState, ProofMade, Verification, WitnessLine
from tests.unit.cli.fake_client import STATUS, FakeClient, changed, choir, event
from tests.unit.features.proof.test_prove import LOG, TEXT

SOUND = Verification(1, 7, "ab" * 32, 2, 5, 1, 1, [], [])
BROKEN = Verification(1, 7, "ab" * 32, 2, 5, 0, 0, [(6, "It is not so.", "Compare.")], ["The stick is away."])
KEY = LOG.view.signing_keys()[-1].key
STATE = KeyState(
    "choiros/me/1",
    [KEY],
    KEY,
    "witness+key",
    is_here=True,
    signed=5,
    events=7,
    witnesses=[WitnessLine("w", 5, "")],
)


def test_a_sound_log_is_told_in_a_few_lines() -> None:
    client = FakeClient(status=STATUS, verify=SOUND)
    outcome = choir("verify", client=client)
    assert outcome.code == 0
    assert outcome.out == (
        "7 events from 1 to 7: the chain holds.\n"
        f"Tree of 7 events: {'ab' * 32}\n"
        "Compared with 2 signatures in the log, and 1 memory of it elsewhere.\n"
        "1 signature of witnesses checked.\n"
        "Signed up to event 5; what follows hangs on it by its chain.\n"
    )
    assert client.called("verify")[0][:2] == (1, None)
    assert json.loads(choir("verify", "--json", client=client).out)["root"] == "ab" * 32


def test_what_is_wrong_is_named_with_its_place_and_the_call_fails() -> None:
    outcome = choir("verify", client=FakeClient(status=STATUS, verify=BROKEN))
    assert outcome.code == 1
    assert outcome.out.startswith("broken at event 6: It is not so.\n  fix: Compare.\n")
    assert "what is said about it elsewhere does not" in outcome.out
    assert "not asked: The stick is away." in outcome.err
    assert choir("verify", "--json", client=FakeClient(status=STATUS, verify=BROKEN)).code == 1


def test_a_log_that_nobody_vouches_for_is_told_as_that() -> None:
    alone = Verification(1, 7, "ab" * 32, 0, 0, 0, 0, [], [])
    assert "choir keys sign" in choir("verify", client=FakeClient(status=STATUS, verify=alone)).out


@pytest.mark.parametrize(
    ("words", "span"),
    [
        (["--last", "3"], (5, None)),
        (["--last", "99"], (1, None)),
        (["--range", "2..4"], (2, 4)),
        (["--fast"], (6, None)),
    ],
)
def test_a_part_is_asked_for_as_it_was_named(words: list[str], span: tuple[int, int | None]) -> None:
    client = FakeClient(status=STATUS, verify=SOUND, unsigned_from=6)
    assert choir("verify", *words, client=client).code == 0
    assert client.called("verify")[0][:2] == span


@pytest.mark.parametrize(
    "words",
    [
        ["--last", "0"],
        ["--last", "x"],
        ["--range", "4..2"],
        ["--range", "4"],
        ["--range", "0..2"],
        ["--range", "1..99"],
        ["--range", "\u0661..2"],
        ["--range", "1.." + "9" * 400],
        ["--fast", "--last", "3"],
    ],
)
def test_a_part_that_there_is_not_is_wrong_usage(words: list[str]) -> None:
    outcome = choir("verify", *words, client=FakeClient(status=STATUS))
    assert outcome.code == 2
    assert "fix:" in outcome.err


# --- Proof files ---


@pytest.fixture
def proof(tmp_path: Path) -> str:
    path = tmp_path / "a.tlog-proof"
    path.write_text(TEXT)
    return str(path)


def test_a_proof_of_somebody_else_is_checked_without_a_computer(proof: str) -> None:
    outcome = choir("verify", proof, "--key", KEY, client=FakeClient())
    assert outcome.code == 0
    assert outcome.out.startswith("The proof holds.\nEvent 13 of choiros/me/")
    assert '"seq":13' in outcome.out
    told = json.loads(choir("verify", proof, "--key", KEY, "--json", client=FakeClient()).out)
    assert (told["seq"], told["head"]["seq"]) == (13, 13)


def test_a_proof_is_not_believed_with_another_key_or_none(proof: str, tmp_path: Path) -> None:
    other = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    outcome = choir("verify", proof, "--key", other, client=FakeClient())
    assert (outcome.code, "proof.unknown_key" in outcome.err) == (1, True)
    outcome = choir("--home", str(tmp_path / "none"), "verify", proof, client=FakeClient())
    assert (outcome.code, "--key KEY" in outcome.err) == (1, True)
    assert not (tmp_path / "none").exists()


def test_a_file_is_compared_with_what_the_proof_is_about(proof: str, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"something else")
    for content in (tmp_path / "other", tmp_path / "none"):
        outcome = choir("verify", proof, "--key", KEY, "--content", str(content), client=FakeClient())
        assert (outcome.code, "fix:" in outcome.err) == (1, True)


def test_what_is_no_proof_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "text").write_text("hello\n")
    for path in ("bytes", "text", "none", "."):
        outcome = choir("verify", str(tmp_path / path), "--key", KEY, client=FakeClient())
        assert outcome.code == 1
        assert "proof." in outcome.err


# --- Proving ---


def test_a_proof_is_printed_or_written(tmp_path: Path) -> None:
    made = ProofMade(13, 40, KEY, TEXT)
    client = FakeClient(status=STATUS, prove=made)
    assert choir("prove", "13", client=client).out == TEXT
    assert choir("prove", "notes/a.md", client=client).out == TEXT
    assert client.called("prove") == [(13,), ("notes/a.md",)]
    outcome = choir("prove", "13", "-o", str(tmp_path / "a"), client=client)
    assert (tmp_path / "a").read_text() == TEXT
    assert KEY in outcome.out
    outcome = choir("prove", "13", "-o", str(tmp_path / "no" / "a"), client=client)
    assert (outcome.code, "proof.not_written" in outcome.err) == (1, True)


# --- Keys and witnesses ---


def test_the_key_is_shown_with_who_has_seen_the_log() -> None:
    outcome = choir("keys", client=FakeClient(key_state=STATE))
    assert KEY in outcome.out
    assert "5 of 7 events" in outcome.out
    assert "witness w: has seen 5 events" in outcome.out
    assert json.loads(choir("keys", "--json", client=FakeClient(key_state=STATE)).out)["key"] == KEY
    fresh = KeyState("choiros/me/1", [], None, None, is_here=False, signed=0, events=7, witnesses=[])
    assert "not signed yet" in choir("keys", client=FakeClient(key_state=fresh)).out


def test_signing_and_changing_the_key_tell_what_happened() -> None:
    client = FakeClient(
        sign=changed(event(8, "signed the log")), rotate_key=changed(event(9, "changed the key"))
    )
    assert "signed the log" in choir("keys", "sign", client=client).out
    assert "changed the key" in choir("keys", "rotate", client=client).out


def test_a_witness_answers_with_its_signature_or_with_what_it_has_seen() -> None:
    client = FakeClient(witness="line\n", witnessed="note\n", trust_log=changed(event(8)))
    assert choir("witness", client=client, keys=b"old 0\n").out == "line\n"
    assert json.loads(choir("witness", "--json", client=client, keys=b"old 0\n").out) == {
        "signatures": "line\n"
    }
    assert choir("witness", "--newest", "o", client=client).out == "note\n"
    assert json.loads(choir("witness", "--newest", "o", "--json", client=client).out) == {"note": "note\n"}
    assert choir("witness", "--trust", KEY, client=client).code == 0
    assert client.called("trust_log") == [(KEY,)]
