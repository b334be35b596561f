"""Turns what a computer knows into the plain answers of the client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Raw, Struct
from msgspec.structs import replace

from choiros.cli.client import Blamed, Difference, EventDetail, EventLine, LogQuery, UndoPreview, Why
from choiros.cli.direct.sentences import sentence, size
from choiros.features.audit.view import EventFilter, is_routine
from choiros.features.files.blame import Blame
from choiros.features.files.decide import not_found
from choiros.features.files.diff import unified
from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.files.load import read_all
from choiros.features.files.text import TEXT_BYTES_MAX, is_text
from choiros.kernel.errors import Rejected
from choiros.kernel.path import is_below
from choiros.kernel.tree import Entry

if TYPE_CHECKING:
    from choiros.features.files.view import Version
    from choiros.features.undo.decide import Plan
    from choiros.kernel.event import Event
    from choiros.wiring import Computer

Entries = Mapping[str, Entry | None]
CAUSES_MAX = 50


class Answers:
    """Answers questions about one workspace of a computer; nothing is changed."""

    def __init__(self, computer: Computer, workspace: str) -> None:
        self._computer = computer
        self._workspace = workspace
        self._names = {one.id: one.name for one in computer.workspaces.all()}

    def line(self, event: Event) -> EventLine:
        """Return an event as a list shows it."""
        head = event.head
        return EventLine(
            seq=head.seq,
            id=head.id,
            timestamp=head.timestamp,
            source=head.source,
            event_type=head.event_type,
            run_id=head.run_id,
            session_id=head.session_id,
            cause=head.cause,
            undone_by=self._computer.undo_view.undone_by(head.seq),
            sentence=sentence(event, self._names),
            event=Raw(event.as_json()),
        )

    async def lines(self, seqs: Iterable[int]) -> list[EventLine]:
        """Return events by their numbers."""
        return [self.line(event) for event in await self._computer.journal.fetch(seqs)]

    async def log(self, query: LogQuery) -> list[EventLine]:
        """Return matching events, the oldest first."""
        computer = self._computer
        among = None if query.path is None else computer.files.touching(self._workspace, query.path)
        wanted = EventFilter(
            query.after,
            query.until,
            query.event_type,
            query.source,
            query.run,
            query.session,
            routine=query.routine or query.event_type is not None,
        )
        seqs = computer.audit.find(wanted, limit=query.limit, newest=query.newest, among=among)
        return await self.lines(seqs)

    async def follow(self, query: LogQuery) -> AsyncIterator[EventLine]:
        """Return matching events behind `query.after`, then new ones, for ever."""
        start = await self._computer.journal.point(query.after)
        async for events in self._computer.journal.follow(start):
            for event in events:
                if _matches(event, query, workspace=self._workspace):
                    yield self.line(event)

    async def show(self, seq: int) -> EventDetail:
        """Return one event in detail."""
        event = await self.event(seq)
        kind = self._computer.journal.registry.get(event.head.event_type)
        causes = await self._causes(event)
        consequences = self._computer.audit.caused_by(event.head.id, seq)
        return EventDetail(
            line=self.line(event),
            effect=kind.effect if kind else "irreversible",
            causes=[self.line(one) for one in causes],
            consequences=await self.lines(consequences),
            diff=await self._diff_of(event.payload),
        )

    async def event(self, seq: int) -> Event:
        """Return an event; raises Rejected (`log.unknown_event`)."""
        found = await self._computer.journal.fetch([seq]) if seq > 0 else []
        if not found:
            head = await self._computer.journal.head()
            raise Rejected(
                "log.unknown_event",
                f"There is no event {seq}; the newest one is {head.seq}.",
                fix="'choir log' lists the events.",
                seq=seq,
            )
        return found[0]

    async def _causes(self, event: Event) -> list[Event]:
        causes: list[Event] = []
        while event.head.cause is not None and len(causes) < CAUSES_MAX:
            seq = self._computer.audit.seq_of(event.head.cause)
            if seq is None:
                break
            event = await self.event(seq)
            causes.append(event)
        return causes

    async def _diff_of(self, payload: object) -> str:
        match payload:
            case FileWritten(_, path, entry, before):
                return (await self.difference(path, before, after=entry)).text
            case FileDeleted(_, path, before):
                return (await self.difference(path, before, after=None)).text
            case _:
                return ""

    async def differences(self, before: Entries, after: Entries) -> list[Difference]:
        """Return how two states differ, path by path."""
        changed = sorted(path for path in {**before, **after} if before.get(path) != after.get(path))
        return [await self.difference(path, before.get(path), after=after.get(path)) for path in changed]

    async def difference(self, path: str, before: Entry | None, *, after: Entry | None) -> Difference:
        """Return how a path differs between two states."""
        old, new = await self._text_of(before), await self._text_of(after)
        if before is not None and after is not None and before.kind == after.kind:
            same = replace(before, mode=0) == replace(after, mode=0)
            change = "mode" if same else "changed"
        else:
            change = "added" if before is None else "removed" if after is None else "changed"
        if (
            old is not None
            and new is not None
            and change != "mode"
            and "dir" not in {_kind(before), _kind(after)}
        ):
            names = (None if before is None else path, None if after is None else path)
            text = unified(old, new, path_before=names[0], path_after=names[1])
        else:
            text = f"{path}: {_described(before)} -> {_described(after)}\n"
        return Difference(path, change, None, text)

    async def _text_of(self, entry: Entry | None) -> bytes | None:
        if entry is None:
            return b""
        if entry.kind != "file" or entry.size > TEXT_BYTES_MAX:
            return entry.target.encode() if entry.kind == "link" else None
        content = await read_all(self._computer.parts.blobs, entry.content)
        return content if is_text(content) else None

    async def preview(self, plan: Plan) -> UndoPreview:
        """Return what an undo would do."""
        before, after = _states(plan.reversal.facts)
        reversal = plan.reversal
        for content in reversal.contents:
            # Merged text exists nowhere yet; put, but never flushed, it can be read like any other.
            await self._computer.parts.blobs.put(content)
        return UndoPreview(
            target=plan.target,
            name=plan.name,
            events=await self.lines(plan.seqs),
            changes=await self.differences(before, after),
            irreversible=[self.line(event) for event in plan.irreversible],
            notes=[f"{note.what}: {note.reason}" for note in reversal.notes],
            obstacles=[f"{one.what}: {one.reason}" for one in reversal.obstacles],
        )

    async def changes_of(self, facts: Sequence[Struct]) -> list[Difference]:
        """Return what facts would change."""
        return await self.differences(*_states(facts))

    async def why(self, path: str) -> Why:
        """Return who wrote each line of a file."""
        versions = self._versions(path)
        if not versions:
            raise not_found(path)
        lines = await self._blamed(versions)
        named = {line.seq for line in lines} | {version.seq for version in versions}
        events = {line.seq: line for line in await self.lines(named)}
        history = [events[version.seq] for version in reversed(versions)]
        return Why(path, lines, events, history, await self._reasons({line.seq for line in lines}))

    async def _reasons(self, seqs: Iterable[int]) -> dict[int, EventLine]:
        """Return for events the nearest thing that led to them, where it is more than that they were allowed."""
        found: dict[int, EventLine] = {}
        for event in await self._computer.journal.fetch(sorted(seqs)):
            reasons = (one for one in await self._causes(event) if not is_routine(one))
            reason = next(reasons, None)
            if reason is not None:
                found[event.seq] = self.line(reason)
        return found

    def _versions(self, path: str) -> list[Version]:
        """Return every version of what stands at a path, also from before it was moved there, the oldest first."""
        found: list[Version] = []
        until = None
        while path:
            for version in reversed(self._computer.files.history(self._workspace, path)):
                if until is not None and version.seq >= until:
                    continue
                found.append(version)
                if version.moved_from is not None:
                    path, until = version.moved_from, version.seq
                    break
            else:
                break
        return found[::-1]

    async def _blamed(self, versions: Sequence[Version]) -> list[Blamed]:
        blame = Blame()
        for version in versions:
            content = None if version.entry is None else await self._text_of(version.entry)
            blame.feed(version.seq, content)
        return [Blamed(line.number, line.text, line.seq) for line in blame.lines()]


def _matches(event: Event, query: LogQuery, *, workspace: str) -> bool:
    head = event.head
    if not query.routine and query.event_type is None and is_routine(event):
        return False
    kind = query.event_type
    if kind is not None:
        fits = head.event_type.startswith(kind[:-1]) if kind.endswith(".*") else head.event_type == kind
        if not fits:
            return False
    wanted = ((query.source, head.source), (query.run, head.run_id), (query.session, head.session_id))
    if any(value is not None and value != found for value, found in wanted):
        return False
    return query.path is None or _touches(event.payload, query.path, workspace=workspace)


def _touches(payload: object, wanted: str, *, workspace: str) -> bool:
    """Return whether a fact is about a path of this workspace, or about something below it."""
    match payload:
        case FileWritten(place, path) | FileDeleted(place, path):
            paths = [path]
        case FileMoved(place, path, to):
            paths = [path, to]
        case _:
            return False
    return place == workspace and any(path == wanted or is_below(path, wanted) for path in paths)


def _states(facts: Sequence[Struct]) -> tuple[dict[str, Entry | None], dict[str, Entry | None]]:
    """Return what stands at the paths of facts before the first and after the last of them."""
    before: dict[str, Entry | None] = {}
    after: dict[str, Entry | None] = {}
    for fact in facts:
        match fact:
            case FileWritten(_, path, entry, old):
                before.setdefault(path, old)
                after[path] = entry
            case FileDeleted(_, path, old):
                before.setdefault(path, old)
                after[path] = None
            case FileMoved(_, path, to, entry):
                before.setdefault(path, entry)
                before.setdefault(to, None)
                after[path], after[to] = None, entry
            case _:
                pass
    return before, after


def _kind(entry: Entry | None) -> str:
    return "" if entry is None else entry.kind


def _described(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    match entry.kind:
        case "dir":
            return f"directory, mode {entry.mode:o}"
        case "link":
            return f"link to {entry.target}"
        case "file":
            return f"{size(entry.size)}, mode {entry.mode:o}, content {entry.content[:10]}"
