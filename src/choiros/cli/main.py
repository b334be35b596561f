"""The entry point of the command line: finds the verb, runs it, and turns every outcome into an exit code."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from choiros.cli.exits import DONE, FAILED, INTERRUPTED, WRONG_USAGE

if TYPE_CHECKING:
    from choiros.cli.arguments import Arguments
    from choiros.cli.call import Connect
    from choiros.cli.client import Client
    from choiros.cli.show import Screen
    from choiros.settings import Resolved


def main() -> int:
    """Run the command line of this process and return its exit code."""
    # With any handler but Python's own asyncio leaves Ctrl-C alone; else it would only be noticed at the next
    # pause, and while somebody is asked, or a large file is read, there is none.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    return run(sys.argv[1:])


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    raise KeyboardInterrupt


def verbs() -> tuple[str, ...]:
    """Return every verb."""
    from choiros.cli.verbs import ROOMS

    return tuple(ROOMS)


def run(words: Sequence[str], connect: Connect | None = None) -> int:
    """Carry out a command line and return its exit code; `connect` replaces the computer in tests."""
    _prepare_streams()
    try:
        status = _carry_out(words, connect)
        _flush()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else DONE
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        return _reader_gone()
    except Exception as error:
        return _reported(error, words)
    return status


def _flush() -> None:
    """Let everything that was printed be seen; raises Unavailable (`output.failed`)."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from choiros.cli.errors import unwritable

        raise unwritable(error) from error


def _prepare_streams() -> None:
    """Make sure that every text can be printed, also where there is no output or only ASCII."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 (as long as we live)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _carry_out(words: Sequence[str], connect: Connect | None) -> int:
    if list(words) == ["--version"]:
        # The one answer that needs nothing else of ours.
        from choiros import __version__

        print(f"choir {__version__}")
        return DONE
    from choiros.cli.arguments import Help, parse
    from choiros.cli.call import Call
    from choiros.cli.find import find
    from choiros.cli.verb import build

    verb, program, rest = find(words)
    try:
        arguments = parse(build(verb, program), rest)
    except Help as wanted:
        from choiros.cli.help import print_page

        print_page(screen_for(_switches(words)), wanted.page)
        return DONE
    outcome = verb.run(Call(arguments, screen_for(arguments), connect=connect or _direct))
    if isinstance(outcome, int):
        return outcome
    import asyncio

    return asyncio.run(outcome)


async def _direct(resolved: Resolved, *, workspace: str | None, write: bool) -> Client:
    from choiros.cli.direct import connect

    return await connect(resolved, workspace=workspace, write=write)


def screen_for(arguments: Arguments) -> Screen:
    """Return where and how this call prints."""
    from choiros.cli.show import Screen
    from choiros.settings import allows_colour

    colour = sys.stdout.isatty() and not arguments.flag("no_color") and allows_colour()
    return Screen(sys.stdout, sys.stderr, keys=sys.stdin, json=arguments.flag("json"), colour=colour)


def _interrupted() -> int:
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    return INTERRUPTED


def _reader_gone() -> int:
    """Be quiet: whoever read our output has seen enough, as in 'choir log | head'."""
    _forget_output()
    return DONE


def _forget_output() -> None:
    """Let go of what cannot be written: Python would try again when it ends, and complain."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _switches(words: Sequence[str]) -> Arguments:
    """Return how a call wants to be answered whose words were not, or could not be, understood."""
    from choiros.cli.arguments import Arguments

    options = words[: list(words).index("--")] if "--" in words else words
    names = {"json": "--json", "no_color": "--no-color", "debug": "--debug"}
    return Arguments({name: option in options for name, option in names.items()})


def _reported(error: Exception, words: Sequence[str]) -> int:
    """Print an error and return the exit code."""
    from choiros.cli.arguments import Arguments, WrongUsage
    from choiros.cli.errors import explained
    from choiros.kernel.errors import Unavailable

    switches = _switches(words)
    screen = screen_for(switches)
    status = WRONG_USAGE if isinstance(error, WrongUsage) else FAILED
    try:
        if switches.flag("debug"):
            import traceback

            traceback.print_exception(error)
        screen.trouble(explained(error), status)
        _flush()
    except BrokenPipeError:
        _forget_output()
    except (OSError, Unavailable):
        _forget_output()
        if screen.json:
            # Where programs would read it nothing arrives: a person may see it on the other stream.
            with contextlib.suppress(OSError):
                screen_for(Arguments({})).trouble(explained(error), status)
    return status


if __name__ == "__main__":
    sys.exit(main())
