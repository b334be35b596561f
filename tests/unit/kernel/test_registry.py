"""The list of event types: what may enter the log, and how what older and newer programs wrote is read."""

import json
import math
import time
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from choiros.kernel.errors import Rejected
from choiros.kernel.event import GENESIS, INTEGER_MAX, Draft, Head, Point, open_records, seal
from choiros.kernel.registry import (
    DEPTH_MAX,
    PAYLOAD_BYTES_MAX,
    EventType,
    Json,
    Registry,
)


class Noted(Struct, frozen=True):
    text: str
    stars: int = 0
    weight: float = 0.0


class Written(Struct, frozen=True):
    path: str


class Verified(Struct, frozen=True):
    note: str


REGISTRY = Registry(
    [
        EventType("note", Noted),
        EventType("file.write", Written, effect="reversible"),
        EventType("note.request_verify", Verified),
    ]
)

plain: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-INTEGER_MAX, INTEGER_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcé\x00", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def head_of(name: str, v: int = 1) -> Head:
    record = seal(Draft("a", 1, "me", "user", name, b"{}", bytes(16), v=v), Point(0, GENESIS))
    return open_records([record], Point(0, GENESIS))[0]


def refusal(payload: dict[str, Json], name: str = "note") -> Rejected:
    with pytest.raises(Rejected) as caught:
        REGISTRY.encode_plain(name, payload)
    assert caught.value.code == "event.invalid"
    assert caught.value.fix
    return caught.value


def nested(levels: int, wrap: Callable[[Json], Json]) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = wrap(value)
    return value


# --- What enters ---


def test_a_payload_is_stored_with_its_keys_in_order() -> None:
    assert REGISTRY.encode(Noted("café", 3)) == '{"stars":3,"text":"café","weight":0.0}'.encode()
    assert (
        REGISTRY.encode_plain("note", {"text": "a", "b": {"z": 1, "a": 2}})
        == b'{"b":{"a":2,"z":1},"text":"a"}'
    )


@given(st.dictionaries(st.text("abcé", max_size=4).filter(lambda key: key != "text"), plain, max_size=5))
def test_any_plain_payload_comes_back_as_it_was_and_always_as_the_same_bytes(newer: dict[str, Json]) -> None:
    """C-17."""
    payload: dict[str, Json] = {"text": "known", **newer}
    raw = REGISTRY.encode_plain("note", payload)
    assert json.loads(raw) == payload
    assert REGISTRY.encode_plain("note", dict(reversed(payload.items()))) == raw
    assert REGISTRY.encode_plain("note", json.loads(raw)) == raw


@pytest.mark.parametrize(
    "text", ["", "\x00", "a\x00b", "\x7f\x80\x9f", "\ufeff\u202e\u2028", "\U0001f600", "\\u0000"]
)
def test_any_text_is_kept_exactly(text: str) -> None:
    raw = REGISTRY.encode(Noted(text))
    assert REGISTRY.decode(head_of("note"), raw) == Noted(text)
    assert REGISTRY.encode_plain("note", json.loads(raw)) == raw


@pytest.mark.parametrize("number", [0, -1, INTEGER_MAX, -INTEGER_MAX])
def test_integers_that_every_reader_keeps_are_kept(number: int) -> None:
    assert json.loads(REGISTRY.encode_plain("note", {"text": "a", "n": number}))["n"] == number
    assert REGISTRY.decode(head_of("note"), REGISTRY.encode(Noted("a", number))) == Noted("a", number)


@pytest.mark.parametrize("number", [INTEGER_MAX + 1, -INTEGER_MAX - 1, 2**64, 10**400])
def test_greater_integers_are_refused_with_their_place(number: int) -> None:
    assert "at .n[1].m:" in refusal({"text": "a", "n": [0, {"m": number}]}).message
    with pytest.raises(Rejected, match=r"at \.stars: it is an integer beyond 2\^53; write it as text"):
        REGISTRY.encode(Noted("a", number))


