"""Checks a log against itself and against everybody who has seen it: chain, tree, signatures, keys, witnesses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from msgspec import Struct

from choiros.features.proof.decide import endorsement
from choiros.features.proof.events import KeyChanged, LogSigned, WitnessAnswered
from choiros.features.proof.merkle import leaf_hash
from choiros.features.proof.note import (
    Key,
    Verify,
    checked,
    parse_key,
    parse_note,
    parse_signatures,
    parse_tree_head,
)
from choiros.features.proof.view import ProofView
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Head, Record
from choiros.kernel.journal import Journal

WAITING_MAX = 50_000
"""How many leaves may wait for the signed point that tells of them."""

READ_TYPES = frozenset({"proof.key", "proof.signed", "proof.witness"})

Read = Callable[[Head, bytes | None], object]
"""Gives the payload of an event as its type declares it."""


class Problem(Struct, frozen=True):
    """Something that is not as it should be, at an event, with what to do."""

    seq: int
    what: str
    fix: str


class Verified(Struct, frozen=True):
    """What was checked and what was found; the chain held, or there would be no answer at all."""

    first: int
    last: int
    root: str
    signed: int
    """How many signed points were compared with the log."""
    signed_until: int
    """Up to which event somebody's signature reaches."""
    witnessed: int
    """How many signatures of known witnesses were checked."""
    claims: int
    """How many points that are remembered elsewhere were compared."""
    problems: tuple[Problem, ...]


class Claim(Struct, frozen=True):
    """What somebody outside the log remembers of it."""

    who: str
    note: str


class _Walk:
    """One walk along the log: what waits, what was found."""

    def __init__(
        self, view: ProofView, after: int, *, read: Read, verify: Verify, witnesses: Sequence[Key]
    ) -> None:
        self.tree = view.frontier(after)
        self.keys = [parse_key(one.key) for one in view.signing_keys(until=after)]
        self.problems: list[Problem] = []
        self.signed = self.signed_until = self.witnessed = 0
        self._view = view
        self._start = after
        self._witnesses = {key.name: key for key in witnesses}
        self._verify = verify
        self._read_payload = read
        self._leaves: list[bytes] = []
        self._expected: defaultdict[int, list[tuple[int, str, str]]] = defaultdict(list)
        self._notes: dict[int, str] = {}

    def expect(self, size: int, root: str, *, seq: int, who: str) -> None:
        """Note that somebody says what the first `size` events were; about what was not read the tables tell."""
        if size <= self._start:
            self._compare_root(self._view.root(size).hex(), root, seq=seq, who=who, size=size)
        elif size < self.tree.size:
            self.problem(seq, f"{who} is about {size} events and comes too late to be compared.")
        else:
            self._expected[size].append((seq, root, who))

    def _compare_root(self, root: str, expected: str, *, seq: int, who: str, size: int) -> None:
        if root != expected:
            self.problem(seq, f"{who} tells of other first {size} events than the log holds.")

    def problem(self, seq: int, what: str, *, fix: str = "") -> None:
        """Note that something is not as it should be."""
        self.problems.append(
            Problem(seq, what, fix or "Compare with a backup, and with what witnesses keep.")
        )

    def step(self, heads: Sequence[tuple[Head, Record]]) -> None:
        """Go on over some events."""
        self._leaves += [leaf_hash(record.head) for _, record in heads]
        for head, record in heads:
            if head.event_type in READ_TYPES and record.payload is not None:
                self._read(head, record.payload)
        self._grow(self.tree.size + max(len(self._leaves) - WAITING_MAX, 0))

    def end(self) -> None:
        """Come to the end of the log: what is expected behind it is missing."""
        self._grow(self.tree.size + len(self._leaves))
        for size in sorted(self._expected):
            for seq, _, who in self._expected[size]:
                self.problem(
                    seq,
                    f"{who} tells of {size} events, but the log ends at event {self.tree.size}.",
                    fix="The end of the log is missing, or an older copy was put in its place: restore a newer backup.",
                )

    def result(self, first: int, *, claims: int) -> Verified:
        """Return what was found."""
        return Verified(
            first,
            self.tree.size,
            self.tree.root().hex(),
            self.signed,
            self.signed_until,
            self.witnessed,
            claims,
            tuple(self.problems),
        )

    def _grow(self, until: int) -> None:
        """Let the tree grow, and stop wherever somebody says what it was."""
        for size in sorted(size for size in self._expected if size <= until):
            self._grow_to(size)
            root = self.tree.root().hex()
            for seq, expected, who in self._expected.pop(size):
                self._compare_root(root, expected, seq=seq, who=who, size=size)
        self._grow_to(until)

    def _grow_to(self, size: int) -> None:
        count = size - self.tree.size
        self.tree.add(self._leaves[:count])
        del self._leaves[:count]

    def _read(self, head: Head, payload: bytes) -> None:
        match self._read_payload(head, payload):
            case KeyChanged() as changed:
                self._change_key(head.seq, changed)
            case LogSigned() as signed:
                self._compare(head.seq, signed)
            case WitnessAnswered() as answer:
                self._compare_witness(head.seq, answer)
            case _:
                self.problem(head.seq, f"Event {head.seq} cannot be read as a {head.event_type}.")

    def _change_key(self, seq: int, changed: KeyChanged) -> None:
        key = parse_key(changed.key)
        if self.keys:
            try:
                note = parse_note(changed.note)
            except Rejected:
                note = None
            is_endorsed = (
                note is not None
                and note.text == endorsement(key)
                and checked(note, self.keys[-1], verify=self._verify) == "valid"
            )
            if not is_endorsed:
                self.problem(
                    seq,
                    f"The key was changed at event {seq} without the former one's word.",
                    fix="If that key was lost and you changed it yourself, all is well; if not, somebody else did.",
                )
        self.keys.append(key)

    def _compare(self, seq: int, signed: LogSigned) -> None:
        self.signed += 1
        note = parse_note(signed.note)
        head = parse_tree_head(note.text)
        if (head.size, head.root.hex()) != (signed.size, signed.root) or head.size >= seq:
            self.problem(seq, f"The signed point at event {seq} contradicts itself.")
            return
        if not self.keys or checked(note, self.keys[-1], verify=self._verify) != "valid":
            self.problem(seq, f"The point at event {seq} is not signed with the key that was in force.")
            return
        self.signed_until = max(self.signed_until, head.size)
        self._notes[head.size] = signed.note
        self.expect(head.size, signed.root, seq=seq, who=f"The signed point at event {seq}")

    def _compare_witness(self, seq: int, answer: WitnessAnswered) -> None:
        """Check what a witness has signed, where its key is known."""
        note = self._notes.get(answer.size)
        for one in parse_signatures(answer.signatures) if note else ():
            key = self._witnesses.get(one.name)
            if key is None or key.id != one.key_id or note is None:
                continue
            self.witnessed += 1
            signed = parse_note(note + one.line())
            if checked(signed, key, verify=self._verify) != "valid":
                self.problem(seq, f"The signature of the witness {key.name} at event {seq} is not its own.")


