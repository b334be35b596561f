"""Finds what looks like a secret in a file, so that a push can be refused before it leaves.

It knows the shapes of well-known keys, and suspects what is assigned to a name such as `password` and looks
like chance. It protects from mistakes, not from somebody who hides a secret on purpose. What it finds it
never repeats. Every expression needs linear time: each repetition is bounded or cannot give back what it
took.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from math import log2

from msgspec import Struct

from choiros.features.checkpoints.shapes import SHAPES

FINDINGS_MAX = 100
"""So many findings of one kind are enough to refuse a push."""

ENTROPY_BITS_MIN = 3.0
WORD_SIZE_MIN = 3.0
"""Text with longer runs of one kind of letters, on average, is taken for words: `oauth2_access_token`."""

_KEY_BODY_MAX = 400
_WIDE = re.compile(rb"(?:[\t\n\r\x20-\x7e]\x00{1,3}){8,}+[\t\n\r\x20-\x7e]?+")
"""Plain text in UTF-16 or UTF-32, with a mark at the beginning or without, also in the middle of other bytes."""


class SecretFinding(Struct, frozen=True):
    """What kind of secret stands in which line, counted from 1; never the secret itself."""

    kind: str
    line: int


_KEY_BLOCK = re.compile(
    rb"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"
)
_KEY_BODY = re.compile(rb"[A-Za-z0-9+/=]{40}")

_SECRET_NAME = re.compile(
    rb"passw(?:or)?d|passphrase|pwd|secret|token|credentials?"
    rb"|(?:api|access|account|auth|encryption|master|private|secret|shared|signing|subscription)[_-]?key"
)
_ASSIGNED = re.compile(
    rb"[\"'\]]{0,2}+[ \t]{0,20}+(?::=|=>|[:=])[ \t]{0,20}+"
    rb"(?:(?P<quote>[\"'`])(?P<quoted>[^\s\"'`]{12,2000}+)(?P=quote)"
    rb"|(?P<bare>[\w+/.~!@#%^&*-]{12,2000}+={0,2}+)(?![\w(\[{]))"
    rb"|>(?P<element>[^\s<>]{12,200}+)</"
)
_PLACEHOLDER = re.compile(
    rb"example|change[_-]?(?:me|this)|placeholder|dummy|redacted|your|insert|replace|sample|fake"
    rb"|xxxx|1234567|abcdefgh"
    rb"|\$\{|\$\(|\{\{|\{[\w.]{1,40}\}|<[^<>]{1,40}>|%\(|%[sd]|^\$\w{1,40}$|(.)\1{5}",
    re.IGNORECASE,
)
_COMMON_PASSWORDS = frozenset(
    {b"password", b"passwd", b"pass", b"secret", b"root", b"admin", b"test", b"postgres"}
)
_RUN = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_KEY_FILE = re.compile(r"\.(?:p12|pfx|jks|keystore|kdbx|ppk)$", re.IGNORECASE)

_SIGN_IN_FILE = re.compile(r"(?:^|/)(?:[._]netrc|\.pgpass|pgpass\.conf)$", re.IGNORECASE)
_NETRC = re.compile(
    rb"\bmachine\s{1,20}+[\w.:-]{1,255}+\s{1,20}+(?:(?:login|account)\s{1,20}+\S{1,255}+\s{1,20}+){0,2}+"
    rb"password\s{1,20}+(?P<secret>\S{1,255}+)"
)
_PGPASS = re.compile(
    rb"^(?:[\w.-]{1,255}+|\*):(?:[0-9]{2,5}+|\*):(?:[\w-]{1,63}+|\*):(?:[\w.-]{1,63}+|\*):"
    rb"(?P<secret>[^\s:]{1,255}+)\r?$",
    re.MULTILINE,
)
_BEARER = re.compile(rb"\bbearer[ \t]{1,4}+(?P<secret>[\w.~+/-]{20,2000}+)", re.IGNORECASE)
_ENCODED = re.compile(
    rb"(?:\bbasic[ \t]{1,4}+|\b_?auth[\"']?+[ \t]{0,4}+[:=][ \t]{0,4}+[\"']?+)"
    rb"(?P<encoded>[A-Za-z0-9+/]{12,400}+={0,2}+)",
    re.IGNORECASE,
)
_ENCODED_KEY = re.compile(rb"LS0tLS1CRUdJTi(?P<more>[A-Za-z0-9+/]{100})")
_ENCODED_HEAD_SIZE = 64


def find_secrets(path: str, content: bytes) -> list[SecretFinding]:
    """Return what looks like a secret, in the order of lines; an empty list is no promise."""
    if content and _KEY_FILE.search(path):
        return [SecretFinding("key_file", 1)]
    in_sign_in_file = _SIGN_IN_FILE.search(path) is not None
    text = _WIDE.sub(lambda wide: wide[0].replace(b"\x00", b""), content) if b"\x00" in content else content
    found = {(at, kind) for find in _FINDERS for at, kind in _first(find(text))}
    found |= set(_first(_sign_ins(text, any_value=in_sign_in_file)))
    findings = dict.fromkeys(_numbered(text, sorted(found)))
    shaped = {finding.line for finding in findings if finding.kind != "assigned_secret"}
    return [
        finding for finding in findings if finding.kind != "assigned_secret" or finding.line not in shaped
    ]


def _first(found: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield no more of each kind than is worth telling."""
    times: Counter[str] = Counter()
    for at, kind in found:
        times[kind] += 1
        if times[kind] <= FINDINGS_MAX:
            yield at, kind


