"""Which events are taken back, and what an undo without a name means, straight from events."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from choiros.engines.log.memory import MemoryLog
from choiros.engines.tables.sqlite import SqliteCabinet
from choiros.features.checkpoints.events import CheckpointMade, PushRequested
from choiros.features.files.events import FileWritten
from choiros.features.undo.events import Target, Undone, spans_of
from choiros.features.undo.view import UndoProjector, UndoView, Unit
from choiros.features.workspaces.events import EVENTS as WORKSPACE_EVENTS
from choiros.features.workspaces.events import WorkspaceRenamed
from choiros.kernel.event import Draft, Event, Source
from choiros.kernel.journal import Journal
from choiros.kernel.tables import Tables
from choiros.kernel.tree import Entry
from choiros.wiring.parts import registry

VERDICT = "verdict"


class History:
    """A log that a test writes event by event; whatever is added gets the next number."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._journal = Journal(MemoryLog(), registry(), user="me")

    def add(
        self,
        payload: Struct,
        *,
        run: str | None = None,
        cause: str | None = None,
        source: Source = "user",
    ) -> int:
        return asyncio.run(self._add(payload, run=run, cause=cause, source=source))

    async def _add(self, payload: Struct, *, run: str | None, cause: str | None, source: Source) -> int:
        known, number = self._journal.registry, len(self.events) + 1
        raw = known.encode(payload)
        draft = Draft(
            f"e{number}", number, "me", source, known.type_of(payload).name, raw, bytes(16), None, run, cause
        )
        self.events += await self._journal.append([draft])
        return number

    def file(
        self,
        run: str | None = None,
        *,
        cause: str | None = None,
        workspace: str = "main",
        by: Source = "user",
    ) -> int:
        """Write a file; outside a run each is a command of its own unless it names its cause."""
        number = len(self.events) + 1
        entry = Entry("dir", 0o755)
        return self.add(
            FileWritten(workspace, f"p{number}", entry),
            run=run,
            cause=cause or f"{VERDICT}{number}",
            source=by,
        )

    def undo(
        self,
        seqs: Iterable[int],
        *,
        target: Target = "event",
        run: str | None = None,
        workspace: str = "main",
    ) -> int:
        """Take events back, each by one fact that follows."""
        seqs = sorted(seqs)
        number = self.add(Undone(target, "x", spans_of(seqs)), run=run, cause=VERDICT)
        for _ in seqs:
            self.file(run, cause=f"e{number}", workspace=workspace)
        return number


