"""Everything that a room brings is connected: its events, its views, its checks and its commands."""

import asyncio
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import Struct
from msgspec.structs import replace

from choiros import features
from choiros.engines.tables.sqlite import SqliteTables
from choiros.engines.tree.memory import MemoryTree
from choiros.features.approvals.commands import DecideApproval
from choiros.features.audit.commands import ReportSnapshot
from choiros.features.backups.commands import ReportBackup, ReportDrill, ReportFailure, ReportImport
from choiros.features.backups.events import BackupFailed, BackupMade, DrillDone, HistoryImported
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint, ReportCommit, ReportPush
from choiros.features.effects.commands import ReportUnknown
from choiros.features.files.commands import CaptureFiles, Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.proof.commands import ReportWitness, RotateKey, SignLog, TrustLog, WitnessLog
from choiros.features.proof.note import Key
from choiros.features.undo.commands import Redo, Undo
from choiros.features.workspaces.commands import (
    ArchiveWorkspace,
    CreateWorkspace,
    OpenWorkspace,
    RemoveWorkspace,
    RenameWorkspace,
    UseWorkspace,
)
from choiros.features.workspaces.view import Workspace
from choiros.kernel.command import Context
from choiros.kernel.dispatch import Asked, Done
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Source
from choiros.kernel.registry import EventType
from choiros.kernel.tables import Tables
from choiros.kernel.tree import Entry
from choiros.wiring import Computer, Folders, checks, projectors, registry
from choiros.wiring.parts import REGISTRY_TYPES
from tests.computers import Desk
from tests.places import Hand

DIRECTORY = Entry("dir", 0o755)
PERSON, SYSTEM = Context("me"), Context("me", source="system")


def modules(name: str) -> Iterator[ModuleType]:
    """Return the module of this name of every room that has one."""
    for room in pkgutil.iter_modules(features.__path__):
        found = f"choiros.features.{room.name}.{name}"
        if importlib.util.find_spec(found) is not None:
            yield importlib.import_module(found)


def classes(module: ModuleType) -> list[type]:
    own = [one for _, one in inspect.getmembers(module, inspect.isclass) if one.__module__ == module.__name__]
    return [one for one in own if not getattr(one, "_is_protocol", False)]


# --- Events ---


def test_every_event_type_is_declared_once() -> None:
    names = [kind.name for kind in REGISTRY_TYPES]
    payloads = [kind.payload for kind in REGISTRY_TYPES]
    assert len(set(names)) == len(names)
    assert len(set(payloads)) == len(payloads)
    assert [kind.name for kind in registry()] == sorted(names)


def test_every_event_type_of_a_room_is_known() -> None:
    declared: list[EventType] = [kind for module in modules("events") for kind in module.EVENTS]
    assert len(declared) > 15
    for kind in declared:
        assert registry().get(kind.name) == kind


def test_every_fact_of_a_room_belongs_to_an_event_type() -> None:
    for module in modules("events"):
        payloads = {kind.payload for kind in module.EVENTS}
        assert {one for one in classes(module) if issubclass(one, Struct)} == payloads, module.__name__


# --- Views ---

NO_VIEW = {"shown", "merging"}
"""Tables that are knowledge about folders and not derived from the log; they are kept beside the files."""


def test_every_view_of_a_room_is_kept() -> None:
    kept = {type(view) for view in projectors(registry())}
    made = {
        one for module in modules("view") for one in classes(module) if one.__name__.endswith("Projector")
    }
    assert made == kept


