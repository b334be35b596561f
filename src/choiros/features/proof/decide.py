"""The rules for signing what the log is, for changing the key, and for being a witness of other logs."""

from __future__ import annotations

from msgspec import Struct

from choiros.features.proof.commands import ReportWitness, RotateKey, SignLog, TrustLog, WitnessLog
from choiros.features.proof.events import KeyChanged, LogSeen, LogSigned, LogTrusted, WitnessAnswered
from choiros.features.proof.merkle import EMPTY, Frontier, is_consistent, leaf_hash
from choiros.features.proof.note import (
    Key,
    Note,
    Signature,
    TreeHead,
    bad_note,
    checked,
    parse_hash,
    parse_key,
    parse_note,
    parse_tree_head,
)
from choiros.features.proof.view import ProofView, Seen
from choiros.kernel.clock import Clock
from choiros.kernel.command import Commands, CommandType, Context, Decision, Fact, any_command
from choiros.kernel.errors import Conflict, Corrupt, Rejected
from choiros.kernel.journal import Journal
from choiros.kernel.signer import Signer

ORIGIN_DIGITS = 16
PROOF_LINES_MAX = 63

UNNOTABLE = frozenset({"proof.witness", "policy.verdict", "snapshot"})
"""What follows a signature by itself and needs none of its own."""


class SignState(Struct, frozen=True):
    """What would be signed: a key when it is the first time, and the log as it is; neither when nothing is new."""

    key: KeyChanged | None = None
    signed: LogSigned | None = None


class Request(Struct, frozen=True):
    """What somebody asks a witness, read and checked against the key of that log, and what was seen before."""

    head: TreeHead
    old_size: int
    proof: tuple[bytes, ...]
    note: str
    seen: Seen | None
    time_s: int


class ProofLoader:
    """Gathers what the rules of this room need, signatures included."""

    def __init__(self, view: ProofView, journal: Journal, *, signer: Signer, clock: Clock) -> None:
        self._view = view
        self._journal = journal
        self._signer = signer
        self._clock = clock

    async def origin(self) -> str:
        """Return the name of this log, which its first event gives it."""
        first = await self._journal.point(1)
        return f"choiros/{self._journal.user}/{first.hash.hex()[:ORIGIN_DIGITS]}"

    async def key(self) -> Key | None:
        """Return the key that the log is signed with, None before the first signature."""
        keys = self._view.signing_keys()
        return parse_key(keys[-1].key) if keys else None

    async def sign(self, command: SignLog, context: Context) -> SignState:
        """Return the signed log; raises Corrupt (`proof.tree_differs`) when the tables tell of another one."""
        del command, context
        last = self._view.last()
        if last is not None and not await self._is_notable(last.seq):
            return SignState()
        tree = await self._grown(last.size if last else 0, last.root if last else EMPTY.hex())
        key = await self.key()
        fresh = None
        if key is None:
            key = Key(await self.origin(), self._public())
            fresh = KeyChanged(str(key))
        head = TreeHead(await self.origin(), tree.size, tree.root())
        note = self._signed(head.text(), key)
        return SignState(fresh, LogSigned(head.size, head.root.hex(), str(note)))

    def _public(self) -> bytes:
        """Return a key that was made and not used before, or a new one."""
        used = {parse_key(one.key).public for one in self._view.signing_keys()}
        spare = [public for public in self._signer.publics() if public not in used]
        return spare[-1] if spare else self._signer.create()

    def _signed(self, text: str, key: Key) -> Note:
        raw = self._signer.sign(key.public, text.encode())
        return Note(text, (Signature(key.name, key.id, raw),))

    async def check_tail(self, remembered: str) -> None:
        """Compare the log with what was remembered of it beside the keys, and all behind with its own chain.

        Raises Corrupt: `log.rolled_back` when the log is shorter than that, `log.forked` when it is another one,
        and what reading it raises.
        """
        if not remembered:
            return
        head = parse_tree_head(parse_note(remembered).text)
        size = self._view.size()
        if size < head.size:
            raise rolled_back(size, head.size)
        leaves: list[bytes] = []
        async for heads in self._journal.heads(await self._journal.point(head.size)):
            leaves += [leaf_hash(record.head) for _, record in heads]
        if self._view.root(head.size) != head.root or leaves != self._view.leaves(head.size, size):
            raise forked(head.size)

    async def _is_notable(self, seq: int) -> bool:
        """Return whether anything happened behind an event that deserves a signature."""
        async for heads in self._journal.heads(await self._journal.point(seq)):
            if any(head.event_type not in UNNOTABLE for head, _ in heads):
                return True
        return False

    async def _grown(self, size: int, root: str) -> Frontier:
        """Return the tree of the whole log, grown from a signed point by what is stored, not by what is derived.

        What is to be signed is computed twice, from the stored events and from the tiles, as a single wrong bit
        under a signature can never be taken back.
        """
        tree = self._view.frontier(size)
        if tree.root().hex() != root:
            raise tree_differs(size)
        async for heads in self._journal.heads(await self._journal.point(size)):
            tree.add(leaf_hash(record.head) for _, record in heads)
        if tree.root() != self._view.root(tree.size):
            raise tree_differs(tree.size)
        return tree

    async def rotate(self, command: RotateKey, context: Context) -> KeyChanged:
        """Return the change to a new key, with the former one's word for it where that key is here."""
        del command, context
        before = await self.key()
        key = Key(await self.origin(), self._public())
        if before is None:
            return KeyChanged(str(key))
        note = ""
        if before.public in self._signer.publics():
            note = str(self._signed(endorsement(key), before))
        return KeyChanged(str(key), str(before), note)

    async def witness(self, command: WitnessLog, context: Context) -> Request:
        """Return the request with its signature checked; raises Rejected (`witness.*`, `proof.bad_note`)."""
        del context
        old_size, proof, text = _parsed_request(command.request)
        note = parse_note(text)
        head = parse_tree_head(note.text)
        trusted = self._view.trusted(head.origin)
        if trusted is None:
            raise Rejected(
                "witness.unknown_log",
                f"This computer is no witness for '{head.origin}'.",
                fix="If it shall be one: 'choir witness --trust KEY', with the key that 'choir keys' prints there.",
                origin=head.origin,
            )
        key = parse_key(trusted)
        if checked(note, key, verify=self._signer.verify) != "valid":
            raise Rejected(
                "witness.not_signed",
                f"The log '{head.origin}' is not signed with the key that is trusted for it.",
                fix="If its key was changed on purpose, trust the new one: 'choir witness --trust KEY'.",
                origin=head.origin,
            )
        time_s = self._clock.now_ms() // 1000
        return Request(head, old_size, proof, text, self._view.seen(head.origin), time_s)

    async def trust(self, command: TrustLog, context: Context) -> None:
        """Nothing is needed."""
        del command, context

    async def report(self, command: ReportWitness, context: Context) -> None:
        """Nothing is needed."""
        del command, context


