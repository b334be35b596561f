"""What a path inside a workspace may look like; checked once, where a path comes in."""

from __future__ import annotations

import unicodedata

from choiros.kernel.errors import Rejected

PATH_BYTES_MAX = 4000
NAME_BYTES_MAX = 255
SHOWN_MAX = 200
TEMPORARY = ".choir-tmp-"
"""Names that begin so are the merger's own and never content."""

PROTECTED = frozenset({".git", ".choir"})
"""Names that no wish may touch, at any depth and in any spelling."""

_invisible = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x00AD]
)


def fold(path: str) -> str:
    """Return the form in which two names that a person, or another file system, takes for one are equal."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path.translate(_invisible)).casefold())


def check_path(path: str) -> str:
    """Return the path when it is relative, plain and safe; raise Rejected (`path.*`) with the reason otherwise."""
    if not path:
        raise _bad(
            "path.empty",
            path,
            reason="is empty",
            fix="Name a file below the workspace, such as notes/today.md.",
        )
    try:
        encoded = path.encode()
    except UnicodeEncodeError as error:
        raise _bad(
            "path.not_utf8", path, reason="is not valid UTF-8", fix="Rename the file to a UTF-8 name."
        ) from error
    if "\x00" in path:
        raise _bad("path.nul", path, reason="holds a NUL byte", fix="Leave the NUL byte out.")
    if path.startswith("/"):
        raise _bad(
            "path.absolute", path, reason="is absolute", fix="Give the path relative to the workspace."
        )
    if len(encoded) > PATH_BYTES_MAX:
        raise _bad(
            "path.too_long", path, reason=f"is longer than {PATH_BYTES_MAX} bytes", fix="Use a shorter path."
        )
    for name in path.split("/"):
        _check_name(path, name)
    return path


def is_protected(path: str) -> bool:
    """Return whether the path is, or lies below, a name that no wish may touch."""
    return any(fold(name).rstrip(". ") in PROTECTED for name in path.split("/"))


def parents(path: str) -> list[str]:
    """Return the directories above a path, from the outermost."""
    names = path.split("/")
    return ["/".join(names[:depth]) for depth in range(1, len(names))]


def is_below(path: str, directory: str) -> bool:
    """Return whether the path lies below the directory, name by name; everything lies below ''."""
    if not directory:
        return True
    names, above = path.split("/"), directory.split("/")
    return len(names) > len(above) and names[: len(above)] == above


def _check_name(path: str, name: str) -> None:
    if name in {"", ".", ".."}:
        reason = "has an empty part" if not name else f"has the part '{name}'"
        raise _bad(
            "path.not_plain",
            path,
            reason=reason,
            fix="Write the path without '.', '..', '//' or a final '/'.",
        )
    if len(name.encode()) > NAME_BYTES_MAX:
        raise _bad(
            "path.too_long",
            path,
            reason=f"has a name longer than {NAME_BYTES_MAX} bytes",
            fix="Use a shorter name.",
        )
    if name.startswith(TEMPORARY):
        raise _bad(
            "path.reserved", path, reason=f"uses the reserved prefix {TEMPORARY}", fix="Choose another name."
        )


def _bad(code: str, path: str, *, reason: str, fix: str) -> Rejected:
    shown = path.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\0")
    shown = shown if len(shown) <= SHOWN_MAX else shown[:SHOWN_MAX] + "..."
    return Rejected(code, f"The path '{shown}' {reason}.", fix=fix, path=shown)
