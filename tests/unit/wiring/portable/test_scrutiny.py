"""Histories that no gate would have let through: what they would do to the disk is not done (C-81)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from msgspec import Struct

from choiros.features.files.events import FileDeleted, FileMoved, FileWritten
from choiros.features.workspaces.events import WorkspaceCreated
from choiros.kernel.errors import Corrupt
from choiros.kernel.tree import Entry
from choiros.wiring.portable.arriving import bring_in
from tests.carrying import at, forged, left_in, of, opened, silent

pytestmark = pytest.mark.anyio

CONTENT = b"pwned\n"
FILE = Entry("file", 0o644, len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
DIRECTORY = Entry("dir", 0o755)


async def refusal(home: Path, *payloads: Struct, contents: tuple[bytes, ...] = (CONTENT,)) -> Corrupt:
    parts = await forged(payloads, contents)
    with pytest.raises(Corrupt) as caught:
        await bring_in(at(home), of(parts), file="me.tar", progress=silent)
    assert left_in(home.parent) == []
    return caught.value


UNSAFE: dict[str, Struct] = {
    "a way up": FileWritten("main", "../../../up", FILE),
    "a way up in the middle": FileWritten("main", "a/../../up", FILE),
    "an absolute path": FileWritten("main", "/etc/cron.d/job", FILE),
    "an empty path": FileWritten("main", "", FILE),
    "a NUL": FileWritten("main", "a\x00b", FILE),
    "a move to above": FileMoved("main", "a", "../b", FILE),
    "a hook of git": FileWritten("main", ".git/hooks/pre-commit", FILE),
    "a hook of git in another spelling": FileWritten("main", "x/.GIT/config", FILE),
    "our own data": FileWritten("main", ".choir/log.db", FILE),
    "a workspace above": WorkspaceCreated("../../../up", "up"),
    "a workspace in a folder": WorkspaceCreated("a/b", "up"),
    "a workspace without a name": WorkspaceCreated("", "up"),
    "a workspace of the file alone": FileWritten("../up", "a", FILE),
    "a program that runs as its owner": FileWritten("main", "a", Entry("file", 0o4755, 6, FILE.content)),
    "a negative size": FileWritten("main", "a", Entry("file", 0o644, -1, FILE.content)),
    "a content that is a path": FileWritten("main", "a", Entry("file", 0o644, 6, "../" * 21 + "a")),
    "a directory with content": FileWritten("main", "a", Entry("dir", 0o755, 6, FILE.content)),
    "a lie about the size": FileWritten("main", "a", Entry("file", 0o644, 7, FILE.content)),
}


@pytest.mark.parametrize("payload", UNSAFE.values(), ids=UNSAFE)
async def test_it_is_refused_at_its_event_and_nothing_is_left(tmp_path: Path, payload: Struct) -> None:
    error = await refusal(tmp_path / "home", FileWritten("main", "good", FILE), payload)
    assert (error.code, error.fields["seq"]) == ("import.unsafe", 3), error.message


async def test_a_content_that_is_missing_is_named_with_its_event(tmp_path: Path) -> None:
    error = await refusal(tmp_path / "home", FileWritten("main", "a", FILE), contents=())
    assert error.code == "import.damaged"
    assert FILE.content in error.message
    assert "event 2" in error.message


async def test_a_content_that_nothing_names_is_refused(tmp_path: Path) -> None:
    error = await refusal(tmp_path / "home", contents=(CONTENT, b"a passenger"))
    assert error.code == "import.damaged"
    assert "no event names" in error.message


async def test_many_paths_are_all_looked_at(tmp_path: Path) -> None:
    wide = [FileWritten("main", f"f{number:05d}", FILE) for number in range(2100)]
    error = await refusal(tmp_path / "home", *wide, FileWritten("main", "zz/../..", FILE))
    assert error.fields["seq"] == 2102


async def test_an_honest_history_is_let_pass(tmp_path: Path) -> None:
    honest = [
        FileWritten("main", "a", FILE),
        FileWritten("main", "d", DIRECTORY),
        FileMoved("main", "a", "d/b", FILE),
        FileWritten("main", "l", Entry("link", 0o777, target="../../elsewhere")),
        FileDeleted("main", "d/b", FILE),
    ]
    parts = await forged(honest, [CONTENT])
    await bring_in(at(tmp_path / "home"), of(parts), file="me.tar", progress=silent)
    computer = await opened(tmp_path / "home")
    assert computer.files.seqs("main", "").keys() == {"d", "l"}
    await computer.close()
