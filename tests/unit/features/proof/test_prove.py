"""A proof shows one event to somebody who has nothing but the key; a changed one shows nothing."""

import asyncio
import base64
import json
import zlib
from collections.abc import Callable, Coroutine

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choiros.features.proof.note import COSIGNED, Key, Signature, cosigned, parse_key, parse_note
from choiros.features.proof.prove import Proven, check_proof, parse_proof, proof_file
from choiros.kernel.errors import Rejected
from tests.unit.features.proof.logs import SignedLog


async def proved(log: SignedLog, seq: int, extra: str = "") -> str:
    last = log.view.last()
    assert last is not None
    record = (await log.records())[seq - 1]
    return proof_file(record, log.view, size=last.size, note=last.note + extra)


def checked(log: SignedLog, text: str, *witnesses: Key) -> Proven:
    keys = [parse_key(one.key) for one in log.view.signing_keys()]
    return check_proof(parse_proof(text), keys=keys, witnesses=witnesses, verify=log.signer.verify)


def told(story: Callable[[SignedLog], Coroutine[None, None, None]], events: int = 300) -> None:
    async def begun() -> None:
        log = SignedLog()
        await log.live(events)
        await log.sign()
        await story(log)

    asyncio.run(begun())


def refusal(log: SignedLog, text: str) -> str:
    with pytest.raises(Rejected) as caught:
        checked(log, text)
    assert caught.value.fix
    return caught.value.code


def test_every_event_before_a_signature_can_be_proved() -> None:
    async def story(log: SignedLog) -> None:
        for seq in (1, 2, 7, 255, 256, 257, 299, 300):
            proven = checked(log, await proved(log, seq))
            record = (await log.records())[seq - 1]
            assert (proven.seq, proven.size) == (seq, 300)
            assert bytes(proven.head) == record.head
            assert proven.payload is not None
            assert bytes(proven.payload) == record.payload

    told(story)


def test_the_file_has_the_form_that_others_read() -> None:
    """C2SP tlog-proof: a first line, extra, index, hashes, an empty line, a signed point."""

    async def story(log: SignedLog) -> None:
        lines = (await proved(log, 7)).split("\n")
        assert lines[0] == "c2sp.org/tlog-proof@v1"
        assert lines[1].startswith("extra ")
        assert lines[2] == "index 6"
        assert all(len(base64.b64decode(line)) == 32 for line in lines[3 : lines.index("")])

    told(story)


def test_an_erased_payload_leaves_a_proof_that_the_event_was_there() -> None:
    async def story(log: SignedLog) -> None:
        record = (await log.records())[6]._replace(payload=None, salt=b"")
        last = log.view.last()
        assert last is not None
        proven = checked(log, proof_file(record, log.view, size=last.size, note=last.note))
        assert (proven.seq, proven.payload) == (7, None)

    told(story)


def test_without_a_key_that_is_believed_nothing_is_proved() -> None:
    async def story(log: SignedLog) -> None:
        text = await proved(log, 7)
        proof = parse_proof(text)
        other = Key(proof.tree.origin, SignedLog(seed=b"x").signer.create())
        for keys, code in (([], "proof.unknown_key"), ([other], "proof.unknown_key")):
            with pytest.raises(Rejected) as caught:
                check_proof(proof, keys=keys, witnesses=[], verify=log.signer.verify)
            assert caught.value.code == code or "key" in caught.value.message
        forged = text.replace(base64.b64encode(bytes(4)).decode(), "")
        assert checked(log, forged).seq == 7

    told(story)


def test_who_has_seen_it_is_told_where_the_key_is_known() -> None:
    async def story(log: SignedLog) -> None:
        signer = SignedLog(seed=b"tower").signer
        key = Key("tower", signer.create(), COSIGNED)
        last = log.view.last()
        assert last is not None
        raw = signer.sign(key.public, cosigned(parse_note(last.note).text, 7))
        line = Signature(key.name, key.id, (7).to_bytes(8) + raw).line()
        text = await proved(log, 7, line)
        assert checked(log, text, key).witnesses == ("tower",)
        assert (checked(log, text).witnesses, checked(log, text).unknown) == ((), ("tower",))

    told(story)


