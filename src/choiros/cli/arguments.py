"""What stands on the command line: parsed by argparse, typed, and with a fix in every error."""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn, cast

from choiros.kernel.errors import Rejected

SWITCHES = {
    "--json": "print JSON: one object, or one a line for lists and streams",
    "--no-color": "print without colours",
    "--debug": "print where an error comes from",
}
VALUED = {
    "--user": ("ID", "whose computer is meant"),
    "--workspace": ("NAME", "which workspace is meant, instead of the one in use"),
    "--home": ("DIR", "where everything is kept, instead of $CHOIR_HOME or ~/.choir"),
    "--set": ("KEY=VALUE", "use another value of a setting for this call"),
}
NUMBER_DIGITS_MAX = 15
USAGE_MAX = 90
"""A longer line of usage is no quick answer; the page of the verb is."""


class WrongUsage(Rejected):
    """The command line cannot be understood; nothing was tried."""


class Help(Exception):  # noqa: N818 (no error: somebody asked for it)
    """The page of a verb is wanted, and nothing else."""

    def __init__(self, page: str) -> None:
        super().__init__(page)
        self.page = page


class Parser(ArgumentParser):
    """The parser of one verb; what it cannot understand it raises as WrongUsage."""

    def _get_values(self, action: Action, arg_strings: list[str]) -> object:
        """Return what was given, also '--old=--': argparse takes that '--' for the end of the options."""
        if action.option_strings and arg_strings == ["--"]:
            value: object = self._get_value(action, "--")
            return value if action.nargs is None else [value]
        return super()._get_values(action, arg_strings)

    def print_help(self, file: object = None) -> NoReturn:
        """Raise Help, so that a page is printed like any other answer."""
        del file
        raise Help(self.format_help().rstrip())

    def error(self, message: str) -> NoReturn:
        """Raise WrongUsage."""
        required = message.partition("the following arguments are required: ")[2]
        if required:
            raise WrongUsage("usage.missing", f"'{self.prog}' needs {required}.", fix=self.advice())
        if message.endswith("expected one argument"):
            option = message.removeprefix("argument ").partition(":")[0]
            fix = f"Give it one; if it begins with '-', write {option.split('/')[-1]}=VALUE."
            raise WrongUsage("usage.missing", f"'{self.prog}' needs a value for {option}.", fix=fix)
        raise WrongUsage(
            "usage.bad_value", f"'{self.prog}': {message.removeprefix('argument ')}", fix=self.advice()
        )

    def advice(self) -> str:
        """Return how the verb is called."""
        usage = " ".join(self.format_usage().removeprefix("usage: ").replace(" [-h]", "").split())
        page = f"'choir help {self.prog.removeprefix('choir ')}'"
        return f"Call it so: {usage}" if len(usage) <= USAGE_MAX else f"{page} tells how to call it."

    def options(self) -> list[str]:
        """Return the options that this verb knows, those that every verb knows included."""
        return sorted({*re.findall(r"(?<![\w-])--?[a-z][a-z-]*", self.format_help()), *SWITCHES, *VALUED})


class Arguments:
    """The arguments of one call, typed."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def flag(self, name: str) -> bool:
        """Return whether an option was given."""
        return bool(self._values.get(name))

    def text(self, name: str) -> str:
        """Return an argument that is always there."""
        return cast("str", self._values[name])

    def maybe(self, name: str) -> str | None:
        """Return an argument, None when it was not given."""
        return cast("str | None", self._values.get(name))

    def texts(self, name: str) -> list[str]:
        """Return the values of an argument that may be given several times."""
        return list(cast("Iterable[str]", self._values.get(name) or ()))

    def number(self, name: str) -> int | None:
        """Return a number, None when it was not given."""
        return cast("int | None", self._values.get(name))


def parse(parser: Parser, words: Sequence[str]) -> Arguments:
    """Return the arguments in these words; raises WrongUsage."""
    values, unknown = parser.parse_known_args(words)
    if unknown:
        raise _unexpected(parser, next((word for word in unknown if word != "--"), unknown[0]))
    return Arguments(cast("dict[str, object]", vars(values)))


def _unexpected(parser: Parser, word: str) -> WrongUsage:
    if not word.startswith("-") or word == "-":
        return WrongUsage("usage.too_much", f"'{parser.prog}' has no use for '{word}'.", fix=parser.advice())
    near = nearest(word.partition("=")[0], parser.options())
    return WrongUsage(
        "usage.unknown_option",
        f"'{parser.prog}' has no option '{word}'.",
        fix=f"Did you mean '{near}'?" if near else parser.advice(),
    )


class Words:
    """A command line, cut at the first word that is neither an option of every verb nor its value."""

    def __init__(self, words: Sequence[str]) -> None:
        place = 0
        while place < len(words) and words[place].partition("=")[0] in {*SWITCHES, *VALUED}:
            place += 2 if words[place] in VALUED else 1
        self.front = list(words[:place])
        found = words[place] if place < len(words) else None
        self.name = None if found is None or (found.startswith("-") and found != "--") else found
        self.rest = list(words[place:] if self.name is None else words[place + 1 :])


def nearest(word: str, among: Iterable[str]) -> str | None:
    """Return the word that was probably meant."""
    # Imported here because only a mistake needs it.
    from difflib import get_close_matches

    found = get_close_matches(word, list(among), n=1, cutoff=0.6)
    return found[0] if found else None


def event_number(text: str) -> int:
    """Return the number of an event."""
    if not (text.isascii() and text.isdecimal() and len(text) <= NUMBER_DIGITS_MAX):
        raise ArgumentTypeError(f"'{text}' is not the number of an event, such as 12.")
    return int(text)


def amount(text: str) -> int:
    """Return how many are wanted."""
    if not (text.isascii() and text.isdecimal() and len(text) <= NUMBER_DIGITS_MAX and int(text)):
        raise ArgumentTypeError(f"'{text}' is not a number of 1 or more.")
    return int(text)


def mode_bits(text: str) -> int:
    """Return permission bits that are written in octal digits, such as 755."""
    if not re.fullmatch(r"0?[0-7]{3}", text):
        raise ArgumentTypeError(f"'{text}' is not a mode in three octal digits, such as 644 or 755.")
    return int(text, 8)


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a check that a word is one of these."""

    def check(text: str) -> str:
        if text in choices:
            return text
        near = nearest(text, choices)
        hint = f"; did you mean '{near}'?" if near else "."
        raise ArgumentTypeError(f"'{text}' is none of {', '.join(choices)}{hint}")

    return check


def completes(action: Action, kind: str) -> None:
    """Let the shell complete an argument with the names of files or directories."""
    names = {"file": ("_shtab_compgen_files", "_files"), "directory": ("_shtab_compgen_dirs", "_files -/")}
    bash, zsh = names[kind]
    vars(action)["complete"] = {"bash": bash, "zsh": zsh}
