"""Editing, deleting, inserting, reordering, truncating, rolling back: all found, and named (F-06, F-08)."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence

import pytest

from choiros.features.proof.events import LogSigned, WitnessAnswered
from choiros.features.proof.note import COSIGNED, Key, Signature, cosigned, parse_note
from choiros.features.proof.verify import Claim, Verified, Verifier
from choiros.kernel.errors import Corrupt
from choiros.kernel.event import Record
from tests.unit.features.proof.logs import SignedLog, chained, edited, replaced
from tests.unit.features.proof.trees import mth

Harm = Callable[[list[Record]], list[Record]]


def told(story: Callable[[SignedLog], Coroutine[None, None, None]]) -> None:
    asyncio.run(story(SignedLog()))


async def grown(log: SignedLog) -> SignedLog:
    """Return the log after a life in which it was signed three times."""
    for _ in range(3):
        await log.live(12)
        await log.sign()
    await log.live(4)
    return log


def places(found: Verified) -> list[int]:
    return [one.seq for one in found.problems]


def test_a_sound_log_verifies_with_its_tree_its_signatures_and_its_memories() -> None:
    async def story(log: SignedLog) -> None:
        await grown(log)
        found = await log.check(Claim("w", await log.witness.newest(await log.loader.origin())))
        heads = [record.head for record in await log.records()]
        assert found.problems == ()
        assert (found.first, found.last, found.root) == (1, len(heads), mth(heads).hex())
        assert (found.signed, found.claims) == (3, 2)
        last = log.view.last()
        assert last is not None
        assert found.signed_until == last.size

    told(story)


@pytest.mark.parametrize(("after", "until"), [(0, 20), (13, None), (20, 40), (5, 5), (30, None)])
def test_a_part_of_a_sound_log_verifies(after: int, until: int | None) -> None:
    async def story(log: SignedLog) -> None:
        await grown(log)
        found = await log.check(after=after, until=until)
        assert found.problems == ()
        assert (found.first, found.last) == (after + 1, until or (await log.journal.head()).seq)

    told(story)


# --- Somebody has the disk, and not the keys ---


def edit(records: list[Record]) -> list[Record]:
    return [*records[:5], edited(records[5], b"name ", b"NAME "), *records[6:]]


def delete(records: list[Record]) -> list[Record]:
    return records[:5] + records[6:]


def insert(records: list[Record]) -> list[Record]:
    return [*records[:5], edited(records[5], b"name ", b"more ")._replace(id="new"), *records[5:]]


def reorder(records: list[Record]) -> list[Record]:
    return [*records[:5], records[6], records[5], *records[7:]]


def truncate(records: list[Record]) -> list[Record]:
    return records[:20]


def truncate_all_that_is_signed(records: list[Record]) -> list[Record]:
    return records[:8]


HARMS: Sequence[Harm] = [edit, delete, insert, reorder]


@pytest.mark.parametrize("harm", HARMS)
def test_a_plain_change_breaks_the_chain_and_the_place_is_named(harm: Harm) -> None:
    async def story(log: SignedLog) -> None:
        await grown(log)
        log.log._records["me"] = harm(await log.records())
        with pytest.raises(Corrupt) as caught:
            await log.check()
        assert caught.value.code == "log.broken"
        assert caught.value.fields["seq"] in {6, 7}

    told(story)


@pytest.mark.parametrize("harm", [*HARMS, truncate, truncate_all_that_is_signed])
@pytest.mark.parametrize("rebuilt", [False, True], ids=["tables as they were", "tables made again"])
def test_a_change_with_the_chain_computed_anew_contradicts_what_was_signed(
    *, harm: Harm, rebuilt: bool
) -> None:
    """Whoever has no key can compute a chain, but no signature and no memory of it elsewhere."""

    async def story(log: SignedLog) -> None:
        await grown(log)
        forged = chained(harm(await log.records()))
        if rebuilt:
            log = await replaced(log, forged)
        else:
            log.log._records["me"] = forged
        found = await log.check(Claim("The witness", await log.witness.newest(await log.loader.origin())))
        assert found.problems
        assert all(one.what and one.fix for one in found.problems)

    told(story)


def test_an_older_copy_put_in_place_whole_is_found_by_what_is_remembered() -> None:
    """Rolling back to a backup: everything in it is sound."""

    async def story(log: SignedLog) -> None:
        await log.live(12)
        await log.sign()
        backup = await log.records()
        await log.live(12)
        await log.sign()
        other = await replaced(log, backup)
        found = await other.check()
        assert "ends at event" in found.problems[0].what
        other.signer._texts.clear()
        assert (await other.check()).problems == (), "without a memory nobody can tell"
        kept = await log.witness.newest(await log.loader.origin())
        assert "The witness" in (await other.check(Claim("The witness", kept))).problems[0].what

    told(story)


# --- Somebody has the log and the keys, but not the witness ---


def test_a_history_rewritten_with_the_key_is_found_by_a_witness_and_by_nobody_else() -> None:
    async def story(log: SignedLog) -> None:
        await grown(log)
        kept = await log.witness.newest(await log.loader.origin())
        records = await log.records()
        forged = await replaced(
            log, chained([records[0], edited(records[1], b"name ", b"NAME "), *records[2:12]])
        )
        forged.signer._texts.clear()
        await forged.sign()
        await forged.live(40)
        await forged.sign()
        assert (await forged.check()).problems == (), "the key's holder can sign any history"
        (problem,) = (await forged.check(Claim("The witness", kept))).problems
        assert problem.what.startswith("The witness tells of other first")

    told(story)


# --- Keys ---


def test_a_changed_key_is_believed_with_the_word_of_the_former_one_and_loud_without() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(3)
        await log.sign()
        await log.rotate()
        await log.live(3)
        await log.sign()
        assert (await log.check()).problems == ()
        log.signer._keys.clear()
        log.signer._seed = b"somebody else"
        await log.rotate()
        await log.live(1)
        await log.sign()
        (problem,) = (await log.check()).problems
        assert "without the former one's word" in problem.what

    told(story)


def test_a_point_signed_with_a_key_that_was_given_up_is_not_believed() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(3)
        await log.sign()
        old = await log.loader.key()
        await log.rotate()
        assert old is not None
        await log.live(1)
        size = (await log.journal.head()).seq
        text = f"{old.name}\n{size}\n" + parse_note(log.signer.remembered("me")).text.split("\n")[2] + "\n"
        note = text + "\n" + Signature(old.name, old.id, log.signer.sign(old.public, text.encode())).line()
        root = log.view.root(3).hex()
        await log.happen(LogSigned(size, root, note))
        (problem,) = (await log.check()).problems
        assert "not signed with the key that was in force" in problem.what

    told(story)


def test_a_signed_point_that_contradicts_itself_is_named() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(3)
        await log.sign()
        note = log.signer.remembered("me")
        await log.happen(LogSigned(2, "00" * 32, note), LogSigned(3, log.view.root(2).hex(), note))
        problems = (await log.check()).problems
        assert ["contradicts itself" in one.what for one in problems] == [True, True]

    told(story)


# --- Claims and witnesses ---


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda note: "nonsense", "cannot be read"),
        (lambda note: note.replace("choiros/me/", "choiros/you/", 1), "of another log"),
        (lambda note: note.replace("\n3\n", "\n2\n", 1), "no key of this log"),
    ],
)
def test_a_memory_that_is_none_is_named(change: Callable[[str], str], said: str) -> None:
    async def story(log: SignedLog) -> None:
        await log.live(3)
        await log.sign()
        (problem,) = (await log.check(Claim("The stick", change(log.signer.remembered("me"))))).problems
        assert said in problem.what
        assert "The stick" in problem.what

    told(story)


def test_a_memory_of_what_lies_before_the_part_that_is_read_is_compared_too() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(3)
        await log.sign()
        kept = log.signer.remembered("me")
        await log.live(9)
        assert (await log.check(Claim("w", kept), after=8)).problems == ()
        log.tables.run("UPDATE tiles SET hashes = zeroblob(length(hashes))", [()])
        assert (await log.check(Claim("w", kept), after=8)).problems

    told(story)


def test_signatures_of_witnesses_are_checked_where_their_keys_are_known() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(3)
        await log.sign()
        other = SignedLog("tower", seed=b"tower")
        key = Key("tower", other.signer.create(), COSIGNED)
        last = log.view.last()
        assert last is not None
        raw = other.signer.sign(key.public, cosigned(parse_note(last.note).text, 7))
        line = Signature(key.name, key.id, (7).to_bytes(8) + raw)
        await log.happen(WitnessAnswered("tower", last.size, line.line()))
        assert ((await log.check()).witnessed, (await log.check(witnesses=[key])).witnessed) == (0, 1)
        assert (await log.check(witnesses=[key])).problems == ()
        wrong = Signature(key.name, key.id, (8).to_bytes(8) + raw)
        (event,) = await log.happen(WitnessAnswered("tower", last.size, wrong.line()))
        assert places(await log.check(witnesses=[key])) == [event.seq]

    told(story)


def test_erased_payloads_leave_the_rest_as_sound_as_before() -> None:
    async def story(log: SignedLog) -> None:
        await grown(log)
        records = await log.records()
        log.log._records["me"] = [
            one._replace(payload=None, salt=b"") if 2 <= one.seq <= 9 else one for one in records
        ]
        assert (await log.check()).problems == ()

    told(story)


def test_tables_that_tell_of_another_tree_are_named_with_what_to_do() -> None:
    async def story(log: SignedLog) -> None:
        await grown(log)
        log.tables.run("UPDATE tiles SET hashes = zeroblob(length(hashes))", [()])
        (problem,) = (await log.check()).problems
        assert "rebuild" in problem.fix

    told(story)


def test_how_far_it_is_can_be_told() -> None:
    async def story(log: SignedLog) -> None:
        await log.live(1200)
        steps: list[tuple[int, int]] = []
        verifier = Verifier(
            log.journal,
            log.view,
            origin=await log.loader.origin(),
            verify=log.signer.verify,
            progress=lambda done, total: steps.append((done, total)),
        )
        await verifier.check([])
        assert steps[-1] == (1200, 1200)
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)

    told(story)
