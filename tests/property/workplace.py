"""A computer at which wishes are made and hands work in the folder, each compared with the model."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from choiros.kernel.errors import Rejected
from choiros.wiring import Computer
from tests.places import Hand, MemoryPlace, Outcome, Place, head, recorded
from tests.property.model import Files, Model, Step, above, forced, holds, inside, moved, put, without

T = TypeVar("T")

PATHS = ("a", "b", "d", "d/x", "d/y", "d/e", "d/e/z", "n", "n/ü", "n/d")
paths = st.sampled_from(PATHS)
# Lines far enough from each other that two changes can be told apart.
LINES = [f"line {number}\n" for number in range(9)]
contents = st.one_of(
    st.sampled_from([b"", b"\x00\xff", b"same\n"]),
    st.tuples(st.sampled_from([0, 4, 8]), st.integers(0, 3)).map(
        lambda pick: "".join(
            f"{pick[1]}\n" if at == pick[0] else line for at, line in enumerate(LINES)
        ).encode()
    ),
)
file_modes = st.sampled_from([0o644, 0o755, 0o600])
directory_modes = st.sampled_from([0o755, 0o700])
runs = st.sampled_from([None, None, "r1", "r2"])


class Workplace(RuleBasedStateMachine):
    """Works at a computer by wishes and by hand, and tells the model."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.directory = Path(tempfile.mkdtemp())
        self.place = self.settle(self.directory)
        self.computer: Computer = self.now(self.place.open())
        self.model = Model()
        self.model.snapshots[0] = {}
        self.seen = self.now(head(self.computer))
        self.model.snapshots[self.seen] = {}

    def settle(self, directory: Path) -> Place:
        """Return where the computer stands."""
        return MemoryPlace(directory)

    def now(self, what: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(what)

    def hand(self, run: str | None = None) -> Hand:
        return Hand(self.computer, run=run, source="user" if run is None else "agent")

    def teardown(self) -> None:
        if hasattr(self, "computer"):
            self.now(recorded(self.computer))
            self.now(self.computer.close())
        self.loop.close()
        shutil.rmtree(self.directory)

    # --- Telling the model ---

    def note(
        self,
        outcome: Outcome,
        files: Files,
        *,
        run: str | None = None,
        moves: Iterable[tuple[str, str]] = (),
    ) -> None:
        assert outcome.troubles == ()
        seqs = tuple(event.seq for event in outcome.events)
        before = self.model.files
        touched = {path for path in {*before, *files} if before.get(path) != files.get(path)}
        assert bool(seqs) == bool(touched)
        if seqs:
            self.model.steps.append(Step(seqs, before, run, frozenset(touched), tuple(moves)))
        self.keep(files)

    def keep(self, files: Files) -> None:
        self.model.files = files
        self.model.snapshots[self.now(head(self.computer))] = files

    def wish(
        self,
        what: Coroutine[Any, Any, Outcome],
        files: Files | None,
        *,
        run: str | None = None,
        moves: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Let a wish be done; one that the model finds impossible must be refused."""
        if files is None:
            try:
                outcome = self.now(what)
            except Rejected:
                self.keep(self.model.files)
                return
            raise AssertionError(f"it was not refused: {outcome.events}")
        self.note(self.now(what), files, run=run, moves=moves)

    # --- Wishes ---

    @initialize(data=contents)
    def begin(self, data: bytes) -> None:
        self.write("d/x", data, 0o644, None)

    @rule(path=paths, data=contents, mode=file_modes, run=runs)
    def write(self, path: str, data: bytes, mode: int, run: str | None) -> None:
        files = put(self.model.files, path, ("file", mode, data))
        self.wish(self.hand(run).write(path, data, mode), files, run=run)

    @rule(path=paths, at=st.sampled_from([0, 4, 8]), word=st.integers(0, 3), run=runs)
    def edit(self, path: str, at: int, word: int, run: str | None) -> None:
        old, new = LINES[at], f"{word}\n"
        kind, mode, data = self.model.files.get(path, ("", 0, b""))
        files = None
        if kind == "file" and data.count(old.encode()) == 1:
            files = {**self.model.files, path: ("file", mode, data.replace(old.encode(), new.encode()))}
        self.wish(self.hand(run).edit(path, old, new), files, run=run)

    @rule(path=paths, mode=directory_modes, run=runs)
    def mkdir(self, path: str, mode: int, run: str | None) -> None:
        self.wish(self.hand(run).mkdir(path, mode), put(self.model.files, path, ("dir", mode, b"")), run=run)

    @rule(path=paths, to=st.sampled_from(["a", "../nowhere"]), run=runs)
    def link(self, path: str, to: str, run: str | None) -> None:
        files = put(self.model.files, path, ("link", 0o777, to.encode()))
        self.wish(self.hand(run).link(path, to), files, run=run)

    @rule(path=paths, mode=file_modes, run=runs)
    def chmod(self, path: str, mode: int, run: str | None) -> None:
        kind, _, data = self.model.files.get(path, ("link", 0, b""))
        if kind != "link":
            files = {**self.model.files, path: (kind, mode, data)}
            self.wish(self.hand(run).chmod(path, mode), files, run=run)

    @rule(path=paths, to=paths, run=runs)
    def move(self, path: str, to: str, run: str | None) -> None:
        files = moved(self.model.files, path, to)
        moves = [(one, to + one[len(path) :]) for one in self.model.files if one == path or inside(one, path)]
        self.wish(self.hand(run).move(path, to), files, run=run, moves=moves)

    @rule(path=paths, recursive=st.booleans(), run=runs)
    def remove(self, path: str, recursive: bool, run: str | None) -> None:
        allowed = path in self.model.files and (recursive or not holds(self.model.files, path))
        files = without(self.model.files, path) if allowed else None
        self.wish(self.hand(run).remove(path, recursive=recursive), files, run=run)

    # --- By hand, in the folder itself ---

    @rule(data=st.data(), count=st.integers(1, 3))
    def by_hand(self, data: st.DataObject, count: int) -> None:
        files, moves = self.model.files, list[tuple[str, str]]()
        for _ in range(count):
            act = data.draw(st.sampled_from(["write", "write", "link", "mkdir", "chmod", "remove", "move"]))
            path = data.draw(paths)
            files = self.outside(act, path, files, moves=moves, data=data)
        assert self.place.look() == dict(sorted(files.items())), "the test itself is wrong"
        captured = self.now(self.computer.merger.capture("main"))
        assert captured.unkept == {}
        self.note(Outcome(captured.events, ()), files, moves=moves)

    def outside(
        self, act: str, path: str, files: Files, *, moves: list[tuple[str, str]], data: st.DataObject
    ) -> Files:
        kind, _, content = files.get(path, ("", 0, b""))
        match act:
            case "write":
                fresh, mode = data.draw(contents), data.draw(file_modes)
                self.place.write(path, fresh, mode)
                return forced(files, path, ("file", mode, fresh))
            case "link":
                self.place.link(path, "a")
                return forced(files, path, ("link", 0o777, b"a"))
            case "mkdir" if kind != "dir":
                self.place.remove(path)
                self.place.mkdir(path)
                return forced(files, path, ("dir", 0o755, b""))
            case "chmod" if kind in {"file", "dir"}:
                self.place.chmod(path, 0o700)
                return {**files, path: (kind, 0o700, content)}
            case "remove" if kind:
                self.place.remove(path)
                return without(files, path)
            case "move" if kind:
                to = data.draw(paths)
                way = all(files.get(parent, ("",))[0] == "dir" for parent in above(to))
                if to == path or inside(to, path) or inside(path, to) or not way:
                    return files
                self.place.move(path, to)
                done = moved(without(files, to), path, to)
                assert done is not None
                moves += [(one, to + one[len(path) :]) for one in files if one == path or inside(one, path)]
                return done
            case _:
                return files

    @rule(path=paths, data=contents, ours=contents, run=runs)
    def race(self, path: str, data: bytes, ours: bytes, run: str | None) -> None:
        """Somebody writes in the folder, and before that is seen somebody else writes the same file."""
        files = forced(self.model.files, path, ("file", 0o644, data))
        if put(self.model.files, path, ("file", 0o644, b"")) is None or set(self.model.files) - set(files):
            return
        before, first = self.model.files, self.now(head(self.computer))
        self.place.write(path, data)
        outcome = self.now(self.hand(run).write(path, ours, before.get(path, ("file", 0o644, b""))[1]))
        assert outcome.troubles == ()
        self.now(self.computer.merger.capture("main"))
        here = self.place.look()
        versions = [thing[2] for one, thing in here.items() if one.split(" ", 1)[0] == path]
        was = before.get(path, ("", 0, b""))
        assert (was[0] == "file" and b"\n" in ours) or {data, ours} <= {*versions, was[2]}
        # What came of it is not foretold; from here on it is known. Nothing of it may be lost again.
        events = [
            event
            for event in self.now(recorded(self.computer, first))
            if event.head.event_type.startswith("file.")
        ]
        touched = frozenset(one for one in {*before, *here} if before.get(one) != here.get(one))
        for number, cause in enumerate(dict.fromkeys(event.head.cause for event in events)):
            own = [event for event in events if event.head.cause == cause]
            seqs = tuple(event.seq for event in own)
            step = Step(seqs, before, own[0].head.run_id, touched, is_exact=number == 0)
            self.model.steps.append(step)
        self.keep(here)
