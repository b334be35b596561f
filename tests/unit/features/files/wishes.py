"""Wishes for files, played out against a state that a test makes up."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec import Struct

from choiros.features.files.commands import CaptureFiles, Change, ChangeFiles
from choiros.features.files.decide import FilesState, decide_capture, decide_change, digest_of
from choiros.kernel.command import Decision
from choiros.kernel.errors import ChoirError, Rejected
from choiros.kernel.tree import Entry

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def file(data: bytes | str, mode: int = 0o644) -> Entry:
    raw = data.encode() if isinstance(data, str) else data
    return Entry("file", mode, len(raw), digest_of(raw))


def link(target: str) -> Entry:
    return Entry("link", 0o777, target=target)


def nothing_is_ignored(path: str, is_directory: bool) -> bool:
    return False


def state(
    entries: Mapping[str, Entry | None],
    *texts: str | bytes,
    alike: Mapping[str, Sequence[str]] | None = None,
    ignored: Callable[[str, bool], bool] = nothing_is_ignored,
) -> FilesState:
    contents = [text.encode() if isinstance(text, str) else text for text in texts]
    return FilesState(entries, {digest_of(one): one for one in contents}, alike or {}, ignored)


def changed(*changes: Change, known: FilesState) -> Decision:
    return decide_change(ChangeFiles("main", changes), known)


def captured(*changes: Change, known: FilesState) -> list[Struct]:
    return decide_capture(CaptureFiles("main", changes), known).payloads


def refused(decide: Callable[[], Decision], kind: type[ChoirError] = Rejected) -> ChoirError:
    with pytest.raises(kind) as caught:
        decide()
    assert caught.value.fix
    assert caught.value.message.endswith(".")
    return caught.value


A, B, C = file("a\n"), file("b\n"), file("c\n")
A_RUN = file("a\n", 0o755)
B_RUN = file("b\n", 0o755)
