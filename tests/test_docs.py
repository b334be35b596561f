"""What the documents say is true: links lead somewhere, commands exist, each tells whether it is current."""

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
from tests.checkout import ROOT, checkout

DOCUMENTS = {path: text for path, text in checkout().items() if path.endswith(".md")}
DECISIONS = sorted(path for path in DOCUMENTS if path.startswith("docs/decisions/"))
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"\$ (?:[^|]*\| )?((?:\./)?choir)(?: (.*))?$")
NAMED = re.compile(r"`((?:src|tests|docs|requirements|\.ci)/[\w./-]*)`")
STATUS_LINES = 6


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


@pytest.mark.parametrize("path", DOCUMENTS)
def test_links_lead_somewhere(path: str) -> None:
    assert list(dead_links(path, DOCUMENTS[path])) == []


@pytest.mark.parametrize("path", DOCUMENTS)
def test_files_that_are_named_exist(path: str) -> None:
    assert [name for name in NAMED.findall(DOCUMENTS[path]) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS)
def test_commands_in_documents_exist(path: str) -> None:
    assert unknown_verbs(path, DOCUMENTS[path]) == []


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.startswith("docs/")])
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
"""


def test_planted_faults_in_a_document_are_found() -> None:
    assert len(list(dead_links("planted.md", PLANTED))) == 2
    assert len(unknown_verbs("planted.md", PLANTED)) == 2
    assert not has_status(PLANTED)


def test_right_things_in_a_document_are_let_pass() -> None:
    text = "[up](#choiros) [web](https://example.org)\n```console\n$ ./choir test\n$ choir log\nout\n```\n"
    assert list(dead_links("README.md", text)) == []
    assert unknown_verbs("README.md", text) == []
