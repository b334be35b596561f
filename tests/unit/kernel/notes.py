"""A room as small as a room can be, on the kernel as it is: what the kernel's own tests are played out in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Literal, cast

from msgspec import Struct

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteTables
from choiros.features.approvals.check import OnlyPeopleDecide
from choiros.features.approvals.commands import DecideApproval
from choiros.features.approvals.decide import ApprovalsLoader
from choiros.features.approvals.decide import decide as decide_approval
from choiros.features.approvals.events import EVENTS as APPROVAL_EVENTS
from choiros.features.approvals.view import ApprovalsProjector, ApprovalsView
from choiros.kernel.command import CommandType, Context, Decision, Fact, Proposal
from choiros.kernel.dispatch import Asked, Done, Kernel
from choiros.kernel.event import Draft, Event, Point, Record
from choiros.kernel.gate import GATE_EVENTS, Answer, Check, Gate, Verdict
from choiros.kernel.journal import Journal
from choiros.kernel.log import EventLog
from choiros.kernel.projector import Projector, ProjectorRunner
from choiros.kernel.reactor import Reactor, ReactorRunner
from choiros.kernel.registry import EventType, Registry
from choiros.kernel.tables import Tables
from choiros.testing.clock import FakeClock
from choiros.testing.ids import CountingIds

ME = Context("me")
AGENT = Context("me", source="agent", run="run-1")


class NoteAdded(Struct, frozen=True):
    """There is a note."""

    text: str


class AddNote(Struct, frozen=True):
    """Keep a text; its fact does not depend on the state."""

    text: str


class NumberNote(Struct, frozen=True):
    """Keep a text under the next number; its fact depends on the state."""

    text: str


class DoNothing(Struct, frozen=True):
    """Wish for what is already so."""


REGISTRY = Registry([EventType("note", NoteAdded, effect="reversible"), *GATE_EVENTS, *APPROVAL_EVENTS])


class NotesProjector:
    """Keeps each note, and counts them in a way that shows when one is applied twice."""

    name = "notes"
    version = 1
    tables = ("notes", "counted")
    schema = """
    CREATE TABLE notes(seq INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
    CREATE TABLE counted(text TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID, STRICT;
    """

    def apply(self, tables: Tables, events: Sequence[Event]) -> None:
        """Bring the tables up to these events."""
        for event in events:
            if isinstance(event.payload, NoteAdded):
                text = event.payload.text
                tables.run("INSERT INTO notes VALUES (?, ?)", [(event.seq, text)])
                sql = "INSERT INTO counted VALUES (?, 1) ON CONFLICT (text) DO UPDATE SET times = times + 1"
                tables.run(sql, [(text,)])


class Says:
    """A check with one opinion about commands of some names, about all when none is named."""

    def __init__(self, answer: Answer | None, *names: str, name: str = "says") -> None:
        self.name = name
        self.answer: Answer | None = answer
        self._names = names

    async def judge(self, proposal: Proposal) -> Verdict | None:
        """Return the opinion."""
        if self.answer is None or (self._names and proposal.name not in self._names):
            return None
        return Verdict(self.name, self.answer, f"{self.name} says {self.answer}.")


class Recorder:
    """A reactor that notes what it has seen and does what it was told with it."""

    def __init__(self, name: str = "recorder") -> None:
        self.name = name
        self.seen: list[int] = []
        self.then: Callable[[Event], Awaitable[object]] | None = None

    async def react(self, events: Sequence[Event]) -> None:
        """Note the events, and do with each what was told."""
        for event in events:
            self.seen.append(event.seq)
            if self.then is not None:
                await self.then(event)


class Room:
    """One person's notes: log, views, reactors and the kernel over them."""

    def __init__(
        self,
        log: EventLog | None = None,
        *,
        checks: Sequence[Check] = (Says("allow", "add", "number", "nothing"), OnlyPeopleDecide()),
        reactors: Sequence[Reactor] = (),
        projectors: Sequence[Projector] = (),
        tables: SqliteTables | None = None,
    ) -> None:
        self.log = log or MemoryLog()
        self.tables = tables or SqliteTables()
        self.blobs = MemoryBlobs(size_bytes_max=1 << 20)
        self.clock = FakeClock()
        self.ids = CountingIds()
        self.journal = Journal(self.log, REGISTRY, user="me")
        self.approvals = ApprovalsView(self.tables)
        self.projectors = ProjectorRunner(
            self.journal, self.tables, projectors=[NotesProjector(), ApprovalsProjector(), *projectors]
        )
        self.reactors = ReactorRunner(self.journal, self.tables, reactors=reactors)
        self.projectors.prepare()
        self.reactors.prepare(0)
        self.kernel = Kernel(
            self.journal,
            blobs=self.blobs,
            clock=self.clock,
            ids=self.ids,
            gate=Gate(checks),
            approvals=self.approvals,
            commands=self._commands(),
            projectors=self.projectors,
            reactors=self.reactors,
        )

    def _commands(self) -> list[CommandType[Struct, object]]:
        answers = ApprovalsLoader(self.approvals)
        kinds = [
            CommandType("add", AddNote, load=self._count, decide=_add, effect="reversible"),
            CommandType("number", NumberNote, load=self._count, decide=_number, effect="reversible"),
            CommandType("nothing", DoNothing, load=self._count, decide=_nothing, effect="pure"),
            CommandType("answer", DecideApproval, load=answers.load, decide=decide_approval, effect="pure"),
        ]
        return cast("list[CommandType[Struct, object]]", kinds)

    async def _count(self, command: Struct, context: Context) -> int:
        del command, context
        return len(self.notes())

    def notes(self) -> list[str]:
        """Return what the view shows."""
        return [str(text) for (text,) in self.tables.query("SELECT text FROM notes ORDER BY seq")]

    async def add(self, text: str, context: Context = ME) -> Done:
        """Keep a text that nothing stands against."""
        outcome = await self.kernel.handle(AddNote(text), context)
        assert isinstance(outcome, Done)
        return outcome

    async def ask(self, command: Struct, context: Context = AGENT) -> Asked:
        """Wish for something that a person is asked about."""
        outcome = await self.kernel.handle(command, context)
        assert isinstance(outcome, Asked)
        return outcome

    async def answer(
        self, asked: Asked, answer: Literal["allow", "deny"], context: Context = ME
    ) -> Done | Asked:
        """Answer a question as it was shown."""
        shown = self.approvals.get(asked.request)
        assert shown is not None
        return await self.kernel.handle(DecideApproval(asked.request, shown.digest, answer), context)

    async def again(self, asked: Asked) -> Done | Asked:
        """Handle the recorded command again, as the program does once a person has answered."""
        shown = self.approvals.get(asked.request)
        assert shown is not None
        (event,) = await self.journal.fetch([shown.seq])
        return await self.kernel.recorded(event, asked.request)

    async def types(self, after: int = 0) -> list[str]:
        """Return what the log holds behind an event, by type."""
        head = await self.journal.head()
        return [event.head.event_type for event in await self.journal.fetch(range(after + 1, head.seq + 1))]


def _add(command: AddNote, state: int) -> Decision:
    del state
    return Decision((Fact(NoteAdded(command.text)),), (command.text.encode(),))


def _number(command: NumberNote, state: int) -> Decision:
    return Decision((Fact(NoteAdded(f"{state + 1} {command.text}")),))


def _nothing(command: DoNothing, state: int) -> Decision:
    del command, state
    return Decision(())


class Wrapped:
    """A log that is the one it wraps, but for what a test overrides."""

    def __init__(self, inner: EventLog) -> None:
        self.inner = inner

    async def append(
        self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
    ) -> list[Record]:
        """Pass on."""
        return await self.inner.append(user, drafts, expect_seq=expect_seq)

    async def head(self, user: str) -> Point:
        """Pass on."""
        return await self.inner.head(user)

    def read(
        self, user: str, after: int = 0, *, limit: int | None = None, batch: int = 1000
    ) -> AsyncIterator[list[Record]]:
        """Pass on."""
        return self.inner.read(user, after, limit=limit, batch=batch)

    async def fetch(self, user: str, seqs: Sequence[int]) -> list[Record]:
        """Pass on."""
        return await self.inner.fetch(user, seqs)

    def follow(self, user: str, after: int) -> AsyncIterator[list[Record]]:
        """Pass on."""
        return self.inner.follow(user, after)

    async def close(self) -> None:
        """Pass on."""
        await self.inner.close()


def draft(number: int, text: str = "", *, user: str = "me", name: str = "note") -> Draft:
    """Return a note as an event to be."""
    payload = REGISTRY.encode(NoteAdded(text or f"note {number}"))
    event_id = f"01900000-0000-7000-9000-{number:012x}"
    return Draft(event_id, 1_780_000_000_000 + number, user, "user", name, payload, number.to_bytes(16))


class Busy(Wrapped):
    """A log in which somebody else writes right before each of the first appends."""

    def __init__(self, times: int) -> None:
        super().__init__(MemoryLog())
        self.tries = 0
        self._times = times

    async def append(
        self, user: str, drafts: Sequence[Draft] | Sequence[Record], *, expect_seq: int | None = None
    ) -> list[Record]:
        """Let somebody else write first, then pass on."""
        self.tries += 1
        if self.tries <= self._times:
            await super().append(user, [draft(self.tries, f"other {self.tries}")])
        return await super().append(user, drafts, expect_seq=expect_seq)
