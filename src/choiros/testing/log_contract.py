"""What every log promises, as tests that an engine inherits: override the two fixtures."""

# ruff: noqa: D102, PLR0917 - a test's name is its sentence, and pytest passes fixtures by name

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

import pytest

from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.event import GENESIS, Draft, Point, Record, open_records, sealed
from choiros.kernel.log import EventLog

Reopen: TypeAlias = Callable[[], Awaitable[EventLog]]

START = Point(0, GENESIS)
ME, YOU = "me", "you"


def draft(number: int, payload: bytes = b"{}", *, user: str = ME) -> Draft:
    """Return an event to be; the same number gives the same event."""
    return Draft(
        f"01900000-0000-7000-8000-{number:012x}",
        1_780_000_000_000 + number,
        user,
        "user",
        "note",
        payload,
        number.to_bytes(16),
    )


def drafts(numbers: Iterable[int]) -> list[Draft]:
    """Return several events to be."""
    return [draft(number) for number in numbers]


async def read_all(log: EventLog, user: str = ME, after: int = 0) -> list[Record]:
    """Return every record behind a number as one list, after checking the chain."""
    records = [record async for some in log.read(user, after) for record in some]
    if after == 0:
        open_records(records, START)
    return records


async def seqs(log: EventLog, user: str = ME) -> list[int]:
    """Return the numbers of all events."""
    return [record.seq for record in await read_all(log, user)]


async def refused(log: EventLog, batch: list[Draft] | list[Record], *, expect_seq: int | None = None) -> str:
    """Append what must be refused without a trace, and return the code of the refusal."""
    before = await read_all(log)
    with pytest.raises((Rejected, Conflict)) as caught:
        await log.append(ME, batch, expect_seq=expect_seq)
    assert await read_all(log) == before
    return caught.value.code


