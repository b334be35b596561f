"""What is signed is what is stored, computed twice; and a witness signs nothing but continuations."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from choiros.features.proof.commands import RotateKey, TrustLog, WitnessLog
from choiros.features.proof.decide import decide_trust, decide_witness, endorsement
from choiros.features.proof.events import KeyChanged, LogSeen, LogSigned, LogTrusted
from choiros.features.proof.merkle import consistency_proof
from choiros.features.proof.note import checked, parse_key, parse_note, parse_tree_head, proof_lines
from choiros.kernel.command import Context
from choiros.kernel.errors import ChoirError, Conflict, Corrupt, Rejected, Unavailable
from tests.unit.features.proof.logs import SignedLog, chained, edited, replaced
from tests.unit.features.proof.trees import mth

ME = Context("me")


def told(story: Callable[[SignedLog], Coroutine[None, None, None]]) -> None:
    asyncio.run(story(SignedLog()))


# --- Signing ---


def test_the_first_signature_makes_the_key_and_tells_what_the_log_is() -> None:
    """F-46."""

    async def story(log: SignedLog) -> None:
        await log.live(5)
        key, signed = [event.payload for event in await log.sign()]
        assert isinstance(key, KeyChanged)
        assert isinstance(signed, LogSigned)
        heads = [record.head for record in await log.records()][:5]
        note = parse_note(signed.note)
        head = parse_tree_head(note.text)
        assert (signed.size, bytes.fromhex(signed.root)) == (5, mth(heads)) == (head.size, head.root)
        assert head.origin == await log.loader.origin() == parse_key(key.key).name
        assert checked(note, parse_key(key.key), verify=log.signer.verify) == "valid"

    told(story)


def test_two_logs_of_one_person_have_different_names() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(1)
        other = SignedLog()
        await other.happen(LogTrusted("o", "k"))
        assert await other.loader.origin() != await log.loader.origin()

    told(story)


def test_a_later_signature_uses_the_same_key_and_covers_all_before_it() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(5)
        await log.sign()
        await log.live(300)
        (signed,) = [event.payload for event in await log.sign()]
        assert isinstance(signed, LogSigned)
        records = await log.records()
        assert bytes.fromhex(signed.root) == mth([record.head for record in records][: signed.size])
        assert len(log.signer.publics()) == 1

    told(story)


def test_nothing_is_signed_when_nothing_came_since() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(5)
        await log.sign()
        assert await log.sign() == []
        await log.live(1)
        assert len(await log.sign()) == 1

    told(story)


def test_a_key_that_was_made_before_a_crash_is_used_and_no_second_one_made() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(1)
        spare = log.signer.create()
        await log.sign()
        assert [parse_key(one.key).public for one in log.view.signing_keys()] == [spare]

    told(story)


def test_tables_that_tell_of_another_tree_are_never_signed() -> None:
    """A wrong bit under a signature can never be taken back."""

    async def story(log: SignedLog) -> None:
        await log.live(300)
        (row,) = log.tables.query("SELECT hashes FROM tiles WHERE place = 1")
        tile = bytearray(bytes(row[0]))  # pyright: ignore[reportArgumentType]
        tile[40] ^= 1
        log.tables.run("UPDATE tiles SET hashes = ? WHERE place = 1", [(bytes(tile),)])
        with pytest.raises(Corrupt) as caught:
            await log.sign()
        assert caught.value.code == "proof.tree_differs"
        assert log.view.last() is None

    told(story)


def test_a_log_whose_signed_beginning_is_another_one_is_never_signed_again() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(5)
        await log.sign()
        records = await log.records()
        forged = chained([edited(records[1], b"name 1", b"forged"), *records[2:]])
        other = await replaced(log, [records[0], *chained([records[0], *forged])[1:]])
        await other.live(1)
        with pytest.raises(Corrupt) as caught:
            await other.sign()
        assert caught.value.code == "proof.tree_differs"

    told(story)


def test_a_missing_private_half_is_told_and_a_new_key_goes_on_without_its_word() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(1)
        await log.sign()
        log.signer._keys.clear()
        log.signer._seed = b"another computer"
        await log.live(1)
        with pytest.raises(Unavailable) as caught:
            await log.sign()
        assert caught.value.code == "signer.no_key"
        (changed,) = [event.payload for event in await log.rotate()]
        assert isinstance(changed, KeyChanged)
        assert (changed.note, bool(changed.before)) == ("", True)
        assert len(await log.sign()) == 1

    told(story)


def test_a_changed_key_has_the_word_of_the_one_before() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(1)
        await log.sign()
        before = await log.loader.key()
        (changed,) = [event.payload for event in await log.rotate()]
        assert isinstance(changed, KeyChanged)
        assert before is not None
        key = parse_key(changed.key)
        assert (changed.before, key.name) == (str(before), before.name)
        assert key.public != before.public
        note = parse_note(changed.note)
        assert note.text == endorsement(key)
        assert checked(note, before, verify=log.signer.verify) == "valid"

    told(story)


def test_a_key_may_be_made_before_anything_is_signed() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(1)
        state = await log.loader.rotate(RotateKey(), ME)
        assert (state.before, state.note) == ("", "")

    told(story)


# --- The tail at every start ---


def test_a_log_that_goes_on_from_what_was_remembered_is_the_same() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(5)
        await log.loader.check_tail("")
        await log.sign()
        await log.live(300)
        await log.loader.check_tail(log.signer.remembered("me"))

    told(story)


async def refused(checking: Coroutine[None, None, object]) -> str:
    with pytest.raises(ChoirError) as caught:
        await checking
    assert caught.value.fix
    return caught.value.code


def test_an_older_copy_of_the_log_is_found_at_the_start() -> None:
    """F-46: rolling the database back is detected."""

    async def story(log: SignedLog) -> None:
        await log.live(9)
        before = await log.records()
        await log.sign()
        older = await replaced(log, before[:5])
        assert await refused(older.loader.check_tail(log.signer.remembered("me"))) == "log.rolled_back"

    told(story)


def test_a_log_that_was_rewritten_with_a_sound_chain_is_found_at_the_start() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(9)
        await log.sign()
        records = await log.records()
        forged = chained([records[0], edited(records[1], b"name 1", b"forged"), *records[2:]])
        other = await replaced(log, forged)
        assert await refused(other.loader.check_tail(log.signer.remembered("me"))) == "log.forked"

    told(story)


def test_a_tail_that_was_rewritten_behind_the_tables_is_found_at_the_start() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(9)
        await log.sign()
        await log.live(3)
        records = await log.records()
        log.log._records["me"] = chained([*records[:-1], edited(records[-1], b"name", b"NAME")])
        assert await refused(log.loader.check_tail(log.signer.remembered("me"))) == "log.forked"

    told(story)


# --- Being a witness ---


class Pair:
    """A log, and a second computer that is its witness."""

    def __init__(self) -> None:
        self.log, self.other = SignedLog(), SignedLog("tower")

    async def trust(self) -> None:
        await self.other.live(1)
        await self.log.live(4)
        await self.log.sign()
        key = str(await self.log.loader.key())
        await self.other.happen(*decide_trust(TrustLog(key), None).payloads)

    def request(self, old: int, note: str, size: int) -> str:
        return f"old {old}\n{proof_lines(consistency_proof(old, size, node=self.log.view.node))}\n{note}"

    async def show(self, request: str) -> LogSeen:
        command = WitnessLog(request)
        decision = decide_witness(command, await self.other.loader.witness(command, ME))
        await self.other.happen(*decision.payloads)
        (seen,) = decision.payloads
        assert isinstance(seen, LogSeen)
        return seen

    @property
    def newest(self) -> LogSigned:
        last = self.log.view.last()
        assert last is not None
        return LogSigned(last.size, last.root, last.note)


def paired(story: Callable[[Pair], Coroutine[None, None, None]]) -> None:
    asyncio.run(story(Pair()))


def test_a_witness_follows_a_log_that_continues() -> None:
    async def story(pair: Pair) -> None:
        await pair.trust()
        first = pair.newest
        seen = await pair.show(pair.request(0, first.note, first.size))
        assert (seen.size, seen.root, seen.time_s) == (
            first.size,
            first.root,
            pair.other.clock.now_ms() // 1000,
        )
        await pair.log.live(30)
        await pair.log.sign()
        second = pair.newest
        assert (await pair.show(pair.request(first.size, second.note, second.size))).size == second.size
        again = await pair.show(pair.request(second.size, second.note, second.size))
        assert again.size == second.size

    paired(story)


def test_a_witness_refuses_what_it_has_not_agreed_to_or_is_not_signed() -> None:
    async def story(pair: Pair) -> None:
        await pair.log.live(4)
        await pair.log.sign()
        await pair.other.live(1)
        request = pair.request(0, pair.newest.note, pair.newest.size)
        assert await refused(pair.show(request)) == "witness.unknown_log"
        await pair.trust()
        request = pair.request(0, pair.newest.note, pair.newest.size)
        await pair.log.rotate()
        await pair.log.live(1)
        await pair.log.sign()
        newer = pair.request(0, pair.newest.note, pair.newest.size)
        assert await refused(pair.show(newer)) == "witness.not_signed"
        assert (await pair.show(request)).size > 0

    paired(story)


def test_a_witness_never_goes_back_and_tells_where_it_is() -> None:
    async def story(pair: Pair) -> None:
        await pair.trust()
        first = pair.newest
        await pair.log.live(9)
        await pair.log.sign()
        await pair.show(pair.request(0, pair.newest.note, pair.newest.size))
        with pytest.raises(Conflict) as caught:
            await pair.show(pair.request(0, first.note, first.size))
        assert caught.value.fields["size"] == pair.newest.size
        assert (
            await refused(pair.show(pair.request(0, pair.newest.note, pair.newest.size)))
            == "witness.other_size"
        )

    paired(story)


def test_two_views_of_one_log_cannot_both_be_witnessed() -> None:
    """The owner of the key shows one history to some and another one to others."""

    async def story(pair: Pair) -> None:
        await pair.trust()
        first = pair.newest
        await pair.show(pair.request(0, first.note, first.size))
        records = await pair.log.records()
        forged = await replaced(
            pair.log, chained([records[0], edited(records[1], b"name 1", b"forged"), *records[2:4]])
        )
        await forged.happen(KeyChanged(str(await pair.log.loader.key())))
        await forged.live(20)
        await forged.sign()
        last = forged.view.last()
        assert last is not None
        hashes = proof_lines(consistency_proof(first.size, last.size, node=forged.view.node))
        request = f"old {first.size}\n{hashes}\n{last.note}"
        with pytest.raises(Rejected) as caught:
            await pair.show(request)
        assert caught.value.code == "witness.not_a_continuation"
        assert caught.value.fields["newest"] == first.note

    paired(story)


TOO_MANY = "\n".join(["A" * 43 + "="] * 64)


@pytest.mark.parametrize(
    "request_text",
    [
        "",
        "old 0\n",
        "new 0\n\nnote",
        "old x\n\nnote",
        "old -1\n\nnote",
        "old \u0667\n\nnote",
        "old 0\nnothing\n\nnote",
        "old 0\n\nnote",
        f"old 0\n{TOO_MANY}\n\nnote",
    ],
)
def test_what_is_no_request_is_refused(request_text: str) -> None:
    async def story(pair: Pair) -> None:
        await pair.trust()
        assert (await refused(pair.show(request_text))).startswith("proof.bad_")

    paired(story)
