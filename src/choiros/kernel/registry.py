"""The one list of event types: what each is called, what its payload holds, and whether it can be taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, cast

import msgspec
from msgspec import Struct

from choiros.kernel.errors import Rejected
from choiros.kernel.event import INTEGER_MAX, Head

Effect = Literal["pure", "reversible", "compensable", "delayed", "irreversible"]
"""How an act can be taken back; what declares nothing counts as irreversible."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Upcast = Callable[[dict[str, Json]], dict[str, Json]]

PAYLOAD_BYTES_MAX = 1 << 20
DEPTH_MAX = 64

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
            raise Rejected(
                "event.unknown_type",
                f"There is no event type '{spelling[:80]}'.",
                fix="See docs/reference/events.md for the types that exist.",
                event_type=spelling[:80],
            )
        return known

    def type_of(self, payload: Struct) -> EventType:
        """Return the type that a payload belongs to."""
        return self._of_class[type(payload)]

    def encode(self, payload: Struct) -> bytes:
        """Return the bytes to store for a payload, checked against its own type."""
        kind = self.type_of(payload)
        return self._checked(kind, _encode(payload))

    def encode_plain(self, name: str, payload: Mapping[str, Json]) -> bytes:
        """Return the bytes to store for a payload that came as plain JSON, unknown newer fields kept.

        Raises Rejected (`event.unknown_type`, `event.invalid`) with the field and the reason.
        """
        kind = self._types[self.canonical(name)]
        _check_plain(payload, "", 0)
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


_encoder = msgspec.json.Encoder(order="deterministic")


def _encode(payload: Struct | Mapping[str, Json]) -> bytes:
    try:
        return _encoder.encode(payload)
    except UnicodeEncodeError as error:
        raise invalid("payload", "it holds text that is not valid UTF-8 (a lone surrogate)") from error


def _letters(spelling: str) -> str:
    return "".join(letter for letter in spelling.lower() if letter.isalnum())


def _check_plain(value: object, place: str, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise invalid(place, f"it is nested deeper than {DEPTH_MAX} levels")
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[object, object]", value).items():
            if not isinstance(key, str):
                raise invalid(place, "it has a key that is not text")
            _check_plain(inner, f"{place}.{key}"[-200:], depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(cast("list[object]", value)):
            _check_plain(inner, f"{place}[{index}]"[-200:], depth + 1)
    elif isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise invalid(place, "it is a number that JSON does not know")
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > INTEGER_MAX:
        raise invalid(place, "it is an integer beyond 2^53; write it as text")


def invalid(place: str, reason: str) -> Rejected:
    """Return the error for a payload that does not fit its type."""
    return Rejected(
        "event.invalid",
        f"The payload is not valid at {place or 'the top'}: {reason}.",
        fix="Correct that field; docs/reference/events.md shows what each type holds.",
        place=place,
        reason=reason,
    )
