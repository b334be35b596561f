"""What is stored of an event, and that no byte of it can change unseen."""

import hashlib
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.event import (
    EVENT_DOMAIN,
    GENESIS,
    PAYLOAD_DOMAIN,
    SALT_BYTES,
    Draft,
    Event,
    Labels,
    Point,
    Record,
    link,
    open_records,
    payload_digest,
    seal,
)

START = Point(0, GENESIS)
FIRST = Draft(
    "01900000-0000-7000-8000-000000000001",
    1780000000000,
    "me",
    "user",
    "note",
    '{"text":"café"}'.encode(),
    bytes(range(16)),
)
SECOND = Draft(
    "01900000-0000-7000-8000-000000000002",
    1780000000001,
    "me",
    "agent",
    "file.write",
    b"{}",
    bytes(16),
    "s1",
    "r1",
    FIRST.id,
    Labels(("web", "person"), private=True),
    3,
)
# Stored by version 0.1. These bytes are on people's disks: they never change, whatever the program becomes.
FIRST_HEAD = (
    b'{"id":"01900000-0000-7000-8000-000000000001","seq":1,"timestamp":1780000000000,"user_id":"me",'
    b'"source":"user","event_type":"note",'
    b'"payload_hash":"493d2fbb469db71fcfdeb078c48ac112edbec310b7bd181bbcda90a3782497d6",'
    b'"session_id":null,"run_id":null,"cause":null,"labels":{},"v":1}'
)
SECOND_HEAD = (
    b'{"id":"01900000-0000-7000-8000-000000000002","seq":2,"timestamp":1780000000001,"user_id":"me",'
    b'"source":"agent","event_type":"file.write",'
    b'"payload_hash":"0266a73cde1305a8c10b4551e96f1ffad3ee0cfc46beee1685fd09fc76c86a8d",'
    b'"session_id":"s1","run_id":"r1","cause":"01900000-0000-7000-8000-000000000001",'
    b'"labels":{"origin":["web","person"],"private":true},"v":3}'
)
FIRST_HASH = "373b1660b19ba4ab99740b05f70bc85c1e6d663299e4e83ca2ff54e859344d8e"
SECOND_HASH = "972afc4e5c7483fdc3de5a58a85bbff712992d120ed124b46d561a488cfe883e"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
drafts = st.builds(
    Draft,
    id=texts,
    timestamp=st.integers(-(2**53) + 1, 2**53 - 1),
    user_id=texts,
    source=st.sampled_from(["user", "agent", "system"]),
    event_type=texts,
    payload=st.binary(max_size=50),
    salt=st.binary(min_size=16, max_size=16),
    session_id=st.none() | texts,
    run_id=st.none() | texts,
    cause=st.none() | texts,
    labels=st.builds(Labels, st.lists(texts, max_size=3).map(tuple), st.booleans()),
    v=st.integers(1, 9),
)


def chain(*wanted: Draft) -> list[Record]:
    records: list[Record] = []
    point = START
    for draft in wanted:
        records.append(seal(draft, point))
        point = Point(records[-1].seq, records[-1].hash)
    return records


def refused(records: list[Record], after: Point = START) -> int:
    """Return the number of the event that is named as damaged."""
    with pytest.raises(Corrupt) as caught:
        open_records(records, after)
    assert caught.value.code == "log.broken"
    seq = caught.value.fields["seq"]
    assert isinstance(seq, int)
    assert f"event {seq}" in caught.value.message
    return seq


def test_the_stored_bytes_are_those_of_version_0_1() -> None:
    first, second = chain(FIRST, SECOND)
    assert first == (1, FIRST.id, FIRST_HEAD, FIRST.salt, FIRST.payload, bytes.fromhex(FIRST_HASH))
    assert second == (2, SECOND.id, SECOND_HEAD, SECOND.salt, SECOND.payload, bytes.fromhex(SECOND_HASH))


def test_the_hashes_are_those_that_the_format_describes() -> None:
    salted = hashlib.sha256(
        b"choir-payload-1\x00" + bytes(range(16)) + '{"text":"café"}'.encode()
    ).hexdigest()
    assert salted.encode() in FIRST_HEAD
    first = hashlib.sha256(b"choir-event-1\x00" + bytes(32) + (275).to_bytes(8) + FIRST_HEAD).digest()
    assert first.hex() == FIRST_HASH
    length = len(SECOND_HEAD).to_bytes(8)
    assert hashlib.sha256(b"choir-event-1\x00" + first + length + SECOND_HEAD).hexdigest() == SECOND_HASH


