"""The first tour: seven real commands on a computer that is thrown away afterwards."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

from choiros.cli.exits import DONE
from choiros.cli.show import Paint, Screen

LIST = "bread\nmilk\ncoffee\n"
PROMPT = "[Enter runs it, s skips it, q quits]"
QUIT = {"q", "quit"}
SKIP = {"s", "skip"}


class Step(NamedTuple):
    """One command of the tour, with the sentence that explains it."""

    sentence: str
    words: tuple[str, ...]
    content: str = ""


STEPS = (
    Step("Write a file. Whatever changes goes through ChoirOS and is recorded.", ("write", "list.md"), LIST),
    Step(
        "Edit it in a run: all that happens in one can be taken back as a whole.",
        ("edit", "list.md", "--old", "milk", "--new", "oat milk", "--run", "breakfast"),
    ),
    Step(
        "See what happened: every change is an event, in order, kept for ever.", ("log", "--type", "file.*")
    ),
    Step("Ask who wrote each line, when, and in which run.", ("why", "list.md")),
    Step(
        "Take the run back. Without --yes it would first show what changes, and ask.",
        ("undo", "breakfast", "--yes"),
    ),
    Step("Bring it back. An undo is an event too, so nothing is ever lost.", ("redo", "--yes")),
    Step("Look at the file as it is now.", ("cat", "list.md")),
)


def tour(screen: Screen) -> int:
    """Lead a person through the first steps; return the exit code."""
    screen.line(Paint("A first tour of ChoirOS: seven commands, three minutes.", "bold"))
    screen.line("They are real, but on a computer of their own that is removed at the end.")
    with _scratch_home() as home:
        for number, step in enumerate(STEPS, 1):
            screen.line()
            screen.line(Paint(f"{number}/{len(STEPS)}  ", "dim"), step.sentence)
            screen.line(Paint(f"  $ {in_words(step)}", "cyan"))
            answer = screen.ask(PROMPT)
            if answer is None or answer in QUIT:
                break
            if answer not in SKIP:
                _run(step, screen, home=home)
    _say_farewell(screen)
    return DONE


def in_words(step: Step) -> str:
    """Return the command as one would type it."""
    command = "choir " + shlex.join(step.words)
    if not step.content:
        return command
    return "printf " + shlex.quote(step.content.replace("\n", "\\n")) + " | " + command


def _run(step: Step, screen: Screen, *, home: Path) -> None:
    """Run a step as a process of its own, just as the person would."""
    screen.flush()
    command = [sys.executable, "-m", "choiros.cli.main", *step.words, "--home", str(home), "--user", "guest"]
    if not screen.colour:
        command.append("--no-color")
    subprocess.run(command, input=step.content.encode(), cwd=home, check=False)  # noqa: S603 (our own program, our own words)


@contextmanager
def _scratch_home() -> Generator[Path]:
    """Give a home that is removed afterwards, even when the terminal is closed in the middle."""
    former = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    home = Path(tempfile.mkdtemp(prefix="choir-tour-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
        for number, handler in former.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise SystemExit(128 + number)


def _say_farewell(screen: Screen) -> None:
    screen.line()
    screen.line(Paint("That was the tour; its files are gone. Your own computer is untouched.", "bold"))
    screen.line("Next: 'choir write notes.md' for a first file of your own,")
    screen.line("or 'choir workspaces add FOLDER' for a folder that you already have.")
    screen.line("'choir help' shows all verbs.")
