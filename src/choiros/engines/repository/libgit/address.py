"""Which addresses a push may go to: few and plain forms, so that nothing in them can mean a command."""

from __future__ import annotations

import os
import re
from pathlib import Path

from choiros.kernel.errors import Rejected
from choiros.kernel.path import fold

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_USER = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_https = re.compile(rf"https://{_HOST}/[A-Za-z0-9._~/+@%:,=-]+")
_ssh = re.compile(rf"ssh://{_USER}@{_HOST}/[A-Za-z0-9._~/+@:,=-]+")
_with_sign_in = re.compile(r"https://[^/]*@")


def check_url(url: str, work_folder: Path | None) -> str:
    """Return the address in the form that libgit2 is given; raise Rejected (`repository.bad_url`) otherwise.

    A local repository may lie neither in a data directory of ChoirOS (another person's, for instance) nor in
    the workspace, which only the merger writes.
    """
    if _with_sign_in.match(url):
        raise _bad_url("holds a name or a secret", "Leave it out: an address is kept in the log for ever.")
    if _https.fullmatch(url) or _ssh.fullmatch(url):
        return url
    local = url.removeprefix("file://")
    if local.startswith("/") and not local.startswith("//") and local.isprintable():
        return _check_local(local, work_folder)
    raise _bad_url("has no known form", "Write https://host/path, ssh://user@host/path or /absolute/path.")


def _check_local(local: str, work_folder: Path | None) -> str:
    real = Path(os.path.realpath(local))
    if any(fold(name) == ".choir" for name in real.parts):
        raise _bad_url("lies in a data directory of ChoirOS", "Choose a folder outside of it.")
    if work_folder and real.is_relative_to(os.path.realpath(work_folder)):
        raise _bad_url(
            "lies in the workspace, which only the merger changes", "Choose a folder outside of it."
        )
    if not (real / "objects").is_dir():
        raise _bad_url("is no bare git repository", f"Make one first: git init --bare '{local}'.")
    return str(real)


def _bad_url(reason: str, fix: str) -> Rejected:
    return Rejected("repository.bad_url", f"The address to push to {reason}.", fix=fix)
