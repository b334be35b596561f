"""Writes docs/reference and a page of docs/how-to from the code (./choir docs); --check only tells what differs."""

import sys
import typing
from argparse import Action
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from choiros.cli.arguments import SWITCHES, VALUED, Parser
from choiros.cli.verb import Verb, build
from choiros.cli.verbs import ROOMS, load
from choiros.engines.tables.sqlite import SqliteTables
from choiros.kernel.registry import EventType
from choiros.kernel.tables import Tables
from choiros.wiring import projectors, registry
from choiros.wiring.doctor import KINDS, MENDS, Kind

FOLDER = Path(__file__).resolve().parent / "reference"
TOP = "# {title}\n\nStatus: current\n\nWritten by `./choir docs` from {source}; changes go there.\n"


def cli_page() -> str:
    """Return the page of the command line: every verb with what it takes and two examples."""
    lines = [TOP.format(title="The command line", source="`src/choiros/cli`")]
    lines += ["## Options of every verb", "", *table(("Option", "Meaning"), everywhere())]
    for name in ROOMS:
        lines += verb_section(load(name), f"choir {name}", level=2)
    return "\n".join(lines) + "\n"


def everywhere() -> Iterator[tuple[str, str]]:
    for name, sentence in SWITCHES.items():
        yield f"`{name}`", sentence
    for name, (metavar, sentence) in VALUED.items():
        yield f"`{name} {metavar}`", sentence


def verb_section(verb: Verb, program: str, *, level: int) -> Iterator[str]:
    yield from ["", f"{'#' * level} {program}", "", verb.sentence]
    known = {"-h", "--help", *SWITCHES, *VALUED}
    own = [
        action for action in actions(build(verb, program)) if not known.intersection(action.option_strings)
    ]
    rows = [(f"`{spelling(action)}`", str(action.help or "")) for action in own]
    if rows:
        yield from ["", *table(("Argument", "Meaning"), rows)]
    yield from ["", "```console", *(f"$ {example}" for example in verb.examples), "```"]
    for name, act in verb.acts.items():
        yield from verb_section(act, f"{program} {name}", level=level + 1)


def actions(parser: Parser) -> list[Action]:
    """Return the arguments of a parser without those that choose a verb of its own."""
    return [action for action in vars(parser)["_actions"] if not isinstance(action.choices, dict)]


def spelling(action: Action) -> str:
    """Return an argument as one would type it."""
    value = str(action.metavar or action.dest.upper())
    if action.nargs == 0:
        value = ""
    if not action.option_strings:
        optional = action.nargs in {"?", "*"}
        return f"[{value}]" if optional else value + (" ..." if action.nargs == "+" else "")
    return ", ".join(f"{option} {value}".strip() for option in action.option_strings)


def events_page() -> str:
    """Return the page of events: every type with the fields of its payload, then their shapes."""
    kinds = list(registry())
    lines = [TOP.format(title="Events", source="the registry in `src/choiros/wiring`"), "## All types", ""]
    rows = [(link(kind.name), summary(kind.payload), kind.effect) for kind in kinds]
    lines += table(("Type", "What happened", "Effect"), rows)
    for kind in kinds:
        lines += event_section(kind)
    shapes = sorted(
        {shape for kind in kinds for shape in parts(kind.payload)}, key=lambda shape: shape.__name__
    )
    for shape in shapes:
        lines += ["", f"## {shape.__name__}", "", summary(shape), "", *fields(shape)]
    return "\n".join(lines) + "\n"


def link(name: str) -> str:
    return f"[`{name}`](#{name.replace('.', '')})"


def event_section(kind: EventType) -> Iterator[str]:
    yield from [
        "",
        f"## {kind.name}",
        "",
        summary(kind.payload),
        "",
        f"Effect: {kind.effect}. Version: {kind.v}.",
    ]
    yield from ["", *fields(kind.payload)]


def summary(shape: type[Struct]) -> str:
    """Return what the class says about itself."""
    return " ".join((shape.__doc__ or "").split())


def fields(shape: type[Struct]) -> Iterator[str]:
    hints, written = typing.get_type_hints(shape), shape.__annotations__
    rows: list[tuple[str, str, str]] = []
    for field in msgspec.structs.fields(shape):
        choices = (
            typing.get_args(hints[field.name]) if typing.get_origin(hints[field.name]) is Literal else ()
        )
        kind = " or ".join(f'`"{choice}"`' for choice in choices) or f"`{written[field.name]}`"
        rows.append((f"`{field.name}`", kind, "yes" if field.required else "no"))
    yield from table(("Field", "Type", "Required"), rows)