def test_long_digits_in_a_text_are_no_integer() -> None:
    assert b"9" * 40 in REGISTRY.encode(Noted("9" * 40))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_know_are_refused_with_their_place(number: float) -> None:
    assert "at .n[0]: it is a number that JSON does not know" in refusal({"text": "a", "n": [number]}).message
    with pytest.raises(Rejected, match="weight"):
        REGISTRY.encode(Noted("a", 1, number))


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb", "\udfff\ud800"])
def test_a_lone_surrogate_is_refused_with_its_place(text: str) -> None:
    assert (
        "at .more[0]: it holds text that is not valid UTF-8" in refusal({"text": "a", "more": [text]}).message
    )
    with pytest.raises(Rejected, match=r"at \.text: it holds text that is not valid UTF-8") as caught:
        REGISTRY.encode(Noted(text))
    caught.value.message.encode()


def test_a_lone_surrogate_in_a_name_is_refused_and_the_message_can_be_shown() -> None:
    refusal({"text": "a", "\udcff": 1}).message.encode()


def test_what_json_does_not_know_is_refused() -> None:
    for strange in ({"text": "a", "x": b"bytes"}, {"text": "a", "x": {1: 2}}, {"text": "a", "x": {1, 2}}):
        refusal(strange)  # pyright: ignore[reportArgumentType] - on purpose


@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: {"k": one}], ids=["lists", "objects"])
def test_json_of_300_levels_is_refused_at_once_with_its_place(wrap: Callable[[Json], Json]) -> None:
    deep = nested(300, wrap)
    started = time.process_time()
    error = refusal({"text": "a", "deep": deep})
    assert time.process_time() - started < 0.1
    assert f"it is nested deeper than {DEPTH_MAX} levels" in error.message
    assert "[0][0]" in error.message or ".k.k" in error.message
    assert len(error.message) < 400


def test_json_of_any_depth_is_refused_without_falling_over() -> None:
    refusal({"text": "a", "deep": nested(100_000, lambda one: [one])})


def test_json_as_deep_as_allowed_is_kept() -> None:
    payload: dict[str, Json] = {"text": "a", "deep": nested(DEPTH_MAX, lambda one: [one])}
    assert json.loads(REGISTRY.encode_plain("note", payload)) == payload


MILLION = 1_000_000


@pytest.mark.parametrize(
    "many",
    [
        [1] * MILLION,
        ["a"] * MILLION,
        [{"a": 1}] * MILLION,
        {str(number): 1 for number in range(MILLION)},
        "x" * 50 * MILLION,
    ],
    ids=["numbers", "lines", "objects", "names", "text"],
)
def test_json_of_a_million_elements_is_refused_at_once_with_its_place(many: Json) -> None:
    started = time.process_time()
    error = refusal({"text": "a", "many": many})
    assert time.process_time() - started < 0.1
    assert f"at .many: with it, the payload has more than {PAYLOAD_BYTES_MAX} bytes" in error.message


@pytest.mark.parametrize("value", [1, 0.5, "", None, True, [], [[]], {"": 1}], ids=repr)
def test_what_just_fits_is_not_taken_for_too_large(value: Json) -> None:
    times = (PAYLOAD_BYTES_MAX - len('{"text":"a","x":[]}') + 1) // (len(msgspec.json.encode(value)) + 1)
    raw = REGISTRY.encode_plain("note", {"text": "a", "x": [value] * times})
    assert PAYLOAD_BYTES_MAX - 10 < len(raw) <= PAYLOAD_BYTES_MAX


def test_a_payload_as_large_as_allowed_is_kept_and_one_byte_more_is_refused() -> None:
    empty = len(REGISTRY.encode(Noted("")))
    assert len(REGISTRY.encode(Noted("x" * (PAYLOAD_BYTES_MAX - empty)))) == PAYLOAD_BYTES_MAX
    with pytest.raises(Rejected, match=f"{PAYLOAD_BYTES_MAX + 1} bytes"):
        REGISTRY.encode(Noted("x" * (PAYLOAD_BYTES_MAX - empty + 1)))


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ({}, "text"),
        ({"text": 1}, "$.text"),
        ({"text": "a", "stars": "many"}, "$.stars"),
        ({"text": "a", "stars": 1.5}, "$.stars"),
        ({"text": "a", "stars": True}, "$.stars"),
        ({"text": None}, "$.text"),
    ],
)
def test_a_payload_that_does_not_fit_its_type_is_refused_with_the_field(
    payload: dict[str, Json], named: str
) -> None:
    """C-20."""
    error = refusal(payload)
    assert named in error.message
    assert error.fields["place"] == "note"


# --- What is read ---


