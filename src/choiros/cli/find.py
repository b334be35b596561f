"""Finds which verb a command line means, and which words are left for it."""

from __future__ import annotations

from collections.abc import Sequence

from choiros.cli.arguments import SWITCHES, VALUED, Words, WrongUsage, nearest
from choiros.cli.at import rewritten
from choiros.cli.verb import Verb
from choiros.cli.verbs import load, unknown

Found = tuple[Verb, str, list[str]]
"""The verb, how it is called ('choir workspaces new'), and the words that are left for it."""

HELP = {"-h", "--help"}


def find(words: Sequence[str]) -> Found:
    """Return what is meant; raises WrongUsage."""
    _check_words(words)
    cut = Words(words)
    if cut.name is None:
        return load("help"), "choir help", [*cut.front, *_only_help(cut.rest)]
    if cut.name == "at" and not HELP.intersection(cut.rest[:2]):
        return find([*cut.front, *rewritten(cut.rest)])
    name, verb = f"choir {cut.name}", load(cut.name)
    if not verb.acts:
        return verb, name, [*cut.front, *cut.rest]
    return _act(verb, name, words=[*cut.front, *cut.rest])


def _act(verb: Verb, program: str, *, words: list[str]) -> Found:
    cut = Words(words)
    if cut.name is None:
        if HELP.intersection(cut.rest[:1]):
            return verb, program, words
        return verb.acts[verb.default_act], f"{program} {verb.default_act}", words
    if cut.name not in verb.acts:
        raise unknown(cut.name, program, known=verb.acts)
    return verb.acts[cut.name], f"{program} {cut.name}", [*cut.front, *cut.rest]


def _only_help(rest: Sequence[str]) -> list[str]:
    """Return what may stand in front without a verb: --help and --version."""
    for word in rest:
        if word not in {*HELP, "--version", *SWITCHES}:
            option = word.partition("=")[0]
            near = nearest(option, [*SWITCHES, *VALUED, "--help", "--version"])
            hint = (
                f"Did you mean '{near}'?"
                if near
                else "Options of a verb stand behind it: choir VERB OPTIONS."
            )
            raise WrongUsage(
                "usage.unknown_option", f"In front of the verb, '{option}' means nothing.", fix=hint
            )
    return ["--version"] if "--version" in rest else []


def _check_words(words: Sequence[str]) -> None:
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            shown = word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            raise WrongUsage(
                "usage.not_utf8",
                f"'{shown}' is not valid UTF-8.",
                fix="Rename the file to a UTF-8 name, or pipe its content in: choir write PATH < FILE.",
            ) from error