@pytest.mark.anyio
class LogContract:
    """The promises of `choiros.kernel.log`."""

    @pytest.fixture
    def log(self) -> EventLog:
        """Return an empty log."""
        raise NotImplementedError

    @pytest.fixture
    def reopen(self) -> Reopen:
        """Return what closes the log and opens the same one anew."""
        raise NotImplementedError

    # --- Order ---

    async def test_an_empty_log_stands_before_its_first_event(self, log: EventLog) -> None:
        assert await log.head(ME) == START
        assert await read_all(log) == []
        assert await log.fetch(ME, [1]) == []

    async def test_numbers_start_at_1_and_have_no_gaps(self, log: EventLog) -> None:
        await log.append(ME, drafts([1]))
        await log.append(ME, drafts([2, 3, 4]))
        await log.append(ME, drafts([5]))
        assert await seqs(log) == [1, 2, 3, 4, 5]

    async def test_what_append_returns_is_what_is_read(self, log: EventLog) -> None:
        stored = await log.append(ME, drafts([1, 2])) + await log.append(ME, drafts([3]))
        assert await read_all(log) == stored
        assert [record.id for record in stored] == [one.id for one in drafts([1, 2, 3])]
        assert await log.head(ME) == Point(3, stored[-1].hash)

    async def test_the_order_is_that_of_the_appends_whatever_the_clock_and_the_ids_say(
        self, log: EventLog
    ) -> None:
        for number in (7, 3, 9, 1):
            await log.append(ME, [draft(number)])
        assert [record.id for record in await read_all(log)] == [one.id for one in drafts([7, 3, 9, 1])]

    @pytest.mark.parametrize(
        "payload", [b"", b"{}", bytes(range(256)), b'"' * 1000], ids=["empty", "json", "any byte", "quotes"]
    )
    async def test_payloads_come_back_byte_for_byte(
        self, log: EventLog, reopen: Reopen, payload: bytes
    ) -> None:
        await log.append(ME, [draft(1, payload)])
        assert (await read_all(log))[0].payload == payload
        assert (await read_all(await reopen()))[0].payload == payload

    async def test_an_empty_batch_is_our_own_mistake(self, log: EventLog) -> None:
        with pytest.raises(AssertionError):
            await log.append(ME, [])

    # --- Expected head ---

    async def test_a_writer_that_knows_the_head_is_let_through(self, log: EventLog) -> None:
        await log.append(ME, drafts([1, 2]), expect_seq=0)
        await log.append(ME, drafts([3]), expect_seq=2)
        assert await seqs(log) == [1, 2, 3]

    @pytest.mark.parametrize("expected", [0, 1, 3, 99])
    async def test_a_stale_writer_conflicts_and_writes_nothing(self, log: EventLog, expected: int) -> None:
        await log.append(ME, drafts([1, 2]))
        assert await refused(log, drafts([3, 4]), expect_seq=expected) == "log.stale"
        with pytest.raises(Conflict, match="at event 2") as caught:
            await log.append(ME, drafts([3]), expect_seq=expected)
        assert caught.value.fields["seq"] == 2

    async def test_of_many_writers_with_one_expectation_one_wins(self, log: EventLog) -> None:
        batches = [log.append(ME, drafts([2 * number, 2 * number + 1]), expect_seq=0) for number in range(20)]
        outcomes = await asyncio.gather(*batches, return_exceptions=True)
        won = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert won == [await read_all(log)]
        assert all(isinstance(one, list | Conflict) for one in outcomes)

    # --- One batch ---

    async def test_a_batch_is_stored_as_a_whole_or_not_at_all(self, log: EventLog) -> None:
        await log.append(ME, drafts([1, 2]))
        for place in range(4):
            batch = drafts([3, 4, 5])
            batch.insert(place, draft(2, b"other"))
            assert await refused(log, batch) == "log.id_reused"
        await log.append(ME, drafts([3, 4, 5]), expect_seq=2)

    async def test_an_event_that_cannot_be_stored_is_refused_and_its_neighbours_are_not(
        self, log: EventLog
    ) -> None:
        bad = Draft("bad", 1, ME, "user", "note", b"{}", bytes(16), run_id="\udcff")
        tasks = [log.append(ME, batch) for batch in (drafts([1]), [draft(2), bad], drafts([3]))]
        one, two, three = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert isinstance(two, Rejected)
        assert [one, three] == [[record] for record in await read_all(log)]

    # --- Known ids ---

    async def test_a_repeated_batch_returns_what_is_stored_and_writes_nothing(self, log: EventLog) -> None:
        stored = await log.append(ME, drafts([1, 2, 3]))
        await log.append(ME, drafts([4]))
        for expected in (None, 0, 3, 4):
            assert await log.append(ME, drafts([1, 2, 3]), expect_seq=expected) == stored
        assert await seqs(log) == [1, 2, 3, 4]

    async def test_a_repeated_batch_is_known_after_reopening(self, log: EventLog, reopen: Reopen) -> None:
        stored = await log.append(ME, drafts([1, 2]))
        log = await reopen()
        assert await log.append(ME, drafts([1, 2]), expect_seq=0) == stored
        assert await seqs(log) == [1, 2]

    async def test_a_batch_that_is_repeated_at_the_same_time_is_stored_once(self, log: EventLog) -> None:
        outcomes = await asyncio.gather(*(log.append(ME, drafts([1, 2])) for _ in range(10)))
        assert await seqs(log) == [1, 2]
        assert outcomes == [await read_all(log)] * 10

    @pytest.mark.parametrize("again", [[1, 4], [4, 1], [2, 1], [1, 1], [2, 3], [1, 3], [4, 4]], ids=str)
    async def test_a_batch_that_is_only_partly_the_same_is_refused(
        self, log: EventLog, reopen: Reopen, again: list[int]
    ) -> None:
        await log.append(ME, drafts([1, 2]))
        await log.append(ME, drafts([9]))
        await log.append(ME, drafts([3]))
        assert await refused(log, drafts(again)) == "log.id_reused"
        assert await refused(await reopen(), drafts(again)) == "log.id_reused"

    async def test_a_known_id_with_other_content_is_refused(self, log: EventLog, reopen: Reopen) -> None:
        await log.append(ME, drafts([1]))
        assert await refused(log, [draft(1, b"other")]) == "log.id_reused"
        assert await refused(await reopen(), [draft(1, b"other")]) == "log.id_reused"

    # --- Records that are sealed already ---

    async def test_sealed_records_are_stored_byte_for_byte(self, log: EventLog, reopen: Reopen) -> None:
        stored = sealed(drafts(range(1, 8)), START)
        assert await log.append(ME, stored[:3], expect_seq=0) == stored[:3]
        assert await log.append(ME, stored[3:]) == stored[3:]
        assert await read_all(await reopen()) == stored

    async def test_drafts_follow_sealed_records(self, log: EventLog) -> None:
        stored = await log.append(ME, sealed(drafts([1, 2]), START))
        stored += await log.append(ME, drafts([3]), expect_seq=2)
        assert await read_all(log) == stored

    async def test_an_erased_payload_stays_erased(self, log: EventLog, reopen: Reopen) -> None:
        stored = [record._replace(payload=None) for record in sealed(drafts([1, 2]), START)]
        assert await log.append(ME, stored) == stored
        assert await read_all(await reopen()) == stored

    @pytest.mark.parametrize(
        "change",
        [
            {"seq": 4},
            {"id": "other"},
            {"hash": bytes(32)},
            {"head": b"{}"},
            {"payload": b"other"},
            {"salt": bytes(15)},
        ],
        ids=lambda change: next(iter(change)),
    )
    async def test_a_record_that_is_not_as_it_was_sealed_is_refused(
        self, log: EventLog, change: dict[str, object]
    ) -> None:
        """C-18."""
        one, two, three = sealed(drafts([1, 2, 3]), START)
        await log.append(ME, [one])
        for batch in ([two._replace(**change), three], [two, three._replace(**change)]):
            assert await refused(log, batch) == "log.not_next"
        await log.append(ME, [two, three], expect_seq=1)

    async def test_records_that_do_not_follow_the_head_are_refused(self, log: EventLog) -> None:
        mine, other = sealed(drafts(range(1, 6)), START), sealed(drafts(range(11, 16)), START)
        await log.append(ME, mine[:2])
        for batch in (mine[3:], mine[1:], other[:1], other[2:], [mine[3], mine[2]], [mine[2], mine[2]]):
            assert await refused(log, batch) == "log.not_next"
        assert await refused(log, mine[2:], expect_seq=3) == "log.stale"
        await log.append(ME, mine[2:], expect_seq=2)

    async def test_sealed_records_with_a_known_id_are_refused(self, log: EventLog) -> None:
        stored = await log.append(ME, drafts([1, 2]))
        again = sealed([draft(1)], Point(2, stored[-1].hash))
        assert await refused(log, again) == "log.id_reused"

    async def test_records_that_are_stored_already_are_written_once(
        self, log: EventLog, reopen: Reopen
    ) -> None:
        stored = sealed(drafts([1, 2, 3]), START)
        await log.append(ME, stored)
        for again in (log, await reopen()):
            assert await again.append(ME, stored) == stored
            assert await again.append(ME, stored[1:], expect_seq=0) == stored[1:]
        assert await seqs(again) == [1, 2, 3]

    async def test_refused_records_leave_their_neighbours_alone(self, log: EventLog) -> None:
        stored = sealed(drafts([1, 2, 3]), START)
        tasks = [log.append(ME, batch) for batch in (stored[:1], stored[2:], stored[1:2])]
        one, two, three = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert isinstance(two, Rejected)
        assert [one, three] == [[record] for record in await read_all(log)]

    # --- Two people ---

    async def test_two_people_have_nothing_in_common(self, log: EventLog, reopen: Reopen) -> None:
        mine = await log.append(ME, drafts([1, 2]))
        assert await log.head(YOU) == START
        assert await read_all(log, YOU) == []
        yours = await log.append(YOU, [draft(1, b"yours", user=YOU)], expect_seq=0)
        for again in (log, await reopen()):
            assert await read_all(again, ME) == mine
            assert await read_all(again, YOU) == yours
            assert await again.fetch(YOU, [1, 2]) == yours
        assert [record.seq for record in yours] == [1]

    # --- Reading ---

    @pytest.mark.parametrize("batch", [1, 2, 3, 7, 1000])
    async def test_records_are_read_in_lists_of_bounded_length(self, log: EventLog, batch: int) -> None:
        stored = await log.append(ME, drafts(range(1, 8)))
        lists = [some async for some in log.read(ME, batch=batch)]
        assert [record for some in lists for record in some] == stored
        assert all(0 < len(some) <= batch for some in lists)

    @pytest.mark.parametrize("after", [0, 1, 6, 7, 8, 99])
    @pytest.mark.parametrize("limit", [None, 0, 1, 3, 99])
    async def test_reading_begins_behind_a_number_and_ends_at_a_limit(
        self, log: EventLog, after: int, limit: int | None
    ) -> None:
        stored = await log.append(ME, drafts(range(1, 8)))
        lists = [some async for some in log.read(ME, after, limit=limit, batch=2)]
        assert [record for some in lists for record in some] == stored[after:][:limit]

    async def test_single_records_are_fetched_in_ascending_order(self, log: EventLog) -> None:
        stored = await log.append(ME, drafts(range(1, 8)))
        assert await log.fetch(ME, [5, 2, 5, 7]) == [stored[1], stored[4], stored[6]]
        assert await log.fetch(ME, [0, -1, 8, 99]) == []
        assert await log.fetch(ME, []) == []

    async def test_many_records_are_fetched_at_once(self, log: EventLog) -> None:
        stored = await log.append(ME, drafts(range(1, 2001)))
        assert await log.fetch(ME, range(2000, 0, -1)) == stored

    # --- Following ---

    @pytest.mark.parametrize("after", [0, 1, 3])
    async def test_a_follower_sees_the_past_and_then_each_new_event_once(
        self, log: EventLog, after: int
    ) -> None:
        await log.append(ME, drafts([1, 2, 3]))
        task = asyncio.create_task(followed(log, after, until=8))
        for number in range(4, 9):
            await asyncio.sleep(0.001)
            await log.append(ME, drafts([number]))
        assert await asyncio.wait_for(task, 10) == list(range(after + 1, 9))

    async def test_what_comes_while_a_follower_is_busy_is_not_missed(self, log: EventLog) -> None:
        await log.append(ME, drafts([1]))
        seen: list[int] = []

        async def follow() -> None:
            async for records in log.follow(ME, 0):
                seen.extend(record.seq for record in records)
                if len(seen) >= 20:
                    return
                start = 10 * len(seen)
                await log.append(ME, drafts([start, start + 1]))

        await asyncio.wait_for(follow(), 10)
        assert seen[:20] == list(range(1, 21))

    async def test_followers_of_two_people_see_only_their_own(self, log: EventLog) -> None:
        mine = asyncio.create_task(followed(log, 0, until=2))
        yours = asyncio.create_task(followed(log, 0, until=1, user=YOU))
        await asyncio.sleep(0.001)
        await log.append(ME, drafts([1, 2]))
        await log.append(YOU, [draft(3, user=YOU)])
        assert await asyncio.wait_for(asyncio.gather(mine, yours), 10) == [[1, 2], [1]]

    async def test_a_follower_that_leaves_disturbs_nobody(self, log: EventLog) -> None:
        task = asyncio.create_task(followed(log, 0, until=99))
        await asyncio.sleep(0.001)
        await log.append(ME, drafts([1]))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await log.append(ME, drafts([2]))
        assert await seqs(log) == [1, 2]

    # --- Much at once ---

    async def test_a_big_batch_is_one_batch(self, log: EventLog, reopen: Reopen) -> None:
        stored = await log.append(ME, drafts(range(5000)))
        assert len(stored) == 5000
        assert await read_all(await reopen()) == stored

    async def test_large_payloads_are_kept(self, log: EventLog, reopen: Reopen) -> None:
        payload = bytes(range(256)) * 4096
        stored = await log.append(ME, [draft(number, payload) for number in range(8)])
        assert await read_all(await reopen()) == stored
        assert {len(record.payload or b"") for record in stored} == {1 << 20}

    async def test_100_writers_at_once_leave_one_order_without_gaps(
        self, log: EventLog, reopen: Reopen
    ) -> None:
        async def write(writer: int) -> list[list[Record]]:
            written: list[list[Record]] = []
            for turn in range(3):
                first = 1000 * writer + 10 * turn
                written.append(await log.append(ME, drafts(range(first, first + 1 + writer % 3))))
            return written

        batches = [batch for some in await asyncio.gather(*map(write, range(100))) for batch in some]
        stored = await read_all(await reopen())
        assert sorted(record for batch in batches for record in batch) == stored
        for batch in batches:
            assert batch == stored[batch[0].seq - 1 : batch[-1].seq]

    # --- The end ---

    async def test_a_reopened_log_goes_on_where_it_was(self, log: EventLog, reopen: Reopen) -> None:
        stored = await log.append(ME, drafts([1, 2]))
        head = await log.head(ME)
        log = await reopen()
        assert await log.head(ME) == head
        stored += await log.append(ME, drafts([3]), expect_seq=2)
        assert await read_all(log) == stored

    async def test_closing_finishes_what_was_accepted(self, log: EventLog, reopen: Reopen) -> None:
        tasks = [asyncio.create_task(log.append(ME, drafts([number]))) for number in range(1, 51)]
        await asyncio.sleep(0)
        again = await reopen()
        stored = [record for task in tasks for record in await asyncio.wait_for(task, 10)]
        assert await read_all(again) == stored
        assert len(stored) == 50

    async def test_a_caller_that_stops_waiting_leaves_a_whole_log(
        self, log: EventLog, reopen: Reopen
    ) -> None:
        tasks = [
            asyncio.create_task(log.append(ME, drafts([2 * number, 2 * number + 1]))) for number in range(9)
        ]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        stored = await read_all(await reopen())
        kept = [record for one in outcomes if isinstance(one, list) for record in one]
        assert set(kept) <= set(stored)
        assert len(stored) % 2 == 0

    async def test_closing_an_unused_log_is_no_error(self, log: EventLog) -> None:
        await log.close()


async def followed(log: EventLog, after: int, *, until: int, user: str = ME) -> list[int]:
    """Follow up to a number and return the numbers seen."""
    seen: list[int] = []
    async for records in log.follow(user, after):
        seen.extend(record.seq for record in records)
        if seen[-1] >= until:
            break
    return seen