def test_records_of_version_0_1_are_read() -> None:
    stored = [
        Record(1, FIRST.id, FIRST_HEAD, FIRST.salt, FIRST.payload, bytes.fromhex(FIRST_HASH)),
        Record(2, SECOND.id, SECOND_HEAD, SECOND.salt, SECOND.payload, bytes.fromhex(SECOND_HASH)),
    ]
    first, second = open_records(stored, START)
    assert (first.seq, first.labels, first.run_id, first.v) == (
        1,
        Labels(("person",), private=False),
        None,
        1,
    )
    assert (second.seq, second.labels, second.run_id, second.v) == (2, SECOND.labels, "r1", 3)


@given(st.lists(drafts, max_size=4))
def test_whatever_is_sealed_is_read_as_it_was(wanted: list[Draft]) -> None:
    heads = open_records(chain(*wanted), START)
    assert [head.seq for head in heads] == list(range(1, len(wanted) + 1))
    for head, draft in zip(heads, wanted, strict=True):
        told = replace(draft, payload=b"", salt=b"")
        fields = {name: getattr(head, name) for name in Draft.__struct_fields__ if hasattr(head, name)}
        assert Draft(**fields, payload=b"", salt=b"") == told


@given(drafts)
def test_the_same_draft_gives_the_same_bytes(draft: Draft) -> None:
    assert seal(draft, START) == seal(draft, START)


@given(
    st.lists(drafts, min_size=1, max_size=3),
    st.sampled_from(["head", "salt", "payload", "hash"]),
    st.integers(0),
    st.integers(1, 255),
    st.data(),
)
def test_any_changed_byte_is_found_and_its_event_named(
    wanted: list[Draft], column: str, place: int, bits: int, data: st.DataObject
) -> None:
    records = chain(*wanted)
    number = data.draw(st.integers(0, len(records) - 1))
    stored = bytearray(getattr(records[number], column))
    if not stored:
        return
    stored[place % len(stored)] ^= bits
    records[number] = records[number]._replace(**{column: bytes(stored)})
    assert refused(records) == number + 1


@given(st.permutations(range(4)), st.sets(st.integers(0, 3)))
def test_only_the_whole_history_in_its_order_is_believed(order: list[int], left_out: set[int]) -> None:
    whole = chain(FIRST, SECOND, FIRST, SECOND)
    shown = [whole[number] for number in order if number not in left_out]
    if shown == whole[: len(shown)]:
        assert len(open_records(shown, START)) == len(shown)
    else:
        assert refused(shown) == next(
            seq for seq, record in enumerate(shown, 1) if record is not whole[seq - 1]
        )


def test_an_inserted_event_is_found() -> None:
    first, second = chain(FIRST, SECOND)
    forged = seal(FIRST, Point(first.seq, first.hash))
    assert refused([first, forged, second._replace(seq=3)]) == 3


def test_an_event_that_is_missing_is_named_with_the_one_found_instead() -> None:
    records = chain(FIRST, SECOND, FIRST)
    with pytest.raises(Corrupt, match="event 2: it is missing; the next one found is 3"):
        open_records([records[0], records[2]], START)


def test_columns_that_contradict_the_head_are_found() -> None:
    (record,) = chain(FIRST)
    assert refused([record._replace(id=SECOND.id)]) == 1
    assert refused([seal(FIRST, Point(4, GENESIS))._replace(seq=1)]) == 1
    assert refused([record._replace(seq=2)]) == 1


def test_a_head_that_is_no_head_is_found() -> None:
    for stored in (b"", b"{}", b"[1]", b'{"id":"a"}', FIRST_HEAD[:-1], b"\xff"):
        forged = Record(1, FIRST.id, stored, FIRST.salt, FIRST.payload, link(GENESIS, stored))
        assert refused([forged]) == 1


def test_bytes_cannot_move_between_the_hash_before_and_the_head() -> None:
    prev, head = bytes(range(32)), b"{}" + bytes(40)
    seen = {link((prev + head)[:cut], (prev + head)[cut:]) for cut in range(len(prev + head) + 1)}
    assert len(seen) == len(prev + head) + 1


def test_bytes_cannot_move_between_the_salt_and_the_payload() -> None:
    (record,) = chain(FIRST)
    payload = record.payload or b""
    for cut in itertools.chain(range(16), range(17, 16 + len(payload))):
        both = record.salt + payload
        moved = record._replace(salt=both[:cut], payload=both[cut:])
        assert payload_digest(moved.salt, moved.payload or b"") in FIRST_HEAD.decode()
        assert refused([moved]) == 1


def test_bytes_cannot_move_between_the_head_and_the_payload() -> None:
    (record,) = chain(FIRST)
    payload = record.payload or b""
    grown = record._replace(head=record.head + payload, payload=b"")
    shrunk = record._replace(head=record.head[:-5], payload=record.head[-5:] + payload)
    assert refused([grown]) == refused([shrunk]) == 1


