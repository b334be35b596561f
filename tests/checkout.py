"""The files of this checkout as texts, for the tests that read the project itself."""

import functools
import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MADE_ANYWHERE = {"__pycache__", "node_modules"}
MADE_AT_THE_TOP = {"build", "data", "dist", "htmlcov"}
HIDDEN_OURS = {".ci", ".github", ".gitignore", ".gitattributes", ".editorconfig", ".dockerignore"}
BINARY = {".db", ".ico", ".jpg", ".png", ".sqlite", ".woff2"}


def _is_ours(path: Path) -> bool:
    made = path.name in MADE_ANYWHERE or (path.parent == ROOT and path.name in MADE_AT_THE_TOP)
    return path.name in HIDDEN_OURS or not (made or path.name.startswith("."))


@functools.cache
def checkout() -> Mapping[str, str]:
    """Return every text file that belongs to the project, by its path."""
    found: dict[str, str] = {}
    for top, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if _is_ours(Path(top, name)))
        for path in (Path(top, name) for name in sorted(names)):
            if _is_ours(path) and path.suffix not in BINARY and path.is_file():
                found[path.relative_to(ROOT).as_posix()] = path.read_text(errors="replace")
    return found
