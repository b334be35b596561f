"""Somebody who works in the folder itself, with the habits of editors: in place, by renaming, synced or not."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress

from choiros.testing.simulator.calls import PREFIX, Calls
from choiros.testing.simulator.chance import Chance

PATHS = ("a", "b", "c", "d", "d/x", "d/y", "d/e", "d/e/z", "n/ü", "n/d")
FOLDER = f"{PREFIX}/home/users/me/workspace"

_LINES = 9
_DIGITS = 7


def text(chance: Chance, token: int) -> bytes:
    """Return a content that nobody else writes: one line of many is changed, so that texts can be merged."""
    if chance.one_in(12):
        return bytes(70_000) + f"big {token}".encode()
    place = chance.below(_LINES)
    lines = [f"changed {token}" if line == place else f"line {line}" for line in range(_LINES)]
    return "\n".join([*lines, ""]).encode()


class Hand:
    """Changes the folder of the first workspace and remembers what nobody but it may take away again."""

    def __init__(self, calls: Calls, chance: Chance) -> None:
        self._calls = calls
        self._chance = chance
        self._tokens = 0
        self.left: dict[str, bytes] = {}
        """The line that nobody else writes, of what it has left at each path: each must enter the log one day."""
        self._is_busy = False

    def act(self) -> None:
        """Do one thing; what is not possible is not done."""
        if self._is_busy or "workspace" not in self._user_names():
            return
        self._is_busy = True
        try:
            self._act()
        finally:
            self._is_busy = False

    def _act(self) -> None:
        path = self._chance.choice(PATHS)
        with suppress(OSError):
            match self._chance.below(10):
                case 0 | 1 | 2:
                    self._write_in_place(path)
                case 3 | 4:
                    self._write_aside(path)
                case 5:
                    self._remove(path)
                case 6:
                    self._move(path, self._chance.choice(PATHS))
                case 7:
                    self._calls.mkdir(f"{FOLDER}/{path}", 0o755)
                case 8:
                    self._calls.symlink("a", f"{FOLDER}/{path}")
                case _:
                    self._change_mode(path)

    def _user_names(self) -> list[str]:
        with suppress(OSError):
            return self._calls.names(FOLDER.rpartition("/")[0])
        return []

    def _content(self) -> bytes:
        self._tokens += 1
        return text(self._chance, 1_000_000 + self._tokens)

    def _write_in_place(self, path: str) -> None:
        content = self._content()
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        descriptor = self._calls.open(f"{FOLDER}/{path}", flags, 0o644)
        self._forget(path)
        self._write(descriptor, content)
        self._leave(path, content)

    def _write(self, descriptor: int, content: bytes) -> None:
        done = 0
        while done < len(content):
            done += self._calls.write(descriptor, content[done:])
        if self._chance.one_in(2):
            self._calls.fsync(descriptor)
        self._calls.close(descriptor)

    def _write_aside(self, path: str) -> None:
        content = self._content()
        aside = f"{FOLDER}/{path}.part{self._tokens}"
        descriptor = self._calls.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._write(descriptor, content)
        try:
            self._calls.rename(aside, f"{FOLDER}/{path}")
        except OSError:
            self._calls.unlink(aside)
            raise
        self._forget(path)
        self._leave(path, content)

    def _remove(self, path: str) -> None:
        if self._calls.find(f"{FOLDER}/{path}", follow=False).kind == "dir":
            self._calls.rmdir(f"{FOLDER}/{path}")
        else:
            self._calls.unlink(f"{FOLDER}/{path}")
        self._forget(path)

    def _move(self, path: str, to: str) -> None:
        if path == to or path in _above(to) or to in _above(path):
            return
        self._calls.rename(f"{FOLDER}/{path}", f"{FOLDER}/{to}")
        self._calls.disk.note(f"by hand: {path} becomes {to}")
        self._forget(to)
        for name in [name for name in self.left if name == path or path in _above(name)]:
            self.left[to + name[len(path) :]] = self.left.pop(name)

    def _change_mode(self, path: str) -> None:
        if self._calls.find(f"{FOLDER}/{path}", follow=False).kind != "link":
            self._calls.chmod(f"{FOLDER}/{path}", self._chance.choice((0o755, 0o700, 0o600 | 0o100)))

    def _leave(self, path: str, content: bytes) -> None:
        token = _token(content)
        self.left[path] = token
        digest = hashlib.sha256(content).hexdigest()
        self._calls.disk.note(f"by hand: {path} holds {digest}, {token.decode()}")

    def _forget(self, path: str) -> None:
        for name in [name for name in self.left if name == path or path in _above(name)]:
            del self.left[name]


def _token(content: bytes) -> bytes:
    """Return the number that the content holds and no other does."""
    return next(word for word in reversed(content.split()) if len(word) == _DIGITS and word.isdigit())


def _above(path: str) -> list[str]:
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names))]
