"""Every setting with its default; the only reader of the environment and of `choiros.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast

import msgspec
from msgspec import Struct

from choiros.kernel.errors import Rejected

Origin = Literal["default", "file", "environment", "flag"]
Plain = str | int | bool

USER_LENGTH_MAX = 64
WITNESS_NAME = re.compile(r"[a-z0-9_-]{1,64}")
SHOWN_MAX = 80
KEY = re.compile(r"[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}")
DIGITS_MAX = 15
NUMBER_MAX = 2**53 - 1
"""The largest number that any setting takes."""


class FileSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How files are kept."""

    size_bytes_max: int = 4 * 1024**3
    """The largest file that is kept; a larger one is refused and left alone."""


class CheckpointSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When checkpoints are made without being asked for."""

    events_max: int = 200
    """Make one after this many changes of files."""
    minutes_max: int = 30
    """Make one this long after the first change."""


class SnapshotSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How the derived tables are kept for a fast rebuild."""

    events_max: int = 50_000
    """Keep a snapshot after this many events."""
    kept: int = 2
    """Keep this many snapshots."""


class ProofSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How the log is signed, and who sees it."""

    events_max: int = 500
    """Sign the log after this many events."""
    minutes_max: int = 60
    """Sign it this long after the last time, when anything happened."""
    keys: str = ""
    """The directory of the keys; when empty, 'keys' beside the log. Better another disk, or one that is encrypted."""
    witnesses: str = ""
    """Who is shown each signature: NAME=file:/DIR, NAME=git:URL, NAME=command:WORDS, with ';' in between."""
    witness_keys: str = ""
    """The keys of witnesses whose signatures are believed, with spaces in between."""


class BackupSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where backups go, how often, and which are kept."""

    directory: str = ""
    """A folder on another disk; without one no backups are made."""
    every_hours: int = 24
    """Make one after so many hours in which something happened; 0 means only when asked for."""
    keep_daily: int = 7
    """Keep the newest one of each of this many days."""
    keep_weekly: int = 4
    """Keep the newest one of each of this many weeks."""


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings."""

    user: str = "me"
    """Whose computer is meant."""
    lock_timeout_s: int = 10
    """How long a command waits for another one that changes the same data."""
    files: FileSettings = FileSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    snapshots: SnapshotSettings = SnapshotSettings()
    proof: ProofSettings = ProofSettings()
    backup: BackupSettings = BackupSettings()


class Resolved(Struct, frozen=True):
    """The settings in force, where they are kept, and where each value comes from."""

    home: Path
    settings: Settings
    origins: Mapping[str, Origin]

    @property
    def file(self) -> Path:
        """Return the settings file."""
        return _file_in(self.home)


def allows_colour(environment: Mapping[str, str] | None = None) -> bool:
    """Return whether the environment allows colour: NO_COLOR is not set and the terminal is not a dumb one."""
    environment = os.environ if environment is None else environment
    return not environment.get("NO_COLOR") and environment.get("TERM", "dumb") not in {"dumb", ""}


def keys() -> list[str]:
    """Return the dotted names of all settings."""
    return sorted(_flat(msgspec.to_builtins(Settings())))


def resolve(flags: Mapping[str, str], environment: Mapping[str, str] | None = None) -> Resolved:
    """Return the settings: flags over environment over file over default.

    Raises Rejected (`config.*`) naming the key, the value, the reason and the fix.
    """
    environment = os.environ if environment is None else environment
    home, home_origin = _home(flags, environment)
    values = flat(Settings())
    origins: dict[str, Origin] = {**dict.fromkeys(values, "default"), "home": home_origin}
    layers: list[tuple[Origin, Mapping[str, Plain]]] = [
        ("file", _of_file(_file_in(home))),
        ("environment", _of_environment(environment)),
        ("flag", {key: value for key, value in flags.items() if key != "home"}),
    ]
    for origin, layer in layers:
        for key, value in layer.items():
            if key not in values:
                raise _unknown_key(key, origin, known=keys())
            values[key] = _checked(key, value, place=_place(key, origin, home=home))
            origins[key] = origin
    return Resolved(home, _settings(values), origins)


def fallback(flags: Mapping[str, str], environment: Mapping[str, str] | None = None) -> Resolved:
    """Return the defaults for the home and the user that are meant, where `resolve` refuses everything.

    Raises Rejected (`config.no_home`) when not even the home is known.
    """
    environment = os.environ if environment is None else environment
    home, origin = _home(flags, environment)
    user = flags.get("user") or environment.get("CHOIR_USER") or Settings().user
    settings = Settings(user=user if _is_user(user) else Settings().user)
    return Resolved(home, settings, {"home": origin})


def _home(flags: Mapping[str, str], environment: Mapping[str, str]) -> tuple[Path, Origin]:
    """Return where everything is kept, and who says so."""
    if "home" in flags:
        if not flags["home"]:
            # Most often a variable of a script that is not set: never fall back to a person's own data then.
            raise Rejected("config.no_home", "The directory behind --home is empty.", fix=_NAME_A_HOME)
        return Path(flags["home"]).absolute(), "flag"
    if environment.get("CHOIR_HOME"):
        return Path(environment["CHOIR_HOME"]).absolute(), "environment"
    try:
        return Path.home() / ".choir", "default"
    except RuntimeError as error:
        raise Rejected(
            "config.no_home", "The system does not know your home directory.", fix=_NAME_A_HOME
        ) from error


_NAME_A_HOME = "Name the directory that holds the data: --home DIR, or CHOIR_HOME=DIR."


def _file_in(home: Path) -> Path:
    return home / "choiros.toml"


class _Place(NamedTuple):
    """Where a value stands: its origin, and what a person must open or change to mend it."""

    origin: Origin
    words: str


def _place(key: str, origin: Origin, *, home: Path) -> _Place:
    words = {"file": str(_file_in(home)), "environment": _variable(key), "flag": "the command line"}
    return _Place(origin, words.get(origin, origin))


def _variable(key: str) -> str:
    return "CHOIR_" + key.replace(".", "_").upper()


def flat(settings: Settings) -> dict[str, Plain]:
    """Return all values under their dotted names."""
    return _flat(msgspec.to_builtins(settings))


def set_in_file(resolved: Resolved, key: str, *, value: str) -> None:
    """Write one value into the settings file, every other line kept as it is.

    Raises Rejected (`config.*`), the file untouched, when the value is wrong or the file is too artful to be edited.
    """
    known = keys()
    if key not in known:
        raise _unknown_key(key, "flag", known=known)
    converted = _checked(key, value, place=_place(key, "flag", home=resolved.home))
    text = resolved.file.read_bytes().decode() if resolved.file.exists() else ""
    lines = text.removesuffix("\n").split("\n") if text else []
    fresh = "\n".join(_with_line(lines, key, value=_as_toml(converted))) + "\n"
    _check_edited(text, fresh, key=key, value=converted)
    resolved.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(resolved.file, fresh.encode())


def _replace(path: Path, content: bytes) -> None:
    """Put a file in the place of another, on disk before it is said to be done; else the old one stays."""
    beside = path.with_suffix(".new")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _check_edited(text: str, fresh: str, *, key: str, value: Plain) -> None:
    try:
        is_right = _flat(tomllib.loads(fresh)) == {**_flat(tomllib.loads(text)), key: value}
    except ValueError:
        is_right = False
    if not is_right:
        raise Rejected(
            "config.not_editable",
            f"The setting '{key}' stands in choiros.toml in a form that cannot be edited from here.",
            fix=f"Open the file and set {key} to {value} by hand. Nothing was changed.",
            key=key,
        )


def _with_line(lines: list[str], key: str, *, value: str) -> list[str]:
    section, _, name = key.rpartition(".")
    start = 0
    if section:
        headers = [_header(line) for line in lines]
        if section not in headers:
            return [*lines, *([""] if lines else []), f"[{section}]", f"{name} = {value}"]
        start = headers.index(section) + 1
    for number in range(start, len(lines) + 1):
        line = lines[number].strip() if number < len(lines) else "["
        if line.partition("=")[0].strip() == name:
            return [*lines[:number], f"{name} = {value}", *lines[number + 1 :]]
        if line.startswith("["):
            return [*lines[:number], f"{name} = {value}", *lines[number:]]
    return lines


def _header(line: str) -> str:
    """Return the name of the section that a line opens, '' for any other line."""
    code = line.partition("#")[0].strip()
    return code[1:-1].strip() if code.startswith("[") and code.endswith("]") else ""


def _as_toml(value: Plain) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else msgspec.json.encode(value).decode()


def _flat(tree: object, prefix: str = "") -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    for name, value in cast("dict[str, Plain | dict[str, Plain]]", tree).items():
        if isinstance(value, dict):
            found.update(_flat(value, f"{prefix}{name}."))
        else:
            found[prefix + name] = value
    return found


def _of_file(path: Path) -> dict[str, Plain]:
    try:
        return _flat(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except OSError as error:
        reason = error.strerror or type(error).__name__
        fix = "See what stands there and who may read it, or choose another place: --home DIR, or CHOIR_HOME=DIR."
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        fix = "Correct that line, or move the file away to use the defaults."
    raise Rejected(
        "config.unreadable", f"The settings file {path} cannot be read: {reason}.", fix=fix, file=str(path)
    )


def _of_environment(environment: Mapping[str, str]) -> dict[str, Plain]:
    names = {_variable(key): key for key in keys()}
    for name in environment:
        if name.startswith("CHOIR_") and name not in {*names, "CHOIR_HOME"}:
            raise _unknown_key(name, "environment", known=[*names, "CHOIR_HOME"])
    return {names[name]: value for name, value in environment.items() if name in names}


def _checked(key: str, value: Plain, *, place: _Place) -> Plain:
    """Return a value as its setting wants it; raises Rejected (`config.*`)."""
    default = flat(Settings())[key]
    converted = _converted(value, default)
    lowest = _LOWEST.get(key, 1)
    if converted is None:
        wanted = {bool: "true or false", int: "a whole number", str: "text"}[type(default)]
    elif type(converted) is int and not lowest <= converted <= NUMBER_MAX:
        wanted = f"between {lowest} and {NUMBER_MAX}"
    elif key == "proof.witnesses" and witnesses(str(converted)) is None:
        wanted = "NAME=file:/DIR, NAME=git:URL or NAME=command:WORDS, each name once, with ';' in between"
    elif key == "proof.witness_keys" and not all(map(KEY.fullmatch, str(converted).split())):
        wanted = "keys as 'choir keys' prints them, with spaces in between"
    elif key == "user" and not _is_user(str(converted)):
        raise _bad_user(str(converted), place)
    else:
        return converted
    shown = str(value).lower() if isinstance(value, bool) else _short(str(value))
    raise Rejected(
        "config.bad_value",
        f"The setting '{key}' is '{shown}' ({place.origin}), but must be {wanted}.",
        fix=f"Correct it in {place.words}, or take it away there to use the default {default}.",
        key=key,
        origin=place.origin,
    )


_LOWEST = {"lock_timeout_s": 0, "snapshots.kept": 0, "backup.every_hours": 0, "backup.keep_weekly": 0}


def _converted(value: Plain, default: Plain) -> Plain | None:
    """Return a value in the type of the default, None when it is not one."""
    if type(value) is type(default):
        return value
    text = str(value).strip().lower()
    if isinstance(default, bool) and text in {"true", "false", "1", "0"}:
        return text in {"true", "1"}
    is_number = text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX
    return int(text) if type(default) is int and is_number else None


def _settings(values: Mapping[str, Plain]) -> Settings:
    tree: dict[str, object] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        place = cast("dict[str, object]", tree.setdefault(section, {})) if section else tree
        place[name] = value
    return msgspec.convert(tree, Settings)


def witnesses(text: str) -> list[tuple[str, str, str]] | None:
    """Return name, kind and address of each witness, None for a text that names none."""
    found: list[tuple[str, str, str]] = []
    for one in filter(None, (part.strip() for part in text.split(";"))):
        name, _, rest = one.partition("=")
        kind, _, address = rest.partition(":")
        is_new = WITNESS_NAME.fullmatch(name) and name not in {other for other, _, _ in found}
        if kind not in {"file", "git", "command"} or not is_new or not address.strip():
            return None
        found.append((name, kind, address.strip()))
    return found


def _is_user(user: str) -> bool:
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789_-")
    return 0 < len(user) <= USER_LENGTH_MAX and set(user) <= allowed


def _bad_user(user: str, place: _Place) -> Rejected:
    return Rejected(
        "config.bad_user",
        f"The setting 'user' is '{_short(user)}' ({place.origin}), which cannot be the id of a person.",
        fix=f"Correct it in {place.words}: a-z, 0-9, '_' and '-', at most {USER_LENGTH_MAX} characters.",
        user=_short(user),
        origin=place.origin,
    )


def _short(text: str) -> str:
    return text[:SHOWN_MAX].encode("utf-8", "backslashreplace").decode()


def _unknown_key(key: str, origin: Origin, *, known: Sequence[str]) -> Rejected:
    """Return the error for a setting that does not exist; `known` are the names that do, as they are written there."""
    from difflib import get_close_matches  # noqa: PLC0415 (only a mistake needs it)

    near = get_close_matches(key, known, n=1)
    return Rejected(
        "config.unknown_key",
        f"There is no setting '{_short(key)}' ({origin}).",
        # 'choir config' would be refused just the same, so all names are told here.
        fix=f"Did you mean '{near[0]}'?" if near else f"Take it away. There are: {', '.join(sorted(known))}.",
        key=key,
    )
