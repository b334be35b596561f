"""Which addresses a push may go to: those of a known form, and only folders that nobody else answers for."""

from __future__ import annotations

import os
from pathlib import Path

from choiros.kernel.address import bad_address, check_address, is_local
from choiros.kernel.path import fold


def check_url(url: str, work_folder: Path | None) -> str:
    """Return the address in the form that libgit2 is given; raise Rejected (`repository.bad_url`) otherwise.

    A local repository may lie neither in a data directory of ChoirOS (another person's, for instance) nor in
    the workspace, which only the merger writes.
    """
    address = check_address(url)
    return _check_local(address, work_folder) if is_local(address) else address


def _check_local(local: str, work_folder: Path | None) -> str:
    real = Path(os.path.realpath(local))
    if any(fold(name) == ".choir" for name in real.parts):
        raise bad_address("lies in a data directory of ChoirOS", "Choose a folder outside of it.")
    if work_folder and real.is_relative_to(os.path.realpath(work_folder)):
        raise bad_address(
            "lies in the workspace, which only the merger changes", "Choose a folder outside of it."
        )
    if not (real / "objects").is_dir():
        raise bad_address("is no bare git repository", f"Make one first: git init --bare '{local}'.")
    return str(real)