class Board:
    """The tables of the view."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.tables: Tables = SqliteCabinet(directory).open()
        known = registry()
        self.projector = UndoProjector(
            frozenset(kind.name for kind in known if kind.effect == "reversible") - {"undo"},
            unplaced=frozenset(kind.name for kind in WORKSPACE_EVENTS),
            final=frozenset(kind.name for kind in known if kind.effect == "irreversible"),
        )
        self.tables.script(self.projector.schema)
        self._seen = 0

    def see(self, history: History, *, step: int = 1_000_000) -> UndoView:
        """Bring the view up to the log, so many events at a time."""
        while fresh := history.events[self._seen : self._seen + step]:
            with self.tables.transaction():
                self.projector.apply(self.tables, fresh)
            self._seen += len(fresh)
        return UndoView(self.tables)

    def digest(self) -> str:
        return self.tables.digest(self.projector.tables)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    board = Board(tmp_path)
    yield board
    board.tables.close()


@pytest.fixture
def history() -> History:
    return History()


def unit(view: UndoView, workspace: str = "main") -> tuple[int, ...] | None:
    found = view.last_unit(workspace)
    return None if found is None else found.seqs


def test_nothing_has_happened_so_nothing_is_last(board: Board, history: History) -> None:
    """C-30."""
    view = board.see(history)
    assert view.last_unit("main") is None
    assert view.last_undo("main") is None


def test_the_last_unit_is_a_run_as_a_whole_whatever_came_between(board: Board, history: History) -> None:
    """C-36."""
    first, other, last = history.file("r1"), history.file(), history.file("r1")
    view = board.see(history)
    assert view.last_unit("main") == Unit("r1", f"{VERDICT}{last}", (first, last))
    assert other not in view.of_run("r1", "main")


def test_the_last_unit_outside_a_run_is_one_command_with_all_its_facts(
    board: Board, history: History
) -> None:
    """C-30."""
    history.file("r1")
    history.file()
    facts = (history.file(cause="one"), history.file(cause="one"))
    assert board.see(history).last_unit("main") == Unit(None, "one", facts)


def test_five_levels_of_undo_go_back_one_by_one_and_five_of_redo_come_forward_in_order(
    board: Board, history: History
) -> None:
    """C-30."""
    files = [history.file() for _ in range(5)]
    undos: list[int] = []
    for seq in reversed(files):
        assert unit(board.see(history)) == (seq,)
        undos.append(history.undo([seq], target="unit"))
    assert unit(board.see(history)) is None
    for undo, seq in zip(reversed(undos), files, strict=True):
        view = board.see(history)
        assert view.last_undo("main") == undo
        history.undo(view.compensations(undo), target="redo")
        assert unit(board.see(history)) == (seq,)
    assert board.see(history).last_undo("main") is None


def test_an_undo_of_an_undo_lifts_it_and_an_undo_of_that_makes_it_hold_again(
    board: Board, history: History
) -> None:
    """C-30."""
    seq = history.file()
    first = history.undo([seq])
    second = history.undo(board.see(history).compensations(first), target="redo")
    view = board.see(history)
    assert (view.undone_by(seq), view.undone_by(first)) == (None, second)
    third = history.undo(view.compensations(second), target="redo")
    view = board.see(history)
    assert (view.undone_by(first), view.undone_by(second), view.undone_by(seq)) == (None, third, first)
    assert unit(view) is None


def test_an_undo_that_is_taken_back_in_part_still_holds(board: Board, history: History) -> None:
    """C-30."""
    one, two = history.file("r1"), history.file("r1")
    undo = history.undo([one, two], target="run")
    by = board.see(history).compensations(undo)
    history.undo(by[:1])
    view = board.see(history)
    assert view.undone_by(undo) is None
    assert view.undone_by(two) == undo
    history.undo(by[1:])
    view = board.see(history)
    assert view.undone_by(undo) is not None
    assert (view.undone_by(one), view.undone_by(two)) == (None, None)


def test_an_event_that_two_undos_took_back_is_back_only_when_both_are_lifted(
    board: Board, history: History
) -> None:
    """C-30."""
    one, two = history.file(), history.file()
    single = history.undo([two])
    since = history.undo([one, two, *board.see(history).compensations(single)], target="since")
    view = board.see(history)
    assert view.undone_by(single) == since
    assert view.undone_by(two) == since
    history.undo(view.compensations(since), target="redo")
    view = board.see(history)
    assert view.undone_by(single) is None, "it stood before the undo since, so it stands again"
    assert (view.undone_by(one), view.undone_by(two)) == (None, single)


def test_everything_behind_a_number_includes_what_undos_did(board: Board, history: History) -> None:
    """C-30: I6 needs them to come back to exactly the state at that number."""
    one, two = history.file(), history.file()
    undo = history.undo([two])
    view = board.see(history)
    assert view.after("main", one) == (two, *view.compensations(undo))
    assert view.after("main", undo) == view.compensations(undo) == (undo + 1,)


def test_what_an_undo_did_is_never_the_last_unit(board: Board, history: History) -> None:
    """C-30."""
    one, two = history.file(), history.file("r1")
    history.undo([two], target="run", run="r1")
    assert unit(board.see(history)) == (one,)


def test_what_a_run_took_back_itself_is_part_of_what_it_did(board: Board, history: History) -> None:
    """C-36: undoing the run undoes its own undo as well; what others took back is done with."""
    before, mine, other = history.file(), history.file("r1"), history.file("r1")
    own = history.undo([before], run="r1")
    history.undo([other])
    view = board.see(history)
    assert view.of_run("r1", "main") == (mine, *view.compensations(own))


def test_workspaces_are_apart(board: Board, history: History) -> None:
    """C-42."""
    here, there = history.file("r1"), history.file("r1", workspace="w2")
    undo = history.undo([there], workspace="w2")
    view = board.see(history)
    assert (unit(view), unit(view, "w2")) == ((here,), None)
    assert (view.last_undo("main"), view.last_undo("w2")) == (None, undo)
    assert view.of_run("r1", "main") == (here,)
    assert view.after("main", 0) == (here,)
    assert (view.workspace_of(here), view.workspace_of(undo)) == ("main", "w2")
    assert view.knows_run("r1", "w2")
    assert not view.knows_run("r1", "w3")


def test_what_a_run_did_to_workspaces_belongs_to_it_everywhere(board: Board, history: History) -> None:
    """C-42."""
    renamed = history.add(WorkspaceRenamed("w2", "new", "old"), run="r1", cause="c")
    here = history.file("r1")
    view = board.see(history)
    assert view.of_run("r1", "main") == (renamed, here)
    assert view.workspace_of(renamed) == ""


def test_what_choiros_recorded_by_itself_is_nobodys_to_take_back(board: Board, history: History) -> None:
    """C-30: what was adopted was there before."""
    seq = history.file(by="system")
    view = board.see(history)
    assert unit(view) is None
    assert view.after("main", 0) == ()
    assert view.workspace_of(seq) is None


def test_what_can_never_be_taken_back_is_known_by_run_and_behind_a_number(
    board: Board, history: History
) -> None:
    """C-30."""
    history.add(CheckpointMade("main", "a point"))
    push = history.add(PushRequested("main", "c0ffee", "https://example.org/r.git", "main"), run="r1")
    other = history.add(PushRequested("w2", "c0ffee", "https://example.org/r.git", "main"), run="r1")
    view = board.see(history)
    assert view.finals("main", run="r1") == (push,)
    assert view.finals("main") == (push,)
    assert view.finals("main", after=push) == ()
    assert view.finals("w2", after=push) == (other,)
    assert unit(view) is None


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_how_the_events_are_split_does_not_matter(tmp_path: Path, history: History, step: int) -> None:
    """C-03: rebuilt in any portions, the view is the same."""
    whole, live = Board(tmp_path / "whole"), Board(tmp_path / "live")
    one, two, three = history.file("r1"), history.file(), history.file("r1", workspace="w2")
    first = history.undo([one, three], target="run")
    second = history.undo(live.see(history).compensations(first), target="redo")
    history.undo([two])
    history.undo(live.see(history).compensations(second), target="redo")
    history.add(PushRequested("main", "c0ffee", "https://example.org/r.git", "main"))
    history.undo(live.see(history).after("main", one), target="since")
    whole.see(history)
    parts = Board(tmp_path / "parts")
    parts.see(history, step=step)
    live.see(history)
    digests = {board.digest() for board in (whole, live, parts)}
    for board in (whole, live, parts):
        board.tables.close()
    assert len(digests) == 1
