"""A computer that answers what a test tells it, and a way to run the command line on it."""

import io
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple, cast

from msgspec import Raw

from choiros.cli.client import (
    Changed,
    Client,
    Difference,
    EventLine,
    Status,
    UndoPreview,
    WorkspaceLine,
)
from choiros.cli.main import run
from choiros.kernel.errors import ChoirError
from choiros.settings import Resolved

STREAMS = {"cat", "follow", "watch"}
NOTHING = Changed([], [], [], [])


def event(seq: int, sentence: str = "changed a.md", **fields: str | int | None) -> EventLine:
    known: dict[str, str | int | None] = {
        "source": "user",
        "event_type": "file.write",
        "run_id": None,
        "session_id": None,
        "cause": None,
        "undone_by": None,
        "timestamp": 1_700_000_000_000 + seq,
        **fields,
    }
    return EventLine(seq=seq, id=f"id-{seq}", sentence=sentence, event=Raw(b"{}"), **known)  # pyright: ignore[reportArgumentType]


def changed(*lines: EventLine, conflicts: Sequence[str] = (), warnings: Sequence[str] = ()) -> Changed:
    return Changed([line.seq for line in lines], list(lines), list(conflicts), list(warnings))


def preview(**fields: object) -> UndoPreview:
    known: dict[str, object] = {
        "target": "unit",
        "name": "7",
        "events": [event(7)],
        "changes": [Difference("a.md", "removed", None, "")],
        "irreversible": [],
        "notes": [],
        "obstacles": [],
        **fields,
    }
    return UndoPreview(**known)  # pyright: ignore[reportArgumentType]


STATUS = Status("me", "/home/me/.choir", "main", "/no/such/workspace", 7, "ab" * 32, 0, "ready")
MAIN = WorkspaceLine("main", "main", "/no/such/workspace", "open", current=True, files=2)


class FakeClient:
    """Answers each method with what it was given for it: a value, several one after the other, an error."""

    def __init__(self, **answers: object) -> None:
        self.answers: dict[str, object] = {"status": STATUS, "workspaces": [[MAIN]], **answers}
        self.calls: list[tuple[str, tuple[object, ...], dict[str, object]]] = []
        self.opened: list[tuple[str | None, bool]] = []
        self.resolved: list[Resolved] = []
        self.content = b""

    def called(self, name: str) -> list[tuple[object, ...]]:
        return [(*args, *options.values()) for done, args, options in self.calls if done == name]

    async def connect(self, resolved: Resolved, *, workspace: str | None, write: bool) -> Client:
        self.opened.append((workspace, write))
        self.resolved.append(resolved)
        self._next("connect", None)
        return cast("Client", self)

    async def close(self) -> None:
        self.calls.append(("close", (), {}))

    async def write(self, path: str, chunks: AsyncIterator[bytes], **options: object) -> object:
        self.calls.append(("write", (path,), options))
        self.content = b"".join([chunk async for chunk in chunks])
        return self._next("write", NOTHING)

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._stream(name) if name in STREAMS else self._method(name)

    def _method(self, name: str) -> Callable[..., object]:
        async def method(*args: object, **options: object) -> object:
            self.calls.append((name, args, options))
            return self._next(name, NOTHING)

        return method

    def _stream(self, name: str) -> Callable[..., object]:
        async def stream(*args: object, **options: object) -> AsyncIterator[object]:
            self.calls.append((name, args, options))
            for value in cast("Sequence[object]", self._next(name, ())):
                if isinstance(value, BaseException):
                    raise value
                yield value

        return stream

    def _next(self, name: str, default: object) -> object:
        answer = self.answers.get(name, default)
        if isinstance(answer, list):
            several = cast("list[object]", answer)
            answer = several.pop(0) if len(several) > 1 else several[0]
        if isinstance(answer, ChoirError | KeyboardInterrupt | OSError | KeyError):
            raise answer
        return answer


class Stream(io.TextIOWrapper):
    """A standard stream that may claim to be a terminal."""

    def __init__(self, content: bytes = b"", *, terminal: bool = False) -> None:
        self.bytes = io.BytesIO(content)
        super().__init__(self.bytes, encoding="utf-8", errors="strict", newline="")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def all(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode()


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def choir(
    *words: str, client: FakeClient | None = None, keys: bytes = b"", terminal: bool = False
) -> Outcome:
    """Run a command line; `keys` is what is typed or piped in."""
    known = client or FakeClient()
    out, err = Stream(terminal=terminal), Stream(terminal=terminal)
    former = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = Stream(keys, terminal=terminal), out, err
    try:
        code = run(words, connect=known.connect)
        return Outcome(code, out.all(), err.all())
    finally:
        sys.stdin, sys.stdout, sys.stderr = former