def shown(text: str, **changes: object) -> str:
    """Return a proof whose `extra` line shows something else."""
    lines = text.split("\n")
    plain = json.loads(zlib.decompress(base64.b64decode(lines[1][6:])))
    changed = json.dumps({**plain, **changes}).encode()
    lines[1] = "extra " + base64.b64encode(zlib.compress(changed)).decode()
    return "\n".join(lines)


def test_another_content_head_salt_or_place_is_not_believed() -> None:
    async def story(log: SignedLog) -> None:
        text = await proved(log, 7)
        plain = json.loads(zlib.decompress(base64.b64decode(text.split("\n")[1][6:])))
        assert refusal(log, shown(text, payload=plain["payload"].replace("name", "NAME"))) == "proof.wrong"
        assert refusal(log, shown(text, head=plain["head"].replace('"user"', '"agent"'))) == "proof.wrong"
        assert refusal(log, shown(text, salt="00" * 16)) == "proof.wrong"
        assert refusal(log, shown(text, salt=plain["salt"] + "00")) == "proof.bad_file"
        assert refusal(log, shown(text, salt="no salt")) == "proof.bad_file"
        assert refusal(log, text.replace("index 6", "index 5")) == "proof.wrong"
        assert refusal(log, text.replace("index 6", "index 300")) == "proof.wrong"
        assert refusal(log, shown(text, head="no json")) == "proof.wrong"

    told(story)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text[1:],
        lambda text: text.replace("@v1", "@v2"),
        lambda text: text.replace("extra ", "extra"),
        lambda text: text.replace("index 6", "index 06"),
        lambda text: text.replace("index 6", "index -6"),
        lambda text: text.replace("index 6", "index " + "6" * 5000),
        lambda text: text.replace("index 6\n", ""),
        lambda text: text.partition("\n\n")[0],
        lambda text: text.replace("\n\n", "\n" + "A" * 44 + "\n\n", 1),
        lambda text: text.replace("\n\n", "\nno hash\n\n", 1),
        lambda text: text.replace("extra e", "extra f"),
        lambda text: text[:-30],
    ],
)
def test_what_is_no_proof_file_is_refused(change: Callable[[str], str]) -> None:
    async def story(log: SignedLog) -> None:
        assert refusal(log, change(await proved(log, 7))).startswith("proof.")

    told(story)


def test_what_unpacks_to_more_than_any_event_is_refused() -> None:
    async def story(log: SignedLog) -> None:
        lines = (await proved(log, 7)).split("\n")
        bomb = zlib.compress(b'{"head":"' + b"x" * (64 << 20) + b'"}', 9)
        lines[1] = "extra " + base64.b64encode(bomb).decode()
        assert refusal(log, "\n".join(lines)) == "proof.bad_file"

    told(story)


def made() -> tuple[SignedLog, str]:
    async def begun() -> tuple[SignedLog, str]:
        log = SignedLog()
        await log.live(40)
        await log.sign()
        return log, await proved(log, 13)

    return asyncio.run(begun())


LOG, TEXT = made()


@settings(max_examples=300)
@given(st.integers(0, len(TEXT) - 1), st.characters(codec="utf-8"))
def test_a_proof_with_any_letter_changed_shows_the_same_or_nothing(place: int, letter: str) -> None:
    changed = TEXT[:place] + letter + TEXT[place + 1 :]
    try:
        proven = checked(LOG, changed)
    except Rejected:
        return
    assert proven == checked(LOG, TEXT)


@given(st.integers(0, len(TEXT) - 1))
def test_a_proof_that_was_cut_shows_nothing(length: int) -> None:
    with pytest.raises(Rejected):
        checked(LOG, TEXT[:length])
