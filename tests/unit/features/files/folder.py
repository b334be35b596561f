"""A folder in memory with the files room around it, and nothing else: no gate, no kernel, no other room."""

from collections.abc import Sequence

from msgspec import Struct

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.log.memory import MemoryLog
from choiros.engines.tree.memory import MemoryTree
from choiros.features.files.capture import Capturer
from choiros.features.files.commands import CaptureFiles
from choiros.features.files.decide import decide_capture
from choiros.features.files.events import FileDeleted, FileWritten
from choiros.features.files.load import FilesLoader
from choiros.features.files.react import Merger
from choiros.features.files.view import FilesProjector, FilesView, ShownTable
from choiros.kernel.command import Context
from choiros.kernel.errors import Rejected
from choiros.kernel.event import Draft, Event, Source
from choiros.kernel.journal import Journal
from choiros.kernel.tree import Entry
from choiros.testing.clock import FakeClock
from choiros.wiring.parts import registry
from tests.places import empty_tables

SIZE_MAX = 64
"""The largest file that is kept here."""


class Doors:
    """Says which workspaces are open and whose their folders are."""

    def __init__(self, tree: MemoryTree) -> None:
        self._tree = tree
        self.others: dict[str, MemoryTree] = {}
        self.closed: set[str] = set()
        self.is_owned = True
        self.is_new = False

    def check_open(self, workspace: str) -> None:
        if workspace in self.closed:
            raise Rejected("workspaces.closed", "It is closed.", fix="Open it.")

    def tree(self, workspace: str, *, closed: bool = False) -> MemoryTree | None:
        here = self.others.get(workspace, self._tree)
        return here if closed or workspace not in self.closed else None

    def owned(self, workspace: str) -> bool:
        return self.is_owned

    def renewed(self, workspace: str) -> bool:
        is_new, self.is_new = self.is_new, False
        return is_new


class Folder:
    """The tree, what the log says of it, and those who keep the two alike."""

    def __init__(self) -> None:
        self.tables = empty_tables(FilesProjector())
        self.view, self.shown = FilesView(self.tables), ShownTable(self.tables)
        self.blobs = MemoryBlobs(size_bytes_max=SIZE_MAX)
        self.tree, self.clock = MemoryTree(), FakeClock()
        self.doors = Doors(self.tree)
        self.loader = FilesLoader(self.view, self.blobs, workspaces=self.doors)
        self.capturer = Capturer(
            view=self.view,
            shown=self.shown,
            loader=self.loader,
            blobs=self.blobs,
            clock=self.clock,
            record=self._record,
        )
        self.merger = Merger(
            self.doors,
            self.capturer,
            view=self.view,
            shown=self.shown,
            blobs=self.blobs,
            clock=self.clock,
        )
        self.told: list[tuple[Source, str, Entry | None]] = []
        """What was recorded as found: by whom, where, and what stands there."""
        self.bases: dict[str, object] = {}
        """What those who wrote had before them, by path; UNSET where nothing is known."""
        self.unseen: list[Event] = []
        """What was recorded as found and no reactor has seen yet."""
        self._journal = Journal(MemoryLog(), registry(), user="me")

    async def _record(self, command: CaptureFiles, source: Source) -> Sequence[Event]:
        for change in command.changes:
            self.told.append((source, change.path, change.entry))
            self.bases[change.path] = change.base
        state = await self.loader.change(command, Context("me", source=source))
        decision = decide_capture(command, state)
        for content in decision.contents:
            await self.blobs.put(content)
        events = await self.happen(*decision.payloads, source=source)
        self.unseen += events
        return events

    async def happen(self, *facts: Struct, source: Source = "user") -> Sequence[Event]:
        """Let facts be recorded and seen by the view."""
        if not facts:
            return ()
        known, number = self._journal.registry, (await self._journal.head()).seq + 1
        events = await self._journal.append(
            [
                Draft(f"e{at}", at, "me", source, known.type_of(one).name, known.encode(one), bytes(16))
                for at, one in enumerate(facts, number)
            ]
        )
        FilesProjector().apply(self.tables, events)
        return events

    async def says(self, path: str, data: bytes | None, mode: int = 0o644) -> Event:
        """Let the log say that a file stands at a path, or that nothing does."""
        before = self.view.entry("main", path)
        if data is None:
            assert before is not None
            return (await self.happen(FileDeleted("main", path, before)))[0]
        entry = await self.file(data, mode)
        return (await self.happen(FileWritten("main", path, entry, before)))[0]

    async def file(self, data: bytes, mode: int = 0o644) -> Entry:
        return Entry("file", mode, len(data), await self.blobs.put(data))

    def files(self) -> dict[str, bytes | None]:
        """Return what the folder holds; None stands for what is no file."""
        nodes = sorted(self.tree._nodes.items())
        return {path: node.data if node.kind == "file" else None for path, node in nodes}

    async def follow(self, *events: Event) -> None:
        """Show events to the merger, and then what it recorded itself, as the kernel does."""
        self.unseen = [*events]
        while self.unseen:
            fresh, self.unseen = self.unseen, []
            await self.merger.react(fresh)
