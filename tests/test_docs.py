"""What the documents say is true: links lead somewhere, commands exist, each tells whether it is current (C-87).

The events, tables, subjects and end points that a current document names are compared with the code.
"""

import contextlib
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from choiros.cli.main import verbs
from choiros.engines.tables.sqlite import SqliteTables
from choiros.kernel.projector import POSITIONS
from choiros.kernel.reactor import CURSORS
from choiros.settings import keys as settings_keys
from choiros.wiring import projectors, registry
from tests.checkout import ROOT, checkout
from tests.unit.cli.direct.homes import Home

DOCUMENTS = {path: text for path, text in checkout().items() if path.endswith(".md")}
DECISIONS = sorted(path for path in DOCUMENTS if path.startswith("docs/decisions/"))
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"\$ (?:[^|]*\| )?((?:\./)?choir)(?: (.*))?$")
NAMED = re.compile(r"`((?:src|tests|docs|requirements|\.ci)/[\w./-]*)`")
STATUS_LINES = 6
MARKED_OTHERWISE = {"CHANGELOG.md"}  # each of its parts says for which release it was written
EVENT = re.compile(r"`([a-z]+(?:\.[a-z_]+)+)`")
TABLE = re.compile(r"\btables? `(\w+)`|`(\w+)` tables?\b")
SUBJECT = re.compile(r"`(choiros\.(?:\{\w+\}|\*|>|[\w-]+\.(?:user|agent|system)\b)[^`]*)`")
END_POINT = re.compile(r"\b((?:GET|HEAD|POST|PUT|PATCH|DELETE) /\S*)|`(/(?:api|ws|v\d)[/`][^`]*)")


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip("# `").lower()).replace(" ", "-")


