#!/usr/bin/env python3
"""Checks one proof file of ChoirOS on any computer, with nothing but Python.

    python3 check_proof.py FILE --key KEY [--witness-key KEY]... [--content PATH]

KEY is what the owner of the log told you ('choir keys' prints it there). The file says which event it is about;
this program checks that the event belongs to a log whose root was signed with that key. It shares no line with
ChoirOS itself. Read it: that is what it is for.
"""

import argparse
import base64
import hashlib
import json
import sys
import zlib
from typing import NoReturn


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


# --- Ed25519, checking only (RFC 8032, section 5.1) ---

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


Point = tuple[int, int, int, int]
Key = tuple[str, int, bytes]


def x_of(y: int, sign: int) -> int | None:
    """Return the x that belongs to a y on the curve, None when there is none."""
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    return P - x if x & 1 != sign else x


def point(raw: bytes) -> Point | None:
    """Return a point (x, y, z, t) from its 32 bytes, None for what is no point."""
    number = int.from_bytes(raw, "little")
    y, sign = number & (2**255 - 1), number >> 255
    x = x_of(y, sign) if len(raw) == 32 and y < P else None
    return None if x is None else (x, y, 1, x * y % P)


def add(one: Point, other: Point) -> Point:
    a, b = (one[1] - one[0]) * (other[1] - other[0]) % P, (one[1] + one[0]) * (other[1] + other[0]) % P
    c, d = 2 * one[3] * other[3] * D % P, 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number: int, base: Point) -> Point:
    result: Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = add(result, base)
        base, number = add(base, base), number >> 1
    return result


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = x_of(BASE_Y, 0) or 0
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    if len(signature) != 64:
        return False
    key, r, s = point(public), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= ORDER:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    left, right = times(s, BASE), add(r, times(h, key))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 == (left[1] * right[2] - right[1] * left[2]) % P


# --- Keys and signed notes (c2sp.org/signed-note, c2sp.org/tlog-cosignature) ---


def read_key(text: str) -> Key:
    """Return name, kind (1: the log, 4: a witness) and the 32 bytes of a key."""
    name, key_id, encoded = text.split("+", 2)
    raw = base64.b64decode(encoded, validate=True)
    kind, public = raw[0], raw[1:]
    if len(public) != 32 or kind not in (1, 4) or key_id_of(name, kind, public).hex() != key_id:
        fail(f"this is no key: {text}")
    return name, kind, public


def key_id_of(name: str, kind: int, public: bytes) -> bytes:
    return sha256(name.encode(), b"\n", bytes([kind]), public)[:4]


def has_signed(key: Key, text: str, lines: list[str]) -> bool:
    """Return whether a key has signed a note; a wrong signature of that key ends everything."""
    name, kind, public = key
    found = False
    for line in lines:
        dash, signer, encoded = line.split(" ")
        raw = base64.b64decode(encoded, validate=True)
        if dash != "\u2014" or signer != name or raw[:4] != key_id_of(name, kind, public):
            continue
        message, signature = text.encode(), raw[4:]
        if kind == 4:
            time = int.from_bytes(signature[:8], "big")
            message, signature = f"cosignature/v1\ntime {time}\n{text}".encode(), signature[8:]
        if not is_signed(public, message, signature):
            fail(f"the signature of {name} is wrong")
        found = True
    return found


# --- The tree (RFC 6962, section 2.1.1) ---


def root_of(leaf: bytes, index: int, size: int, hashes: list[bytes]) -> bytes:
    """Return the root that a leaf and the hashes beside its way lead to."""
    found, last = leaf, size - 1
    for one in hashes:
        if last == 0:
            fail("the proof is longer than the tree is high")
        if index & 1 or index == last:
            found = sha256(b"\x01", one, found)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            found = sha256(b"\x01", found, one)
        index, last = index >> 1, last >> 1
    if last:
        fail("the proof is shorter than the tree is high")
    return found


# --- The file (c2sp.org/tlog-proof) ---


def check(text: str, keys: list[Key], witnesses: list[Key]) -> tuple[str, int, str, str | None, list[str]]:
    """Return the head of the event, its payload (None when it was erased), and who has signed."""
    above, _, note = text.partition("\n\n")
    first, extra, index, *hashes = above.split("\n")
    if (
        not text.endswith("\n")
        or first != "c2sp.org/tlog-proof@v1"
        or extra[:6] != "extra "
        or index[:6] != "index "
    ):
        fail("this is no proof file")
    body, _, signatures = note.rpartition("\n\n")
    body, lines = body + "\n", signatures.removesuffix("\n").split("\n")
    origin, size, root = body.split("\n")[:3]

    signed = [key for key in keys if key[0] == origin and key[1] == 1 and has_signed(key, body, lines)]
    if not signed:
        fail(f"no key that you gave has signed for the log {origin}")
    seen = [key[0] for key in witnesses if has_signed(key, body, lines)]

    unpacker = zlib.decompressobj()
    shown = json.loads(unpacker.decompress(base64.b64decode(extra[6:], validate=True), 4 << 20))
    head, number = shown["head"].encode(), int(index[6:])
    leaf, steps = sha256(b"\x00", head), [base64.b64decode(one, validate=True) for one in hashes]
    if not 0 <= number < int(size) or root_of(leaf, number, int(size), steps) != base64.b64decode(root):
        fail("the event is not in the tree that was signed")
    event, payload = json.loads(head), shown.get("payload")
    if event["seq"] != number + 1:
        fail("the event stands at another place than it says")
    if payload is not None:
        salt = bytes.fromhex(shown["salt"])
        if (
            len(salt) != 16
            or sha256(b"choir-payload-1\0", salt, payload.encode()).hex() != event["payload_hash"]
        ):
            fail("the content is not the one that the event had")
    return origin, int(size), head.decode(), payload, seen


def fail(reason: str) -> NoReturn:
    raise SystemExit(f"The proof does not hold: {reason}.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--key", action="append", required=True)
    parser.add_argument("--witness-key", action="append", default=[])
    parser.add_argument("--content", help="a file whose content must be the one that the event names")
    words = parser.parse_args()
    keys, witnesses = map(read_key, words.key), map(read_key, words.witness_key)
    try:
        with open(words.file, encoding="utf-8", newline="") as file:
            origin, size, head, payload, seen = check(file.read(), list(keys), list(witnesses))
        if words.content:
            with open(words.content, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest not in (payload or ""):
                fail(f"it is not about the content of {words.content}")
    except (OSError, ValueError, KeyError, IndexError, TypeError, zlib.error) as error:
        fail(f"it cannot be read ({error})")
    print(f"The proof holds: this event is among the first {size} of {origin}.")
    for name in seen:
        print(f"Witnessed by {name}.")
    print(head)
    print("(the content was erased)" if payload is None else payload)


if __name__ == "__main__":
    sys.exit(main())
