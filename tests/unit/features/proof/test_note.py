"""Notes, keys and cosignatures are those of C2SP, down to the published examples; anything else is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.engines.signer.memory import MemorySigner
from choiros.features.proof.note import (
    COSIGNED,
    SIGNATURES_MAX,
    Key,
    Note,
    Signature,
    TreeHead,
    checked,
    cosigned,
    parse_hash,
    parse_key,
    parse_note,
    parse_signatures,
    parse_tree_head,
    proof_lines,
)
from choiros.kernel.errors import Rejected

# The example of the specification of signed notes.
EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
EXAMPLE = (
    "This is an example message.\n\n"
    "\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72Ine"
    "yaQM=\n"
)
SIGNER = MemorySigner()
KEY = Key("choiros/me/0123", SIGNER.create())
HEAD = TreeHead("choiros/me/0123", 7, bytes(range(32)))


def signed(text: str, key: Key = KEY) -> Note:
    return Note(text, (Signature(key.name, key.id, SIGNER.sign(key.public, text.encode())),))


def refusal(parse: object, *words: object) -> str:
    assert callable(parse)
    with pytest.raises(Rejected) as caught:
        parse(*words)
    assert caught.value.fix
    return caught.value.code


def test_the_published_example_is_read_and_believed() -> None:
    key, note = parse_key(EXAMPLE_KEY), parse_note(EXAMPLE)
    assert checked(note, key, verify=SIGNER.verify) == "valid"
    assert (str(key), str(note)) == (EXAMPLE_KEY, EXAMPLE)
    assert key.id.hex() == "530d903a"


def test_a_changed_text_is_not_believed_and_an_unknown_key_says_nothing() -> None:
    note = parse_note(EXAMPLE.replace("example message", "exbmple message"))
    assert checked(note, parse_key(EXAMPLE_KEY), verify=SIGNER.verify) == "invalid"
    assert checked(note, KEY, verify=SIGNER.verify) == "absent"


def test_of_two_signatures_of_one_key_both_must_be_right() -> None:
    note = signed("text\n")
    wrong = Signature(KEY.name, KEY.id, bytes(64))
    for signatures in ((*note.signatures, wrong), (wrong, *note.signatures)):
        assert checked(Note(note.text, signatures), KEY, verify=SIGNER.verify) == "invalid"


def test_a_witness_signs_the_time_and_the_text() -> None:
    """C2SP tlog-cosignature."""
    text, key = HEAD.text(), Key("w", KEY.public, COSIGNED)
    assert cosigned(text, 1679315147) == b"cosignature/v1\ntime 1679315147\n" + text.encode()
    raw = SIGNER.sign(key.public, cosigned(text, 1679315147))
    line = Signature(key.name, key.id, (1679315147).to_bytes(8) + raw)
    assert checked(Note(text, (line,)), key, verify=SIGNER.verify) == "valid"
    moved = Signature(key.name, key.id, (1679315148).to_bytes(8) + raw)
    assert checked(Note(text, (moved,)), key, verify=SIGNER.verify) == "invalid"
    assert key.id != Key("w", KEY.public).id


@given(st.integers(0, 10**15), st.binary(min_size=32, max_size=32))
def test_a_tree_head_survives_its_text(size: int, root: bytes) -> None:
    head = TreeHead("choiros/me/0123", size, root)
    assert parse_tree_head(parse_note(str(signed(head.text()))).text) == head


@pytest.mark.parametrize(
    "text",
    [
        "",
        "text",
        "text\n",
        "text\n\n",
        "\n\n\u2014 a AAAAAAAA\n",
        "text\n\n\u2014 a AAAAAAAA",
        "text\n\n- a AAAAAAAA\n",
        "text\n\n\u2014 a AAAAAAA\n",
        "text\n\n\u2014 a AAAA\n",
        "text\n\n\u2014 a+b AAAAAAAA\n",
        "text\n\n\u2014 a  AAAAAAAA\n",
        "text\n\n\u2014 a AAAAAAAA b\n",
        "te\rxt\n\n\u2014 a AAAAAAAA\n",
        "te\x00xt\n\n\u2014 a AAAAAAAA\n",
        "te\ud800xt\n\n\u2014 a AAAAAAAA\n",
        "text\n\n" + "\u2014 a AAAAAAAA\n" * (SIGNATURES_MAX + 1),
        "x" * 100_000 + "\n\n\u2014 a AAAAAAAA\n",
        "text\n\n\u2014 a AAAAAAAB====\n",
        "text\n\n\u2014 a AAAA AAAA\n",
    ],
)
def test_what_is_no_signed_note_is_refused(text: str) -> None:
    assert refusal(parse_note, text) == "proof.bad_note"


@pytest.mark.parametrize(
    "text",
    [
        "origin\n",
        "origin\n7\n",
        "\n7\nAAAA\n",
        "origin\n07\n" + proof_lines([bytes(32)]),
        "origin\n-7\n" + proof_lines([bytes(32)]),
        "origin\n\u0667\n" + proof_lines([bytes(32)]),
        "origin\n" + "9" * 40 + "\n" + proof_lines([bytes(32)]),
        "origin\n7\n" + proof_lines([bytes(31)]),
        "origin\n7\nno hash\n",
        "origin\n7\n" + proof_lines([bytes(32)]) + "\nmore\n",
    ],
)
def test_what_is_no_tree_head_is_refused(text: str) -> None:
    assert refusal(parse_tree_head, text) == "proof.bad_note"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        "name+530d903a",
        EXAMPLE_KEY.replace("530d903a", "530d903b"),
        EXAMPLE_KEY[:-4],
        EXAMPLE_KEY.replace("+Aeky", "+Beky"),
        "two words" + EXAMPLE_KEY[15:],
        EXAMPLE_KEY.replace("+Aeky", "+A\u00e9ky"),
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    assert refusal(parse_key, text) == "proof.bad_key"


def test_the_lines_of_a_witness_and_of_a_proof_are_read_one_by_one() -> None:
    line = signed("x\n").signatures[0].line()
    assert parse_signatures(line + line) == signed("x\n").signatures * 2
    assert parse_signatures("") == ()
    assert refusal(parse_signatures, "anything\n") == "proof.bad_note"
    assert [parse_hash(one) for one in proof_lines([bytes(32), b"x" * 32]).splitlines()] == [
        bytes(32),
        b"x" * 32,
    ]
    for bad in ("", "AAAA", "!" * 44):
        assert refusal(parse_hash, bad) == "proof.bad_note"


@given(st.text(max_size=200))
def test_no_text_brings_the_reader_down(text: str) -> None:
    for parse in (parse_note, parse_tree_head, parse_key, parse_signatures, parse_hash):
        with contextlib.suppress(Rejected):
            parse(text)