def test_unknown_newer_fields_survive_a_round_trip() -> None:
    """C-17."""
    raw = REGISTRY.encode_plain("note", {"text": "a", "colour": {"r": 1}, "tags": ["x"]})
    assert json.loads(raw) == {"text": "a", "colour": {"r": 1}, "tags": ["x"]}
    assert REGISTRY.decode(head_of("note"), raw) == Noted("a")


def test_a_type_that_only_a_newer_program_knows_is_read_as_plain_json() -> None:
    assert REGISTRY.decode(head_of("hologram.open"), b'{"depth":[3,{"a":null}]}') == {
        "depth": [3, {"a": None}]
    }


def test_a_newer_version_of_a_type_is_read_as_plain_json() -> None:
    assert REGISTRY.decode(head_of("note", v=7), b'{"body":"a"}') == {"body": "a"}


def test_an_erased_payload_is_read_as_nothing() -> None:
    for name, v in (("note", 1), ("note", 9), ("hologram.open", 1)):
        assert REGISTRY.decode(head_of(name, v), None) is None


class NotedThird(Struct, frozen=True):
    body: str
    stars: int


def first_to_second(payload: dict[str, Json]) -> dict[str, Json]:
    return {"body": payload["text"]}


def second_to_third(payload: dict[str, Json]) -> dict[str, Json]:
    return {**payload, "stars": 5}


THIRD = Registry([EventType("note", NotedThird, v=3, upcasts=(first_to_second, second_to_third))])


@pytest.mark.parametrize(
    ("v", "raw", "read"),
    [
        (1, b'{"text":"old"}', NotedThird("old", 5)),
        (2, b'{"body":"middle"}', NotedThird("middle", 5)),
        (3, b'{"body":"new","stars":1}', NotedThird("new", 1)),
    ],
)
def test_older_versions_are_read_through_every_step_since(v: int, raw: bytes, read: NotedThird) -> None:
    assert THIRD.decode(head_of("note", v), raw) == read


def test_a_stored_payload_that_fits_no_version_is_an_error_and_not_a_guess() -> None:
    with pytest.raises(ValueError, match="stars"):
        THIRD.decode(head_of("note", 3), b'{"body":"a"}')


# --- Names ---


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("file.write", "file.write"),
        ("FILE_WRITE", "file.write"),
        ("file_write", "file.write"),
        ("FileWrite", "file.write"),
        ("FILE/WRITE", "file.write"),
        ("NOTE/REQUEST_VERIFY", "note.request_verify"),
        ("note.request.verify", "note.request_verify"),
        ("NOTE", "note"),
    ],
)
def test_every_older_spelling_means_the_dotted_name(spelling: str, name: str) -> None:
    assert REGISTRY.canonical(spelling) == name


def test_imports_may_use_older_spellings() -> None:
    assert REGISTRY.encode_plain("FILE_WRITE", {"path": "a"}) == b'{"path":"a"}'


@pytest.mark.parametrize("spelling", ["", "file", "file.writes", "hologram.open", "x" * 10_000, "\udcff"])
def test_an_unknown_type_is_refused_on_import(spelling: str) -> None:
    with pytest.raises(Rejected) as caught:
        REGISTRY.canonical(spelling)
    assert caught.value.code == "event.unknown_type"
    assert len(caught.value.message.encode()) < 200


def test_types_are_listed_by_name_and_found_by_payload() -> None:
    assert [kind.name for kind in REGISTRY] == ["file.write", "note", "note.request_verify"]
    assert REGISTRY.type_of(Written("a")).name == "file.write"
    assert REGISTRY.get("FILE_WRITE") is None
    assert EventType("x", Noted).effect == "irreversible"


@pytest.mark.parametrize(
    "kinds",
    [
        [EventType("note", Noted), EventType("note", Written)],
        [EventType("note", Noted), EventType("memo", Noted)],
        [EventType("file.write", Noted), EventType("file_write", Written)],
        [EventType("File.Write", Noted)],
        [EventType("file..write", Noted)],
        [EventType("file.*", Noted)],
        [EventType("note", Noted, v=2)],
        [EventType("note", Noted, upcasts=(first_to_second,))],
    ],
    ids=["name", "payload", "spelling", "case", "empty part", "wildcard", "no upcast", "upcast too many"],
)
def test_a_list_with_a_contradiction_is_our_own_mistake(kinds: list[EventType]) -> None:
    with pytest.raises(AssertionError):
        Registry(kinds)
