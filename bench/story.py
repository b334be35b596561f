"""Makes up the history of a workspace, event by event, in the form in which the kernel records it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from choiros.engines.ids.system import SystemIds
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.workspaces.events import WorkspaceCreated
from choiros.kernel.event import Draft
from choiros.kernel.gate import Verdict, VerdictRecorded
from choiros.kernel.log import EventLog
from choiros.kernel.registry import Registry
from choiros.kernel.tree import Entry
from choiros.wiring import registry

USER = "me"
WORKSPACE = "main"
BATCH = 2000
START_MS = 1_760_000_000_000

_ALLOWED = (Verdict("files.workspace", "allow", "Changes of files in a workspace can be undone."),)
_SIZES = (1, 1, 5)
"""How many facts the commands of a run have in turn, so that three events in ten are verdicts."""


def contents(count: int) -> list[bytes]:
    """Return different texts of about two kilobytes."""
    return [
        "".join(f"def step_{line}(state):  # version {number}\n" for line in range(48)).encode()
        for number in range(count)
    ]


def entries(texts: Sequence[bytes]) -> list[Entry]:
    """Return how files with these contents are recorded."""
    return [Entry("file", 0o644, len(text), hashlib.sha256(text).hexdigest()) for text in texts]


class Story:
    """Writes drafts command by command; the same seed tells the same story, but for ids and salts."""

    def __init__(self, files: int, texts: Sequence[bytes], *, seed: int = 1) -> None:
        self.known: Registry = registry()
        self._ids = SystemIds()
        self._chance = random.Random(seed)
        self._looks = entries(texts)
        self._paths = [
            f"src/part_{number // 100:03d}/module_{number % 100:02d}.py" for number in range(files)
        ]
        self._now: list[Entry | None] = [None] * files
        self._moment = START_MS
        self.run: str | None = None

    def opening(self) -> Iterator[list[Draft]]:
        """The workspace is made, and all its files are written."""
        yield self._command("workspaces.new", [WorkspaceCreated(WORKSPACE, WORKSPACE)])
        folders = ["src", *sorted({path.rpartition("/")[0] for path in self._paths})]
        empty = Entry("dir", 0o755)
        yield self._command("files.change", [FileWritten(WORKSPACE, path, empty) for path in folders])
        for start in range(0, len(self._paths), 100):
            numbers = range(start, min(start + 100, len(self._paths)))
            yield self._command("files.change", [self._write(number) for number in numbers])

    def middle(self) -> Iterator[list[Draft]]:
        """Agents change files, run after run, for ever; some files are changed much more often than others."""
        turn = 0
        while True:
            if turn % 60 == 0:
                self.run = f"run-{turn // 60:06d}"
            numbers = {self._pick() for _ in range(_SIZES[turn % len(_SIZES)])}
            yield self._command("files.change", [self._change(number) for number in sorted(numbers)])
            turn += 1

    def last_run(self, name: str, count: int) -> Iterator[list[Draft]]:
        """One run rewrites many files, one command each, after every missing file was written again."""
        self.run = None
        gone = [number for number, entry in enumerate(self._now) if entry is None]
        if gone:
            yield self._command("files.change", [self._write(number) for number in gone])
        self.run = name
        for number in self._chance.sample(range(len(self._paths)), count):
            yield self._command("files.change", [self._write(number)])

    def path(self, number: int) -> str:
        """Return where a file stands now."""
        return self._paths[number]

    def fact(self) -> FileWritten:
        """Return one more write of a file, for a figure that makes its own drafts."""
        return self._write(self._pick())

    def draft(self, payload: Struct, source: Literal["user", "agent"], *, cause: str | None) -> Draft:
        """Return one event that is ready to be appended."""
        kind = self.known.type_of(payload)
        self._moment += 7
        return Draft(
            self._ids.event_id(self._moment),
            self._moment,
            USER,
            source,
            kind.name,
            self.known.encode(payload),
            self._ids.salt(),
            run_id=self.run,
            cause=cause,
        )

    def _command(self, name: str, facts: Sequence[Struct]) -> list[Draft]:
        source: Literal["user", "agent"] = "user" if self.run is None else "agent"
        digest = self._chance.randbytes(32).hex()
        verdict = VerdictRecorded(name, digest, "allow", _ALLOWED, "reversible")
        drafts = [self.draft(verdict, source, cause=None)]
        drafts += [self.draft(fact, source, cause=drafts[0].id) for fact in facts]
        return drafts

    def _pick(self) -> int:
        files = len(self._paths)
        return self._chance.randrange(files if self._chance.random() < 0.95 else min(10, files))

    def _write(self, number: int) -> FileWritten:
        before = self._now[number]
        entry = self._chance.choice(self._looks)
        self._now[number] = entry
        return FileWritten(WORKSPACE, self._paths[number], entry, before)

    def _change(self, number: int) -> FileWritten | FileDeleted | FileMoved:
        entry, path, dice = self._now[number], self._paths[number], self._chance.random()
        if entry is None or dice < 0.92:
            return self._write(number)
        if dice < 0.96:
            self._now[number] = None
            return FileDeleted(WORKSPACE, path, entry)
        to = path.removesuffix(".old") if path.endswith(".old") else path + ".old"
        self._paths[number] = to
        return FileMoved(WORKSPACE, path, to, entry)


async def write(log: EventLog, commands: Iterator[list[Draft]], *, until: int | None = None) -> int:
    """Append commands in large batches until the log holds `until` events; return how many it holds."""
    held = (await log.head(USER)).seq
    waiting: list[Draft] = []
    for drafts in commands:
        waiting += drafts
        full = until is not None and held + len(waiting) >= until
        if len(waiting) >= BATCH or full:
            held = (await log.append(USER, waiting))[-1].seq
            waiting = []
        if full:
            return held
    if waiting:
        held = (await log.append(USER, waiting))[-1].seq
    return held
