"""What must be true, worked out by plain code of its own: no projector, chain or merger of the product is asked.

The books know every batch that was handed to the log, and what the log promised. The history is made of the stored
bytes alone: the chain is hashed again, the payloads are read as JSON, and a mapping of paths is kept for each event.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from choiros.kernel.event import Draft, Record

Json = dict[str, Any]
Files = dict[str, Json]


class Violation(AssertionError):  # noqa: N818 - a finding about the program, not an error of the simulator
    """Something that was promised does not hold."""

    def __init__(self, invariant: str, text: str) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant


def require(holds: object, invariant: str, text: str) -> None:
    """Raise Violation unless something holds."""
    if not holds:
        raise Violation(invariant, text)


@dataclass(eq=False)
class Batch:
    """One call of append: what was handed over, and what was said about it."""

    drafts: tuple[Draft, ...]
    state: Literal["open", "acknowledged", "refused"] = "open"
    records: tuple[Record, ...] = ()


@dataclass
class Books:
    """Everything that was handed to the log."""

    batches: list[Batch] = field(default_factory=list[Batch])

    def compare(self, records: Sequence[Record]) -> None:
        """I1 and I2: what was promised is there, once and in order, and nothing that nobody handed over."""
        stored = {record.id: record for record in records}
        require(len(stored) == len(records), "I1", "an event is stored twice")
        known: set[str] = set()
        for batch in self.batches:
            self._compare(batch, stored)
            known |= {draft.id for draft in batch.drafts}
        foreign = sorted(set(stored) - known)
        require(not foreign, "I2", f"events that nobody submitted: {foreign[:3]}")

    def settle(self) -> None:
        """After a restart, what did not arrive never will."""
        for batch in self.batches:
            if batch.state == "open":
                batch.state = "refused"

    def _compare(self, batch: Batch, stored: Mapping[str, Record]) -> None:
        found = [stored[draft.id] for draft in batch.drafts if draft.id in stored]
        first = batch.drafts[0].id
        if batch.state == "acknowledged":
            kept = tuple(map(tuple, found)) == tuple(map(tuple, batch.records))
            require(kept, "I1", f"the acknowledged batch {first} is lost or changed")
        elif batch.state == "refused":
            require(not found, "I2", f"the refused batch {first} is in the log")
        require(len(found) in {0, len(batch.drafts)}, "I1", f"the batch {first} is half there")
        for place, (draft, record) in enumerate(zip(batch.drafts, found, strict=False)):
            same = (draft.payload, draft.salt) == (record.payload, record.salt)
            require(same and record.seq == found[0].seq + place, "I2", f"the batch {first} was changed")
        if found:
            # A batch that is in the log once must stay there.
            batch.state, batch.records = "acknowledged", tuple(found)


@dataclass
class Happened:
    """One event as the model reads it."""

    seq: int
    kind: str
    head: Json
    payload: Json


class History:
    """The whole log, read from its stored bytes."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.events: list[Happened] = []
        self._files: list[tuple[int, str, str, Json | None]] = []
        self.contents: set[str] = set()
        self._now: dict[str, Files] = {}
        prev = bytes(32)
        for place, record in enumerate(records, 1):
            prev = self._linked(record, prev, place=place)
            head, payload = json.loads(record.head), json.loads(record.payload or b"null")
            happened = Happened(record.seq, head["event_type"], head, payload)
            self.events.append(happened)
            if happened.kind in {"file.write", "file.delete", "file.move"}:
                self._fold(happened)

    def _linked(self, record: Record, prev: bytes, *, place: int) -> bytes:
        """I3: the chain, as it is written in the record format."""
        require(record.seq == place, "I1", f"event {place} is missing")
        payload = b"choir-payload-1\0" + record.salt + (record.payload or b"")
        head = json.loads(record.head)
        told = (head["seq"], head["id"], head["payload_hash"])
        require(
            told == (place, record.id, hashlib.sha256(payload).hexdigest()),
            "I3",
            f"event {place} is not what its head says",
        )
        length = len(record.head).to_bytes(8, "big")
        digest = hashlib.sha256(b"choir-event-1\0" + prev + length + record.head).digest()
        require(digest == record.hash, "I3", f"the chain does not hold at event {place}")
        return digest

    def _fold(self, event: Happened) -> None:
        payload = event.payload
        files = self._now.setdefault(payload["workspace"], {})
        path = payload["path"]
        entry: Json | None = payload.get("entry")
        before = entry if event.kind == "file.move" else payload.get("before")
        told = f"event {event.seq} ({event.kind} {path}) does not follow from what stood there"
        require(files.get(path) == before, "I4", told)
        if event.kind == "file.move":
            files.pop(path)
            self._files.append((event.seq, payload["workspace"], path, None))
            path = payload["to"]
            require(path not in files, "I4", told)
        if event.kind == "file.delete":
            files.pop(path)
        elif entry is not None:
            files[path] = entry
            if entry["kind"] == "file":
                self.contents.add(entry["content"])
        self._files.append((event.seq, payload["workspace"], path, files.get(path)))

    def check_verdicts(self) -> None:
        """I7: no fact without a recorded verdict that allows it."""
        verdicts: dict[str, str] = {}
        for event in self.events:
            if event.kind == "policy.verdict":
                verdicts[event.head["id"]] = event.payload["answer"]
                continue
            answer = verdicts.get(event.head["cause"] or "")
            wanted = "ask" if event.kind == "approval.request" else "allow"
            require(answer == wanted, "I7", f"event {event.seq} ({event.kind}) has no verdict")
            verdicts[event.head["id"]] = "allow" if wanted == "allow" else ""

    def standing(self, workspace: str, at: int | None = None) -> Files:
        """Return what stands in a workspace, now or right after an event."""
        if at is None:
            return self._now.get(workspace, {})
        files: Files = {}
        for seq, where, path, entry in self._files:
            if seq > at:
                break
            if where == workspace:
                files.pop(path, None)
                if entry is not None:
                    files[path] = entry
        return files

    def open_workspaces(self) -> list[str]:
        """Return the workspaces that are open."""
        states: dict[str, bool] = {}
        for event in self.events:
            if event.kind in {"workspace.create", "workspace.open"}:
                states[event.payload["workspace"]] = True
            elif event.kind in {"workspace.archive", "workspace.remove"}:
                states[event.payload["workspace"]] = False
        return [workspace for workspace, is_open in states.items() if is_open]

    def check_effects(self, commits: Iterable[int | None]) -> None:
        """I7: each announced effect has exactly one outcome, and each effect was announced."""
        intents = [event.seq for event in self.events if event.kind == "checkpoint"]
        pushes = [event.seq for event in self.events if event.kind == "checkpoint.push"]
        ends = Counter(
            event.payload["checkpoint"]
            for event in self.events
            if event.kind in {"checkpoint.commit", "checkpoint.failed"}
        )
        pushed = Counter(
            event.payload["request"] for event in self.events if event.kind == "checkpoint.pushed"
        )
        pushed += Counter(event.payload["intent"] for event in self.events if event.kind == "effect.unknown")
        require(ends == Counter(intents), "I7", f"checkpoints {intents} have the outcomes {dict(ends)}")
        require(pushed == Counter(pushes), "I7", f"pushes {pushes} have the outcomes {dict(pushed)}")
        made = Counter(commits)
        strange = sorted(str(seq) for seq, count in made.items() if seq not in intents or count > 1)
        require(not strange, "I7", f"commits that nobody asked for, or twice: {strange}")
        named = {event.payload["checkpoint"] for event in self.events if event.kind == "checkpoint.commit"}
        require(
            named <= set(made), "I7", f"commits that were reported and are not there: {named - set(made)}"
        )