def _numbered(text: bytes, found: list[tuple[int, str]]) -> Iterator[SecretFinding]:
    line, counted = 1, 0
    for at, kind in found:
        line, counted = line + text.count(b"\n", counted, at), at
        yield SecretFinding(kind, line)


def _shapes(text: bytes) -> Iterator[tuple[int, str]]:
    for shape in SHAPES:
        if any(mark in text for mark in shape.marks):
            for match in shape.regex.finditer(text):
                secret = match["secret"]
                if not _is_placeholder(secret) and secret.lower() not in _COMMON_PASSWORDS:
                    yield match.start("secret"), shape.kind


def _key_blocks(text: bytes) -> Iterator[tuple[int, str]]:
    """Find private keys: the line that opens one, with a body. Alone the line is a text about keys."""
    for match in _KEY_BLOCK.finditer(text):
        if _KEY_BODY.search(text, match.end(), match.end() + _KEY_BODY_MAX):
            yield match.start(), "private_key"


def _assignments(text: bytes) -> Iterator[tuple[int, str]]:
    """Find values that look like chance behind names that end with a word for secrets."""
    for name in _SECRET_NAME.finditer(text.lower()):
        match = _ASSIGNED.match(text, name.end())
        if match and _looks_random(match["quoted"] or match["bare"] or match["element"]):
            yield name.start(), "assigned_secret"


def _sign_ins(text: bytes, *, any_value: bool) -> Iterator[tuple[int, str]]:
    """Find lines of .netrc and .pgpass; what stands elsewhere is suspected only when it looks like chance."""
    for kind, mark, regex in (("netrc_password", b"machine", _NETRC), ("pgpass_password", b":", _PGPASS)):
        for match in regex.finditer(text) if mark in text else ():
            if any_value or _looks_random(match["secret"]):
                yield match.start("secret"), kind


def _headers(text: bytes) -> Iterator[tuple[int, str]]:
    """Find what a program shows to a server: a token, or a name and a password in base64."""
    for match in _BEARER.finditer(text):
        if _looks_random(match["secret"]):
            yield match.start("secret"), "bearer_token"
    for match in _ENCODED.finditer(text):
        name, colon, password = _decoded(match["encoded"]).partition(b":")
        if colon and name.isascii() and password.isascii() and _looks_random(password):
            yield match.start("encoded"), "encoded_password"


def _encoded_keys(text: bytes) -> Iterator[tuple[int, str]]:
    """Find private keys that are written in base64 once more, as Kubernetes and many settings hold them."""
    for match in _ENCODED_KEY.finditer(text):
        if b"PRIVATE KEY-----" in _decoded(match[0][:_ENCODED_HEAD_SIZE]):
            yield match.start(), "private_key"


def _decoded(encoded: bytes) -> bytes:
    try:
        return b64decode(encoded + b"=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        return b""


_FINDERS: tuple[Callable[[bytes], Iterator[tuple[int, str]]], ...] = (
    _shapes,
    _key_blocks,
    _encoded_keys,
    _assignments,
    _headers,
)


def _is_placeholder(secret: bytes) -> bool:
    return _PLACEHOLDER.search(secret) is not None


def _looks_random(value: bytes) -> bool:
    """Return whether a value is chance rather than words, a number, or a place that waits for a secret."""
    runs = _RUN.findall(value)
    if not any(run.isalpha() for run in runs) or _is_placeholder(value):
        return False
    average = sum(map(len, runs)) / len(runs)
    return average < WORD_SIZE_MIN and _entropy_bits(value) >= ENTROPY_BITS_MIN


def _entropy_bits(value: bytes) -> float:
    """Return how many bits a character of the value carries, judged by how often each occurs."""
    size = len(value)
    return -sum(times / size * log2(times / size) for times in Counter(value).values())