def dead_links(path: str, text: str) -> Iterator[str]:
    for link in LINK.findall(FENCED.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / PurePosixPath(path).parent / name).resolve() if name else ROOT / path
        if not target.exists():
            yield f"{path}: {link} leads nowhere"
        elif anchor and anchor not in {
            slug(line) for line in target.read_text().splitlines() if line[:1] == "#"
        }:
            yield f"{path}: {link}: no such heading"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield program and verb of every command that a console block shows."""
    for block in CONSOLE.findall(text):
        for line in block.splitlines():
            if found := COMMAND.match(line):
                words = shlex.split(found[2] or "", comments=True)
                yield found[1], next((word for word in words if not word.startswith("-")), "")


def unknown_verbs(path: str, text: str) -> list[str]:
    script = set(re.findall(r"^  (\w+)\)$", (ROOT / "choir").read_text(), re.MULTILINE))
    known = {"choir": {*verbs(), ""}, "./choir": {*verbs(), *script, ""}}
    return [f"{path}: {program} {verb}" for program, verb in commands(text) if verb not in known[program]]


def has_status(text: str) -> bool:
    top = text.splitlines()[:STATUS_LINES]
    return any(line in {"Status: current", "Status: historical"} for line in top)


def tables() -> set[str]:
    """Return every table that a started computer has."""
    with contextlib.closing(SqliteTables()) as made:
        for view in projectors(registry()):
            made.script(view.schema)
        made.script(POSITIONS + CURSORS)
        return {str(name) for (name,) in made.query("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def inventions(path: str, text: str) -> Iterator[str]:
    """Yield the events, tables, subjects and end points that a document names and the code does not have."""
    types = {kind.name for kind in registry()} | set(settings_keys())
    rooms = {name.split(".")[0] for name in types}
    for name in EVENT.findall(text):
        if name.split(".")[0] in rooms and name not in types and PurePosixPath(name).suffix not in ENDINGS:
            yield f"{path}: there is no event type {name}"
    for name in {one or other for one, other in TABLE.findall(text)} - tables():
        yield f"{path}: there is no table {name}"
    # No subject and no end point exists before there is a bus and a server.
    for name in SUBJECT.findall(text):
        yield f"{path}: there is no subject {name}"
    for one, other in END_POINT.findall(text):
        yield f"{path}: there is no end point {one or other}"


ENDINGS = {".py", ".md", ".toml", ".sqlite", ".db", ".txt", ".json"}


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path != "CHANGELOG.md"])
def test_what_a_current_document_names_is_in_the_code(path: str) -> None:
    historical = "Status: historical" in DOCUMENTS[path].splitlines()[:STATUS_LINES]
    assert historical or list(inventions(path, DOCUMENTS[path])) == []


def test_the_data_directory_is_as_the_readme_says(tmp_path: Path) -> None:
    """C-05."""
    home = Home(tmp_path, {"snapshots.events_max": "1"})
    home.write("a.txt", b"1")
    home.do(lambda client: client.checkpoint("first"))
    home.do(lambda client: client.sign())
    home.do(lambda client: client.change_workspace("new", "more", argument=None))
    Home(tmp_path, {}, workspace="more").write("b.txt", b"2")
    section = DOCUMENTS["README.md"].split("## Where the data is")[1].split("\n## ")[0]
    named = {
        word.rstrip("/")
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for word in re.findall(r"`([^`]+)`", row)
    }
    user = tmp_path / "users" / "me"
    made = {path.name for path in user.iterdir() if path.name != ".choir"}
    made |= {f".choir/{path.name}" for path in (user / ".choir").iterdir()}
    assert made == named - {"users/me"}


@pytest.mark.parametrize("path", DOCUMENTS)
def test_links_lead_somewhere(path: str) -> None:
    assert list(dead_links(path, DOCUMENTS[path])) == []


@pytest.mark.parametrize("path", DOCUMENTS)
def test_files_that_are_named_exist(path: str) -> None:
    assert [name for name in NAMED.findall(DOCUMENTS[path]) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS)
def test_commands_in_documents_exist(path: str) -> None:
    assert unknown_verbs(path, DOCUMENTS[path]) == []


@pytest.mark.parametrize("path", sorted(DOCUMENTS.keys() - MARKED_OTHERWISE))
def test_a_document_says_whether_it_is_current(path: str) -> None:
    assert has_status(DOCUMENTS[path])


@pytest.mark.parametrize("path", DECISIONS)
def test_a_decision_has_its_four_sections(path: str) -> None:
    sections = re.findall(r"^## (.+)$", DOCUMENTS[path], re.MULTILINE)
    assert sections == ["Status", "Context", "Decision", "Consequences"]


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(PurePosixPath(path).name[:4]) for path in DECISIONS]
    assert numbers == list(range(1, len(DECISIONS) + 1))


def test_the_short_documents_are_short() -> None:
    assert DOCUMENTS["ARCHITECTURE.md"].count("\n") <= 200
    assert DOCUMENTS["AGENTS.md"].count("\n") <= 100


def test_the_reference_is_what_the_code_says() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    differing = [path.name for path, text in pages.items() if not path.exists() or path.read_text() != text]
    assert differing == [], "./choir docs writes these pages"


def test_the_first_five_minutes_of_the_readme_work(tmp_path: Path) -> None:
    section = DOCUMENTS["README.md"].split("## The first five minutes")[1].split("\n## ")[0]
    lines = [line for block in CONSOLE.findall(section) for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    (tmp_path / "choir").symlink_to(Path(sys.executable).with_name("choir"))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CHOIR_HOME": str(tmp_path / "home")}
    script = "set -eu -o pipefail\n" + "\n".join(commands)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(commands) >= 11
    shown = [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "", line) for line in lines if not line.startswith("$ ")]
    printed = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "", done.stdout).splitlines()
    assert [line for line in shown if line not in printed] == []


PLANTED = """# A title
[gone](gone.md) and [no heading](README.md#nowhere)
```console
$ choir frobnicate
$ ./choir frobnicate --now
```
`file.written` is kept in the table `file_stories` and sent to `choiros.{user_id}.{source}.{event_type}`.
Ask `GET /api/files`, or open `/ws/feed`.
"""


def test_planted_faults_in_a_document_are_found() -> None:
    assert len(list(dead_links("planted.md", PLANTED))) == 2
    assert len(unknown_verbs("planted.md", PLANTED)) == 2
    assert not has_status(PLANTED)
    assert len(list(inventions("planted.md", PLANTED))) == 5


def test_right_things_in_a_document_are_let_pass() -> None:
    text = "[up](#choiros) [web](https://example.org)\n```console\n$ ./choir test\n$ choir log\nout\n```\n"
    text += "`file.write` in the table `files`, `state.sqlite`, `choiros.testing` and `file.py` exist."
    assert list(inventions("README.md", text)) == []
    assert list(dead_links("README.md", text)) == []
    assert unknown_verbs("README.md", text) == []