def test_a_payload_and_an_event_never_share_a_hash() -> None:
    assert PAYLOAD_DOMAIN != EVENT_DOMAIN
    assert not PAYLOAD_DOMAIN.startswith(EVENT_DOMAIN)
    assert not EVENT_DOMAIN.startswith(PAYLOAD_DOMAIN)
    assert payload_digest(bytes(16), bytes(24) + b"{}") != link(bytes(32), b"{}").hex()


def test_a_salt_of_another_length_never_enters_the_log() -> None:
    for salt in (b"", bytes(15), bytes(17)):
        with pytest.raises(AssertionError):
            seal(Draft("a", 1, "me", "user", "note", b"{}", salt), START)


@given(st.lists(drafts, min_size=1, max_size=4), st.data())
def test_an_erased_payload_leaves_every_hash_valid(wanted: list[Draft], data: st.DataObject) -> None:
    records = chain(*wanted)
    erased = data.draw(st.sets(st.integers(0, len(records) - 1)))
    for number in erased:
        records[number] = records[number]._replace(payload=None, salt=b"")
    assert len(open_records(records, START)) == len(records)


def test_another_payload_in_place_of_an_erased_one_is_found() -> None:
    (record,) = chain(FIRST)
    assert refused([record._replace(payload=b'{"text":"other"}')]) == 1


def test_a_later_part_of_the_history_is_checked_against_the_place_before_it() -> None:
    first, second = chain(FIRST, SECOND)
    assert open_records([second], Point(1, first.hash))[0].seq == 2
    assert refused([second], Point(1, GENESIS)) == 2


@pytest.mark.parametrize(
    ("draft", "place"),
    [
        (Draft("a", 1, "me", "user", "note", b"{}", bytes(16), session_id="\udcff"), "session_id"),
        (Draft("a", 1, "me", "user", "note", b"{}", bytes(16), run_id="r\ud800"), "run_id"),
        (Draft("a", 1, "me", "user", "note", b"{}", bytes(16), cause="\udfff"), "cause"),
        (Draft("a", 1, "me", "user", "note", b"{}", bytes(16), labels=Labels(("\udcff",))), "labels"),
    ],
    ids=["session_id", "run_id", "cause", "labels"],
)
def test_text_that_is_no_unicode_is_refused_with_its_field(draft: Draft, place: str) -> None:
    with pytest.raises(Rejected, match=place) as caught:
        seal(draft, START)
    assert caught.value.code == "event.invalid"
    caught.value.message.encode()


def test_the_one_json_form_holds_every_field_and_unknown_payload_fields() -> None:
    draft = replace(SECOND, payload=b'{"newer":{"a":[1,2]},"text":"x"}')
    first, second = chain(FIRST, draft)
    head = open_records([second], Point(1, first.hash))[0]
    told = json.loads(Event(head, None, second, first.hash).as_json())
    assert list(told) == [
        *("id", "seq", "timestamp", "user_id", "source", "event_type", "payload"),
        *("session_id", "run_id", "cause", "labels", "v", "prev", "hash"),
    ]
    assert told["payload"] == {"newer": {"a": [1, 2]}, "text": "x"}
    assert told["labels"] == {"origin": ["web", "person"], "private": True}
    assert (told["prev"], told["hash"]) == (FIRST_HASH, second.hash.hex())


def test_the_json_form_of_an_erased_event_has_no_payload() -> None:
    (record,) = chain(FIRST)
    record = record._replace(payload=None)
    event = Event(open_records([record], START)[0], None, record, GENESIS)
    told = json.loads(event.as_json())
    assert told["payload"] is None
    assert told["prev"] == "0" * 64
    assert told["labels"] == {"origin": ["person"], "private": False}
    assert (event.seq, event.point) == (1, Point(1, record.hash))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *((column, value) for column in ("head", "salt", "hash", "id") for value in (None, 7, 1.5, "text")),
        *(("payload", value) for value in (7, 1.5, "text")),  # None is a payload that was erased
    ],
)
def test_a_column_of_another_kind_is_damage_of_that_event(column: str, value: object) -> None:
    """C-23: what the disk has spoiled is named, whatever it looks like now."""
    first = seal(_any_draft(1), Point(0, GENESIS))
    second = seal(_any_draft(2), Point(1, first.hash))
    with pytest.raises(Corrupt) as caught:
        open_records([first, second._replace(**{column: value})], Point(0, GENESIS))
    assert (caught.value.code, caught.value.fields["seq"]) == ("log.broken", 2)


def _any_draft(number: int) -> Draft:
    return Draft(f"e{number}", number, "me", "user", "note", b"{}", bytes(SALT_BYTES))