def test_each_table_belongs_to_one_view_and_is_made_by_its_schema() -> None:
    views = projectors(registry())
    assert len({view.name for view in views}) == len(views)
    for view in views:
        tables = SqliteTables()
        tables.script(view.schema)
        made = {name for (name,) in tables.query("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        assert made - NO_VIEW == set(view.tables), view.name
    names = [name for view in views for name in view.tables]
    assert len(set(names)) == len(names)


# What a reader of the database expects (C-86); `docs/reference` tells what the columns mean.
COLUMNS = {
    "events": "seq id timestamp source event_type session_id run_id cause workspace",
    "files": "workspace path kind mode size content target seq folded",
    "file_history": "workspace path seq kind mode size content target moved_from moved_to",
    "conversations": "session_id first_seq last_seq messages",
    "messages": "seq session_id run_id role text",
    "tool_calls": "id seq session_id run_id tool arguments outcome result answered",
    "checkpoints": "seq workspace timestamp message automatic commit_id error",
    "approvals": "request seq command digest reasons state decided used recorded",
    "sessions": "session_id title workspace seq",
    "runs": "run_id session_id state reason first_seq last_seq",
    "workspaces": "workspace name folder state used created",
    "undos": "seq id target name undone_by",
    "backups": "seq timestamp file sha256 error",
    "backup_drills": "seq timestamp file error",
}


@pytest.mark.parametrize("table", COLUMNS)
def test_the_documented_tables_have_their_columns(tmp_path: Path, table: str) -> None:
    async def story() -> Tables:
        return (await Desk(tmp_path).open()).tables

    found = asyncio.run(story()).query("SELECT name FROM pragma_table_info(?)", (table,))
    assert {str(name) for (name,) in found} >= set(COLUMNS[table].split())


# --- Checks and commands ---


def test_every_check_of_a_room_is_asked() -> None:
    asked = {type(check) for check in checks()}
    made = {one for module in modules("check") for one in classes(module)}
    assert made == asked
    assert len({check.name for check in checks()}) == len(asked)


KEY = str(Key("choiros/anna/1", bytes(32)))
ALLOWED: list[tuple[Struct, Context]] = [
    (ChangeFiles("main", (Change("new", DIRECTORY),)), PERSON),
    (CaptureFiles("main", (Change("new", DIRECTORY),)), PERSON),
    (EditFile("main", "file", "old", "new"), PERSON),
    (MoveFile("main", "file", "moved"), PERSON),
    (RemoveFile("main", "file"), PERSON),
    (Undo("main"), PERSON),
    (Redo("main"), PERSON),
    (MakeCheckpoint("main", "here"), PERSON),
    (CreateWorkspace("more"), PERSON),
    (UseWorkspace("work"), PERSON),
    (RenameWorkspace("work", "play"), PERSON),
    (ArchiveWorkspace("work"), PERSON),
    (OpenWorkspace("away"), PERSON),
    (RemoveWorkspace("work"), PERSON),
    (ReportCommit("main", 1, "c0ffee"), SYSTEM),
    (ReportPush("main", 1, "c0ffee"), SYSTEM),
    (ReportSnapshot(1, "d1"), SYSTEM),
    (ReportBackup(BackupMade("/disk/me.tar", "d1", 1, 1, "d2")), PERSON),
    (ReportFailure(BackupFailed("The disk is full.")), PERSON),
    (ReportDrill(DrillDone("/disk/me.tar", 1, ok=True)), PERSON),
    (ReportImport(HistoryImported("/disk/me.tar", 1, "d2", 0)), PERSON),
    (SignLog(), SYSTEM),
    (RotateKey(), PERSON),
    (ReportWitness("stick", 1), SYSTEM),
    (TrustLog(KEY), PERSON),
]
ASKED: list[tuple[Struct, Context]] = [(PushCheckpoint("main", "/srv/backup.git"), PERSON)]
ANSWERED = {DecideApproval, WitnessLog, ReportUnknown}
"""What needs something before: a request of the gate, of another computer, an effect that was broken off."""


async def furnished(directory: Path) -> Computer:
    """Return a computer on which every command has something to be about."""
    computer = await Desk(directory).open()
    hand = Hand(computer)
    for command in (CreateWorkspace("work"), CreateWorkspace("away"), ArchiveWorkspace("away")):
        await hand.do(command)
    await hand.write("file", b"old")
    await hand.do(MakeCheckpoint("main", "before"))
    await hand.write("other", b"old")
    await hand.undo()
    await hand.write("third", b"3")
    return computer


def test_an_example_is_given_for_every_command(tmp_path: Path) -> None:
    async def story() -> set[type]:
        return set((await furnished(tmp_path)).kernel._commands)

    given = {type(command) for command, _ in (*ALLOWED, *ASKED)} | ANSWERED
    assert asyncio.run(story()) == given


@pytest.mark.parametrize(("command", "context"), ALLOWED, ids=lambda one: type(one).__name__)
def test_a_check_allows_what_a_person_or_the_program_itself_does(
    tmp_path: Path, command: Struct, context: Context
) -> None:
    async def story() -> None:
        outcome = await (await furnished(tmp_path)).kernel.handle(command, context)
        assert isinstance(outcome, Done)
        assert outcome.facts

    asyncio.run(story())


@pytest.mark.parametrize(("command", "context"), ASKED, ids=lambda one: type(one).__name__)
def test_a_person_is_asked_before_anything_leaves_and_the_answer_is_taken(
    tmp_path: Path, command: Struct, context: Context
) -> None:
    async def story() -> None:
        computer = await furnished(tmp_path)
        outcome = await computer.kernel.handle(command, context)
        assert isinstance(outcome, Asked)
        shown = computer.approvals.get(outcome.request)
        assert shown is not None
        await Hand(computer).do(DecideApproval(outcome.request, shown.digest, "allow"))

    asyncio.run(story())


@pytest.mark.parametrize(
    ("command", "context"), [one for one in ALLOWED if one[1] is SYSTEM], ids=lambda one: type(one).__name__
)
@pytest.mark.parametrize("source", ["user", "agent"])
def test_outcomes_are_reported_by_the_program_alone(
    tmp_path: Path, command: Struct, context: Context, source: Source
) -> None:
    async def story() -> None:
        computer = await furnished(tmp_path)
        with pytest.raises(Rejected) as caught:
            await computer.kernel.handle(command, replace(context, source=source))
        assert caught.value.code == "gate.blocked"

    asyncio.run(story())


# --- Folders ---


class OneWorkspace:
    """A view of one workspace."""

    def __init__(self) -> None:
        self.workspace: Workspace | None = Workspace("w", "w", None, "open", 0, 1)

    def get(self, workspace: str) -> Workspace | None:
        return self.workspace if workspace == "w" else None


def test_a_folder_is_opened_once_and_only_while_its_workspace_is_open() -> None:
    view, opened = OneWorkspace(), list[MemoryTree]()

    def folder(workspace: str, place: str | None) -> tuple[MemoryTree, bool]:
        assert (workspace, place) == ("w", None)
        opened.append(MemoryTree())
        return opened[-1], True

    folders = Folders(view, folder)  # pyright: ignore[reportArgumentType] - it asks for one workspace alone
    assert folders.tree("unknown") is None
    tree = folders.tree("w")
    assert tree is not None
    assert folders.tree("w") is tree
    assert len(opened) == 1
    assert (folders.renewed("w"), folders.renewed("w"), folders.renewed("unknown")) == (True, False, False)
    view.workspace = Workspace("w", "w", None, "archived", 0, 1)
    assert folders.tree("w") is None
    assert folders.tree("w", closed=True) is tree


def test_a_folder_that_the_person_had_before_is_not_ours() -> None:
    view = OneWorkspace()
    folders = Folders(view, lambda _, __: (MemoryTree(), False))  # pyright: ignore[reportArgumentType] - as above
    assert (folders.owned("w"), folders.owned("unknown")) == (True, False)
    view.workspace = Workspace("w", "w", "/home/me/project", "open", 0, 1)
    assert not folders.owned("w")
    folders.tree("w")
    assert not folders.renewed("w")
