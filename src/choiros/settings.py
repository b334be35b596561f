"""Every setting with its default; the only reader of the environment and of `choiros.toml`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

import msgspec
from msgspec import Struct

from choiros.kernel.errors import Rejected

Origin = Literal["default", "file", "environment", "flag"]
Plain = str | int | bool

USER_LENGTH_MAX = 64
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
    backup: BackupSettings = BackupSettings()


class Resolved(Struct, frozen=True):
    """The settings in force, where they are kept, and where each value comes from."""

    home: Path
    settings: Settings
    origins: Mapping[str, Origin]

    @property
    def file(self) -> Path:
        """Return the settings file."""
        return self.home / "choiros.toml"


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
    home = Path(flags.get("home") or environment.get("CHOIR_HOME") or Path.home() / ".choir").absolute()
    values: dict[str, Plain] = _flat(msgspec.to_builtins(Settings()))
    origins: dict[str, Origin] = dict.fromkeys(values, "default")
    layers: list[tuple[Origin, Mapping[str, Plain]]] = [
        ("file", _of_file(home / "choiros.toml")),
        ("environment", _of_environment(environment)),
        ("flag", {key: value for key, value in flags.items() if key != "home"}),
    ]
    for origin, layer in layers:
        for key, value in layer.items():
            if key not in values:
                raise unknown_key(key, origin)
            values[key] = _converted(key, value, default=values[key], origin=origin)
            origins[key] = origin
    return Resolved(home, _checked(values), origins)


def flat(settings: Settings) -> dict[str, Plain]:
    """Return all values under their dotted names."""
    return _flat(msgspec.to_builtins(settings))


def set_in_file(resolved: Resolved, key: str, *, value: str) -> None:
    """Write one value into the settings file, every other line kept as it is.

    Raises Rejected (`config.*`), the file untouched, when the value is wrong or the file is too artful to be edited.
    """
    known = flat(resolved.settings)
    if key not in known:
        raise unknown_key(key, "flag")
    converted = _converted(key, value, default=known[key], origin="flag")
    _checked({**known, key: converted})
    text = resolved.file.read_bytes().decode() if resolved.file.exists() else ""
    lines = text.removesuffix("\n").split("\n") if text else []
    fresh = "\n".join(_with_line(lines, key, value=_as_toml(converted))) + "\n"
    _check_edited(text, fresh, key=key, value=converted)
    resolved.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = resolved.file.with_suffix(".new")
    beside.write_bytes(fresh.encode())
    beside.replace(resolved.file)


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
    except (OSError, ValueError) as error:
        raise Rejected(
            "config.unreadable",
            f"The settings file {path.name} cannot be read: {error}.",
            fix="Correct that line, or move the file away to use the defaults.",
            file=path.name,
        ) from error


def _of_environment(environment: Mapping[str, str]) -> dict[str, Plain]:
    names = {"CHOIR_" + key.replace(".", "_").upper(): key for key in keys()}
    known = {**names, "CHOIR_HOME": ""}
    for name in environment:
        if name.startswith("CHOIR_") and name not in known:
            raise unknown_key(name, "environment")
    return {names[name]: value for name, value in environment.items() if name in names}


def _converted(key: str, value: Plain, *, default: Plain, origin: Origin) -> Plain:
    if type(value) is type(default):
        return value
    text = str(value).strip().lower()
    if isinstance(default, bool) and text in {"true", "false", "1", "0"}:
        return text in {"true", "1"}
    if (
        isinstance(default, int)
        and not isinstance(default, bool)
        and text.isdecimal()
        and len(text) <= DIGITS_MAX
    ):
        return int(text)
    kind = {bool: "true or false", int: "a whole number", str: "text"}[type(default)]
    raise Rejected(
        "config.bad_value",
        f"The setting '{key}' is '{value}' ({origin}), but must be {kind}.",
        fix=f"Set it to {kind}, or take it away to use the default {default}.",
        key=key,
    )


def _checked(values: Mapping[str, Plain]) -> Settings:
    bounds = {"lock_timeout_s": 0, "snapshots.kept": 0, "backup.every_hours": 0, "backup.keep_weekly": 0}
    for key, value in values.items():
        lowest = bounds.get(key, 1)
        if isinstance(value, int) and not isinstance(value, bool) and not lowest <= value <= NUMBER_MAX:
            raise Rejected(
                "config.bad_value",
                f"The setting '{key}' is {value}, but must be between {lowest} and {NUMBER_MAX}.",
                fix="Set it to a number in between, or take it away to use the default.",
                key=key,
            )
    tree: dict[str, object] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        place = cast("dict[str, object]", tree.setdefault(section, {})) if section else tree
        place[name] = value
    settings = msgspec.convert(tree, Settings)
    check_user(settings.user)
    return settings


def check_user(user: str) -> str:
    """Return the id of a person when it is one; raise Rejected (`config.bad_user`)."""
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789_-")
    if not 0 < len(user) <= USER_LENGTH_MAX or not set(user) <= allowed:
        shown = user[:80].encode("utf-8", "backslashreplace").decode()
        raise Rejected(
            "config.bad_user",
            f"The setting 'user' is '{shown}', which cannot be the id of a person.",
            fix="Use a-z, 0-9, '_' and '-', at most 64 characters.",
            user=shown,
        )
    return user


def unknown_key(key: str, origin: Origin) -> Rejected:
    """Return the error for a setting that does not exist."""
    return Rejected(
        "config.unknown_key",
        f"There is no setting '{key}' ({origin}).",
        fix="'choir config' lists all settings.",
        key=key,
    )