def parts(shape: object) -> Iterator[type[Struct]]:
    """Yield the structs that a type is made of, without itself."""
    inner = typing.get_type_hints(shape).values() if is_struct(shape) else typing.get_args(shape)
    for one in inner:
        if is_struct(one):
            yield typing.cast("type[Struct]", one)
        yield from parts(one)


def is_struct(shape: object) -> bool:
    return isinstance(shape, type) and issubclass(shape, Struct)


def table(head: Sequence[str], rows: typing.Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def tables_page() -> str:
    """Return the page of the derived tables: each view in its own words, then the columns of its tables."""
    source = "the views in `src/choiros/features`"
    lines = [TOP.format(title="Tables", source=source), *TABLES_NOTE]
    for view in projectors(registry()):
        made = SqliteTables()
        made.script(view.schema)
        lines += ["", f"## The view {view.name}", "", " ".join((type(view).__doc__ or "").split())]
        for name in view.tables:
            lines += ["", f"### {name}", "", *columns(made, name)]
        made.close()
    return "\n".join(lines) + "\n"


TABLES_NOTE = (
    "Everything in `state.sqlite` is made from the log and can be made again by `choir rebuild`; whoever changes it",
    "there changes nothing. Read it with any SQLite program, best in a copy. `seq` is always the number of an event.",
)


def columns(tables: Tables, name: str) -> Iterator[str]:
    rows = tables.query('SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid', (name,))
    shown = [
        (f"`{column}`", str(kind).lower(), "yes" if pk else "", "no" if required or pk else "yes")
        for column, kind, required, pk in rows
    ]
    yield from table(("Column", "Type", "Key", "May be empty"), shown)


def drift_page() -> str:
    """Return the page of everything that can be wrong: each kind of drift with what it means and its fix."""
    lines = [DRIFT_TOP]
    areas = dict.fromkeys(code.partition(".")[0] for code in KINDS)
    for area in areas:
        rows = [
            (kind.code, kind.severity, kind.means, drift_fix(kind))
            for kind in KINDS.values()
            if kind.code.partition(".")[0] == area
        ]
        lines += [
            "",
            f"## {area.capitalize()}",
            "",
            *table(("Code", "Severity", "What it means", "Fix"), rows),
        ]
    return "\n".join(lines) + "\n"


def drift_fix(kind: Kind) -> str:
    """Return what to do, with the words that a person puts in for the place."""
    fix = kind.fix if not kind.otherwise else f"{kind.fix}. Where that cannot help: {kind.otherwise}"
    mends = f" (it will {MENDS[kind.mend]})" if kind.mend else ""
    return fix.replace("{where}", "PLACE").replace("{workspace}", "NAME") + mends


DRIFT_TOP = """\
# When something is wrong

Status: current

Written by `./choir docs` from `src/choiros/wiring/doctor/kinds.py`; changes go there.

```console
$ choir doctor
$ choir doctor --deep
$ choir doctor --fix
```

The first looks at everything that is kept and compares it with the log: the views, the contents, the folders, the \
repositories, the signatures, and what all this stands on. It changes nothing. One line for each area says that all is \
well; whatever is not is named with its place, its fix and a code, which the tables below explain. The call fails when \
something is broken; notes and warnings do not make it fail. While it looks, other commands wait.

The second reads every content and every file as well, where the first reads a sample and trusts the times of files. \
It takes as long as reading all of it takes.

The third says what it would mend, asks, mends it, and looks again. It makes again what the log can make again. It \
never changes what is in the log, a content that an event names, or a key. A damaged log cannot be made again from \
anything: [bring the newest backup back](back-up-and-restore.md). Until then you can look at everything that is left.

`choir doctor --json` prints one object with every finding, for programs.

**note** is good to know, **warning** will be trouble some day, **broken** is trouble now."""


def pages() -> dict[Path, str]:
    """Return every generated page by its place."""
    return {
        FOLDER / "cli.md": cli_page(),
        FOLDER / "events.md": events_page(),
        FOLDER / "tables.md": tables_page(),
        FOLDER.parent / "how-to" / "when-something-is-wrong.md": drift_page(),
    }


def main() -> int:
    """Write what differs, or with --check only name it."""
    different = {
        path: text for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text
    }
    for path, text in different.items():
        print(
            f"{'differs' if '--check' in sys.argv else 'written'}: {path.relative_to(FOLDER.parent.parent)}"
        )
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    return int("--check" in sys.argv and bool(different))


if __name__ == "__main__":
    sys.exit(main())