class Verifier:
    """Checks the log of one person."""

    def __init__(
        self,
        journal: Journal,
        view: ProofView,
        *,
        origin: str,
        verify: Verify,
        witnesses: Sequence[Key] = (),
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._journal = journal
        self._view = view
        self._origin = origin
        self._verify = verify
        self._witnesses = tuple(witnesses)
        self._progress = progress

    async def check(self, claims: Sequence[Claim], after: int = 0, *, until: int | None = None) -> Verified:
        """Return what is found behind event `after`, up to and with `until`; the tree before it is believed.

        Raises Corrupt (`log.broken`), naming the event, when the chain itself does not hold.
        """
        head = (await self._journal.head()).seq
        last = head if until is None else min(until, head)
        walk = _Walk(
            self._view,
            after,
            read=self._journal.registry.decode,
            verify=self._verify,
            witnesses=self._witnesses,
        )
        if last == head:
            for one in claims:
                self._claim(walk, one)
        place = await self._journal.point(after)
        async for heads in self._journal.heads(place, until=last):
            walk.step(heads)
            if self._progress is not None:
                self._progress(heads[-1][0].seq - after, last - after)
        walk.end()
        if last == walk.tree.size == self._view.size() and walk.tree.root() != self._view.root(last):
            walk.problem(
                last,
                "The tables tell of another tree than the log.",
                fix="Run 'choir rebuild --full'; the log is right.",
            )
        return walk.result(after + 1, claims=len(claims))

    def _claim(self, walk: _Walk, one: Claim) -> None:
        """Take what is remembered elsewhere; it must be signed with a key of this log."""
        try:
            note = parse_note(one.note)
            head = parse_tree_head(note.text)
        except Rejected as refusal:
            walk.problem(0, f"What {one.who} keeps cannot be read: {refusal.message}")
            return
        keys = [parse_key(key.key) for key in self._view.signing_keys()]
        if head.origin != self._origin:
            walk.problem(0, f"{one.who} tells of another log, '{head.origin}'.")
        elif all(checked(note, key, verify=self._verify) != "valid" for key in keys):
            walk.problem(
                0,
                f"{one.who} keeps a point of {head.size} events that no key of this log has signed; "
                f"the log ends at event {self._view.size()}.",
            )
        else:
            walk.expect(head.size, head.root.hex(), seq=head.size, who=one.who)
