"""The one list of event types: what each is called, what its payload holds, and whether it can be taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Literal, cast

import msgspec
from msgspec import Struct

from choiros.kernel.errors import Rejected
from choiros.kernel.event import INTEGER_MAX, Head

Effect = Literal["pure", "reversible", "compensable", "delayed", "irreversible"]
"""How an act can be taken back; what declares nothing counts as irreversible."""

Intent = Literal["none", "again", "once"]
"""Whether an event announces something that is done after it, and whether that may be done again after a crash."""

FINAL: frozenset[Effect] = frozenset({"delayed", "irreversible"})
"""The effects of events that no undo takes back."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Upcast = Callable[[dict[str, Json]], dict[str, Json]]

Container = dict[str, "Json"] | list["Json"] | tuple["Json", ...]
CONTAINERS = frozenset({dict, list, tuple})

PAYLOAD_BYTES_MAX = 1 << 20
DEPTH_MAX = 64
PLACE_MAX = 200

_name = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")


class EventType(Struct, frozen=True):
    """One kind of event.

    `upcasts[i]` turns a payload of version i + 1 into one of version i + 2; stored events are never rewritten.
    """

    name: str
    payload: type[Struct]
    effect: Effect = "irreversible"
    v: int = 1
    upcasts: tuple[Upcast, ...] = ()
    intent: Intent = "none"
    ends: str = ""
    """The field of the payload that holds the number of the intent of which this event is the outcome."""


class Registry:
    """Knows every event type by its name and by the class of its payload."""

    def __init__(self, types: Iterable[EventType]) -> None:
        self._types: dict[str, EventType] = {}
        self._of_class: dict[type[Struct], EventType] = {}
        self._spellings: dict[str, str] = {}
        self._current: dict[str, tuple[int, Callable[[bytes], Struct]]] = {}
        for kind in types:
            self._add(kind)

    def _add(self, kind: EventType) -> None:
        spelling = _letters(kind.name)
        assert _name.fullmatch(kind.name), f"{kind.name} is not a dotted lower-case name"
        assert kind.name not in self._types, f"{kind.name} is declared twice"
        assert kind.payload not in self._of_class, f"{kind.payload.__name__} belongs to two types"
        assert spelling not in self._spellings, f"{kind.name} reads like {self._spellings.get(spelling)}"
        assert len(kind.upcasts) == kind.v - 1, f"{kind.name} lacks an upcast"
        self._types[kind.name] = kind
        self._of_class[kind.payload] = kind
        self._spellings[spelling] = kind.name
        decode = msgspec.json.Decoder(kind.payload).decode
        self._current[kind.name] = (kind.v, decode)

    def __iter__(self) -> Iterator[EventType]:
        """Return all types by name."""
        return iter(sorted(self._types.values(), key=lambda kind: kind.name))

    def get(self, name: str) -> EventType | None:
        """Return the type with this exact name."""
        return self._types.get(name)

    def canonical(self, spelling: str) -> str:
        """Return the dotted name for an older spelling such as FILE_WRITE or NOTE/REQUEST_VERIFY.

        For imports alone; raises Rejected (`event.unknown_type`).
        """
        known = self._spellings.get(_letters(spelling))
        if known is None:
            shown = spelling[:80].encode("utf-8", "backslashreplace").decode()
            raise Rejected(
                "event.unknown_type",
                f"There is no event type '{shown}'.",
                fix="See docs/reference/events.md for the types that exist.",
                event_type=shown,
            )
        return known

    def type_of(self, payload: Struct) -> EventType:
        """Return the type that a payload belongs to."""
        return self._of_class[type(payload)]

    def encode(self, payload: Struct) -> bytes:
        """Return the bytes to store for a payload, checked against its own type."""
        kind = self.type_of(payload)
        raw = _encode(payload)
        if _LONG_NUMBER in raw.translate(_NULLED):
            _Plain().check(msgspec.json.decode(raw))
        return self._checked(kind, raw)

    def encode_plain(self, name: str, payload: Mapping[str, Json]) -> bytes:
        """Return the bytes to store for a payload that came as plain JSON, unknown newer fields kept.

        Raises Rejected (`event.unknown_type`, `event.invalid`) with the field and the reason.
        """
        kind = self._types[self.canonical(name)]
        _Plain().check(dict(payload))
        return self._checked(kind, _encode(payload))

    def _checked(self, kind: EventType, raw: bytes) -> bytes:
        if len(raw) > PAYLOAD_BYTES_MAX:
            raise invalid(kind.name, f"it has {len(raw)} bytes; at most {PAYLOAD_BYTES_MAX} are allowed")
        try:
            self._current[kind.name][1](raw)
        except msgspec.ValidationError as error:
            raise invalid(kind.name, str(error)) from error
        return raw

    def decode(self, head: Head, raw: bytes | None) -> object:
        """Return the payload as its type declares it.

        None when it was erased; a plain mapping when the type, or its version, is newer than this program.
        """
        known = self._current.get(head.event_type)
        if known is not None and raw is not None and head.v == known[0]:
            return known[1](raw)
        if raw is None:
            return None
        kind = self._types.get(head.event_type)
        if kind is None or head.v > kind.v:
            return msgspec.json.decode(raw)
        plain = cast("dict[str, Json]", msgspec.json.decode(raw))
        for upcast in kind.upcasts[head.v - 1 :]:
            plain = upcast(plain)
        return msgspec.convert(plain, kind.payload)


