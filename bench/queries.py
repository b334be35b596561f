"""Every query of every view against a long history: how it is planned, and how long it takes."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

import msgspec

from bench.home import long_home, opened
from bench.measure import Figure, Json, Target, rounded
from bench.stage import RUN, Stage
from bench.story import WORKSPACE
from choiros.features.approvals.view import ApprovalsView
from choiros.features.audit.view import AuditView, EventFilter
from choiros.features.checkpoints.view import CheckpointsView
from choiros.features.files.view import FilesView, ShownTable
from choiros.features.undo.view import UndoView
from choiros.features.workspaces.view import WorkspacesView
from choiros.kernel.tables import Row, Tables, Value

PATH = "src/part_000/module_00.py"
FOLDER = "src/part_000"

VIEWS = (FilesView, ShownTable, WorkspacesView, ApprovalsView, CheckpointsView, AuditView, UndoView)
SLOW_MS = 5
WRITES = {"put", "begin", "end", "forget"}
"""Methods of views that ask nothing."""

Question = tuple[str, Callable[[], object]]


def samples(head: int) -> dict[str, list[object]]:
    """Return what each parameter of a question is given in turn, by its name."""
    return {
        "workspace": [WORKSPACE],
        "path": [PATH],
        "paths": [[PATH, "src"]],
        "directory": ["", FOLDER],
        "seq": [head // 2],
        "after": [head - 1000],
        "until": [head],
        "undo": [head],
        "run": [RUN],
        "name": ["none"],
        "url": ["none"],
        "request": ["none"],
        "event_id": ["none"],
        "limit": [20],
        "newest": [True],
        "among": [range(1, 2000, 7)],
        "wanted": [
            EventFilter(),
            EventFilter(event_type="file.move"),
            EventFilter(event_type="file.*"),
            EventFilter(event_type="workspace.create"),
            EventFilter(source="system"),
            EventFilter(run=RUN),
            EventFilter(session="none"),
            EventFilter(workspace=WORKSPACE),
            EventFilter(workspace=WORKSPACE, event_type="file.move"),
        ],
    }


class Watched:
    """Passes tables on and keeps every statement that was asked, with the values of the first time."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.script, self.transaction, self.run = tables.script, tables.transaction, tables.run
        self.digest, self.close = tables.digest, tables.close
        self.seen: dict[str, Sequence[Value]] = {}

    def query(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        self.seen.setdefault(sql, values)
        return self._tables.query(sql, values)

    def plan(self, sql: str) -> list[str]:
        rows = self._tables.query(f"EXPLAIN QUERY PLAN {sql}", self.seen[sql])
        return [str(row[3]) for row in rows]


def questions(tables: Tables, head: int) -> tuple[list[Question], list[str]]:
    """Return every question that a view answers, with each choice of values, and those no values are known for."""
    known, found, unasked = samples(head), list[Question](), list[str]()
    for kind in VIEWS:
        view = kind(tables)
        for method, function in vars(kind).items():
            if method.startswith("_") or method in WRITES or not callable(function):
                continue
            ask = getattr(view, method)
            wanted = list(inspect.signature(ask).parameters.values())
            if any(one.name not in known and one.default is one.empty for one in wanted):
                unasked.append(f"{kind.__name__}.{method}")
                continue
            found += asked(
                f"{kind.__name__}.{method}",
                ask,
                wanted=[one for one in wanted if one.name in known],
                known=known,
            )
    return found, unasked


def asked(
    name: str, ask: Callable[..., object], *, wanted: list[inspect.Parameter], known: dict[str, list[object]]
) -> Iterator[Question]:
    """Yield a question once for each choice of values; what may be left out is left out, then given alone."""
    needed = [one.name for one in wanted if one.default is one.empty]
    for optional in [[], *([one.name] for one in wanted if one.default is not one.empty)]:
        names = needed + optional
        for values in product(*(known[one] for one in names)):
            chosen = dict(zip(names, values, strict=True))
            yield f"{name}({', '.join(map(told, chosen.values()))})", partial(answered, ask, chosen)


def told(value: object) -> str:
    """Return a value as it is shown in the name of a question."""
    if isinstance(value, EventFilter):
        plain = msgspec.structs.asdict(EventFilter())
        given = msgspec.structs.asdict(value).items() - plain.items()
        return " ".join(f"{key}={one}" for key, one in sorted(given)) or "any"
    return repr(value) if isinstance(value, str | int) else "..."


def answered(ask: Callable[..., object], chosen: dict[str, object]) -> None:
    """Ask, and read the whole answer."""
    answer = ask(**chosen)
    if isinstance(answer, Iterator):
        for _ in answer:
            pass


def scans(plan: list[str]) -> list[str]:
    """Return the steps of a plan that read a whole table or index, or that sort."""
    steps = [step for step in plan if step.startswith("SCAN ") or "TEMP B-TREE" in step]
    return [step for step in steps if not step.startswith(("SCAN (", "SCAN json_each"))]


def timed(ask: Callable[[], object]) -> float:
    start = time.perf_counter()
    ask()
    return 1000 * (time.perf_counter() - start)


async def run(stage: Stage) -> Figure:
    home, _ = await long_home(stage, stage.size.long)
    computer = await opened(home)
    tables = Watched(computer.tables)
    head = computer.projectors.position().seq
    asking, unasked = questions(tables, head)
    targets: list[Target] = []
    small: dict[str, None] = {}
    raw: dict[str, Json] = {}
    for name, ask in asking:
        tables.seen.clear()
        took = min(timed(ask) for _ in range(3))
        steps = [step for sql in list(tables.seen) for step in scans(tables.plan(sql))]
        raw[name] = {"ms": rounded(took), "scans": list(steps)}
        if took > SLOW_MS:
            targets.append(Target(f"{name}  {'; '.join(steps)}".strip(), took, "ms"))
        elif steps:
            small[f"{name.partition('(')[0]}: {'; '.join(steps)}"] = None
    await computer.close()
    notes = ["scan or sort, but quickly:", *(f"  {one}" for one in small)]
    if unasked:
        notes.append(f"not asked, for want of values: {', '.join(unasked)}")
    return Figure(
        f"{len(asking)} questions to views at {head:,} events: those over {SLOW_MS} ms (best of 3)",
        targets,
        notes,
        raw,
    )
