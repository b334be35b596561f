"""Finds what looks like a secret in a file, so that a push can be refused before it leaves.

It knows the shapes of well-known keys, and suspects what is assigned to a name such as `password` and looks
like chance. It protects from mistakes, not from somebody who hides a secret on purpose. What it finds it
never repeats. Every expression needs linear time: each repetition is bounded or cannot give back what it
took.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from math import log2
from typing import NamedTuple

from msgspec import Struct

FINDINGS_MAX = 100
"""So many findings of one kind are enough to refuse a push."""

ENTROPY_BITS_MIN = 3.0
WORD_SIZE_MIN = 3.0
"""Text with longer runs of one kind of letters, on average, is taken for words: `oauth2_access_token`."""

_KEY_BODY_MAX = 400
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class SecretFinding(Struct, frozen=True):
    """What kind of secret stands in which line, counted from 1; never the secret itself."""

    kind: str
    line: int


class _Shape(NamedTuple):
    """How a kind of secret looks; without one of the `marks` it cannot be there, which is quick to see."""

    kind: str
    marks: tuple[bytes, ...]
    regex: re.Pattern[bytes]


def _shape(kind: str, marks: str, *, regex: str) -> _Shape:
    """Return the shape of a token that stands for itself, not as a part of a longer word."""
    bounded = rb"(?<![A-Za-z0-9_])(?P<secret>" + regex.encode() + rb")(?![A-Za-z0-9_])"
    return _Shape(kind, tuple(mark.encode() for mark in marks.split()), re.compile(bounded))


_SHAPES = (
    _shape("aws_access_key", "AKIA ASIA", regex=r"A[KS]IA[A-Z0-9]{16}"),
    _shape("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", regex=r"gh[pousr]_[A-Za-z0-9]{36,255}+"),
    _shape("github_token", "github_pat_", regex=r"github_pat_[A-Za-z0-9_]{60,255}+"),
    _shape(
        "gitlab_token",
        "glpat- gldt- glrt- glptt- glcbt-",
        regex=r"gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_.-]{20,255}+",
    ),
    _shape("slack_token", "xox", regex=r"xox[abeoprs]-[A-Za-z0-9-]{10,255}+"),
    _shape("slack_token", "xapp-", regex=r"xapp-[0-9]-[A-Za-z0-9-]{20,255}+"),
    _shape(
        "slack_webhook",
        "hooks.slack.com",
        regex=r"hooks\.slack\.com/services/T[A-Z0-9]{6,20}+/B[A-Z0-9]{6,20}+/\w{20,40}+",
    ),
    _shape("stripe_key", "k_live_ k_test_", regex=r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}+"),
    _shape("stripe_key", "whsec_", regex=r"whsec_[A-Za-z0-9+/]{32,255}+={0,2}+"),
    _shape("google_key", "AIza", regex=r"AIza[A-Za-z0-9_-]{35}"),
    _shape("google_key", "GOCSPX-", regex=r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _shape("anthropic_key", "sk-ant-", regex=r"sk-ant-[A-Za-z0-9_-]{32,255}+"),
    _shape(
        "openai_key", "sk-", regex=r"sk-(?!ant-)(?:[a-z]{2,10}+-[A-Za-z0-9_-]{40,255}+|[A-Za-z0-9]{48,64}+)"
    ),
    _shape("npm_token", "npm_", regex=r"npm_[A-Za-z0-9]{36}"),
    _shape("pypi_token", "pypi-", regex=r"pypi-[A-Za-z0-9_-]{60,1000}+"),
    _shape("huggingface_token", "hf_", regex=r"hf_[A-Za-z0-9]{34}"),
    _shape("sendgrid_key", "SG.", regex=r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _shape("telegram_token", ":AA", regex=r"[0-9]{8,10}+:AA[A-Za-z0-9_-]{33}"),
    _shape("docker_token", "dckr_pat_", regex=r"dckr_pat_[A-Za-z0-9_-]{20,100}+"),
    _shape("digitalocean_token", "do", regex=r"do[opr]_v1_[a-f0-9]{64}"),
    _shape("vault_token", "hvs.", regex=r"hvs\.[A-Za-z0-9_-]{24,255}+"),
    _shape("age_key", "AGE-SECRET-KEY-1", regex=r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _shape(
        "json_web_token",
        "eyJ",
        regex=r"eyJ[A-Za-z0-9_-]{10,4000}+\.eyJ[A-Za-z0-9_-]{10,8000}+\.[A-Za-z0-9_-]{20,2000}+",
    ),
    _Shape(
        "url_password",
        (b"://",),
        re.compile(rb"://[^\s/:@'\"<>]{0,100}+:(?P<secret>[^\s/@'\"<>]{3,200}+)@[A-Za-z0-9\[]"),
    ),
)
_KEY_BLOCK = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(rb"[A-Za-z0-9+/=]{40}")

_SECRET_NAME = re.compile(
    rb"passw(?:or)?d|passphrase|pwd|secret|token|credentials?"
    rb"|(?:api|access|account|auth|encryption|master|private|secret|shared|signing)[_-]?key"
)
_ASSIGNED = re.compile(
    rb"[\"'\]]{0,2}+[ \t]{0,20}+(?::=|=>|[:=])[ \t]{0,20}+"
    rb"(?:(?P<quote>[\"'`])(?P<quoted>[^\s\"'`]{12,200}+)(?P=quote)"
    rb"|(?P<bare>[\w+/.~!@#%^&*-]{12,200}+={0,2}+)(?![\w(\[{]))"
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
_KEY_FILE = re.compile(r"\.(?:p12|pfx|jks|keystore|kdbx)$", re.IGNORECASE)


def find_secrets(path: str, content: bytes) -> list[SecretFinding]:
    """Return what looks like a secret, in the order of lines; an empty list is no promise."""
    if content and _KEY_FILE.search(path):
        return [SecretFinding("key_file", 1)]
    encoding = _BOMS.get(content[:2])
    text = content.decode(encoding, "replace").encode() if encoding else content
    found = {(at, kind) for find in _FINDERS for at, kind in _first(find(text))}
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
    for shape in _SHAPES:
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
        if match and _looks_random(match["quoted"] or match["bare"]):
            yield name.start(), "assigned_secret"


_FINDERS: tuple[Callable[[bytes], Iterator[tuple[int, str]]], ...] = (_shapes, _key_blocks, _assignments)


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