def endorsement(key: Key) -> str:
    """Return what the former key signs about a new one."""
    return f"choir key change/v1\n{key.name}\n{key}\n"


def _parsed_request(text: str) -> tuple[int, tuple[bytes, ...], str]:
    """Return the old size, the proof and the note of a request."""
    above, gap, note = text.partition("\n\n")
    first, *hashes = above.split("\n")
    word, _, digits = first.partition(" ")
    if (
        not gap
        or word != "old"
        or not (digits.isascii() and digits.isdigit() and len(digits) <= ORIGIN_DIGITS)
    ):
        raise bad_note("it is no request to a witness")
    if len(hashes) > PROOF_LINES_MAX:
        raise bad_note(f"its proof has more than {PROOF_LINES_MAX} lines")
    return int(digits), tuple(parse_hash(line) for line in hashes), note


def decide_sign(command: SignLog, state: SignState) -> Decision:
    """Record the signature, and before it the key when it is new."""
    del command
    facts = [one for one in (state.key, state.signed) if one is not None]
    return Decision(tuple(Fact(one) for one in facts))


def decide_rotate(command: RotateKey, state: KeyChanged) -> Decision:
    """Record the new key."""
    del command
    return Decision((Fact(state),))


def decide_report(command: ReportWitness, state: None) -> Decision:
    """Record what a witness said."""
    del state
    answer = WitnessAnswered(command.witness, command.size, command.signatures, command.error)
    return Decision((Fact(answer),))


def decide_trust(command: TrustLog, state: None) -> Decision:
    """Record that another log is watched."""
    del state
    key = parse_key(command.key)
    return Decision((Fact(LogTrusted(key.name, str(key))),))


def decide_witness(command: WitnessLog, state: Request) -> Decision:
    """Record what another log is now, when it continues what was seen of it."""
    del command
    head, seen = state.head, state.seen
    known, root = (seen.size, bytes.fromhex(seen.root)) if seen else (0, EMPTY)
    if state.old_size != known:
        raise Conflict(
            "witness.other_size",
            f"The log '{head.origin}' was last seen at {known} events, not at {state.old_size}.",
            fix=f"Send the proof from {known} events on.",
            size=known,
            newest=seen.note if seen else "",
        )
    if not is_consistent(known, root, size=head.size, root=head.root, proof=state.proof):
        raise Rejected(
            "witness.not_a_continuation",
            f"What '{head.origin}' shows at {head.size} events does not continue what it was at {known} events.",
            fix="Somebody shows two histories of one log: keep both notes, they prove it.",
            origin=head.origin,
            newest=seen.note if seen else "",
        )
    return Decision((Fact(LogSeen(head.origin, head.size, head.root.hex(), state.note, state.time_s)),))


def tree_differs(size: int) -> Corrupt:
    """Return the error for tables that tell of another history than the log."""
    return Corrupt(
        "proof.tree_differs",
        f"The tables and the log differ about the first {size} events; nothing was signed.",
        fix="Run 'choir verify' to see whether the log is as it was, and 'choir rebuild' for the tables.",
        seq=size,
    )


def rolled_back(size: int, signed: int) -> Corrupt:
    """Return the error for a log that lost events which were signed."""
    return Corrupt(
        "log.rolled_back",
        f"The log ends at event {size}, but {signed} events were signed on this computer.",
        fix="Its end was cut off, or an older copy was put in its place: restore the newest backup. "
        "Until then nothing is changed; looking is possible.",
        seq=size,
    )


def forked(size: int) -> Corrupt:
    """Return the error for a log that is not the one that was signed."""
    return Corrupt(
        "log.forked",
        f"The first {size} events of the log are not those that were signed on this computer.",
        fix="'choir verify' tells where it differs; restore the log from a backup. "
        "Until then nothing is changed; looking is possible.",
        seq=size,
    )


def command_types(loader: ProofLoader) -> Commands:
    """Return this room's commands."""
    return [
        any_command(CommandType("proof.sign", SignLog, load=loader.sign, decide=decide_sign, effect="pure")),
        any_command(
            CommandType("proof.rotate", RotateKey, load=loader.rotate, decide=decide_rotate, effect="pure")
        ),
        any_command(
            CommandType(
                "proof.report", ReportWitness, load=loader.report, decide=decide_report, effect="pure"
            )
        ),
        any_command(
            CommandType("witness.trust", TrustLog, load=loader.trust, decide=decide_trust, effect="pure")
        ),
        any_command(
            CommandType("witness.look", WitnessLog, load=loader.witness, decide=decide_witness, effect="pure")
        ),
    ]