_encoder = msgspec.json.Encoder(order="sorted")
# Whether sixteen digits stand in a row; a regular expression takes six times as long, for every event.
_NULLED = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 16


def _encode(payload: Struct | Mapping[str, Json]) -> bytes:
    try:
        return _encoder.encode(payload)
    except UnicodeEncodeError:
        _Plain().check(msgspec.to_builtins(payload))
        raise


def _letters(spelling: str) -> str:
    return "".join(letter for letter in spelling.lower() if letter.isalnum())


class _Plain:
    """One walk through plain JSON that ends at the first thing that cannot be stored, and names its place.

    It counts the bytes that the encoded form needs at the very least, so that its time is bounded for any input.
    """

    def __init__(self) -> None:
        self._left = PAYLOAD_BYTES_MAX

    def check(self, value: Container, place: str = "", *, depth: int = 0) -> None:
        """Raise Rejected (`event.invalid`) when something in the value cannot be stored."""
        if depth > DEPTH_MAX:
            raise invalid(place, f"it is nested deeper than {DEPTH_MAX} levels")
        self._left -= 2 * len(value) or 1
        self._check_size(place)
        keyed = isinstance(value, dict)
        for key, inner in value.items() if keyed else enumerate(value):
            reason = (self._key(key) if keyed else "") or self._leaf(inner)
            if not reason and self._left >= 0 and type(inner) not in CONTAINERS:
                continue
            inside = (f"{place}.{key}" if keyed else f"{place}[{key}]")[-PLACE_MAX:]
            if reason:
                raise invalid(inside, reason)
            self._check_size(inside)
            self.check(cast("Container", inner), inside, depth=depth + 1)

    def _check_size(self, place: str) -> None:
        if self._left < 0:
            raise invalid(place, f"with it, the payload has more than {PAYLOAD_BYTES_MAX} bytes")

    def _key(self, key: object) -> str:
        return self._text(key) if isinstance(key, str) else "it has a name that is not text"

    def _leaf(self, value: object) -> str:
        """Return why a value cannot be stored, '' when it can; what it holds is looked at elsewhere."""
        kind = type(value)
        if kind is int:
            fits = -INTEGER_MAX <= cast("int", value) <= INTEGER_MAX
            return "" if fits else "it is an integer beyond 2^53; write it as text"
        if kind is str:
            return self._text(cast("str", value))
        if kind is float:
            self._left -= 2
            return "" if isfinite(cast("float", value)) else "it is a number that JSON does not know"
        if value is None or kind is bool:
            self._left -= 3
            return ""
        return "" if kind in CONTAINERS else "it is nothing that JSON knows"

    def _text(self, text: str) -> str:
        self._left -= len(text) + 1
        if self._left < 0 or text.isascii():
            return ""
        try:
            text.encode()
        except UnicodeEncodeError:
            return "it holds text that is not valid UTF-8 (a lone surrogate)"
        return ""


def invalid(place: str, reason: str) -> Rejected:
    """Return the error for a payload that does not fit its type."""
    place = place.encode("utf-8", "backslashreplace").decode()
    return Rejected(
        "event.invalid",
        f"The payload is not valid at {place or 'the top'}: {reason}.",
        fix="Correct that field; docs/reference/events.md shows what each type holds.",
        place=place,
        reason=reason,
    )
