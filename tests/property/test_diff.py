"""A diff leads from one version to the other: with a patch function of our own, and with git and patch."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choiros.features.files.diff import hunks, unified

GIT = shutil.which("git")
PATCH = shutil.which("patch")
needs_git = pytest.mark.skipif(GIT is None, reason="allowed: git is not installed")
needs_patch = pytest.mark.skipif(PATCH is None, reason="allowed: patch is not installed")

line = st.sampled_from(["a\n", "b\n", "\n", "- x\n", "+ x\n", "@@ -1 +1 @@\n", "\\ No newline\n", "ü\r\n"])
ends = st.sampled_from(["", "a", "b\r"])
texts = st.builds(lambda lines, end: "".join([*lines, end]).encode(), st.lists(line, max_size=25), ends)


def patched(before: bytes, diff: str) -> bytes:
    """Apply a unified diff by the letter, and check every number and every unchanged line on the way."""
    old, new, at = lines_of(before), list[bytes](), 0
    rows = lines_of(diff.encode())
    rows = rows[next((n for n, row in enumerate(rows) if row.startswith(b"@@")), len(rows)) :]
    counted = [0, 0]
    for number, row in enumerate(rows):
        text = row[1:]
        if number + 1 < len(rows) and rows[number + 1].startswith(b"\\ No"):
            text = text.removesuffix(b"\n")
        if row.startswith(b"@@") and counted == [0, 0]:
            start, *counted = numbers(row)
            first = start - 1 if counted[0] else start
            new += old[at:first]
            at = first
        elif row.startswith((b" ", b"-")):
            assert old[at] == text
            at += 1
            new += [text] if row.startswith(b" ") else []
            counted = [counted[0] - 1, counted[1] - row.startswith(b" ")]
        elif row.startswith(b"+"):
            new.append(text)
            counted[1] -= 1
    assert counted == [0, 0]
    return b"".join(new + old[at:])


def lines_of(content: bytes) -> list[bytes]:
    *lines, rest = content.split(b"\n")
    return [line + b"\n" for line in lines] + ([rest] if rest else [])


def numbers(head: bytes) -> tuple[int, int, int]:
    before, after = head.split()[1:3]
    start, count = (int(number) for number in before[1:].split(b","))
    return start, count, int(after.split(b",")[1])


@given(texts, texts)
def test_a_diff_leads_from_one_version_to_the_other(before: bytes, after: bytes) -> None:
    diff = unified(before, after, path_before="f", path_after="f")
    assert patched(before, diff) == after
    assert (diff == "") == (before == after)


@given(texts, texts, st.integers(0, 4))
def test_hunks_are_apart_and_tell_true_places(before: bytes, after: bytes, context: int) -> None:
    old, new = lines_of(before), lines_of(after)
    end = 0
    for hunk in hunks(before, after, context=context):
        start = hunk.before_start - bool(hunk.before_count)
        there = hunk.after_start - bool(hunk.after_count)
        assert start >= end
        end = start + hunk.before_count
        assert [row.text for row in hunk.lines if row.kind != "added"] == old[start:end]
        assert [row.text for row in hunk.lines if row.kind != "removed"] == new[
            there : there + hunk.after_count
        ]


def repository(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    return folder


def applied_by(command: list[str], folder: Path, diff: str) -> None:
    run = subprocess.run(command, cwd=folder, input=diff.encode(), capture_output=True, check=False)
    assert run.returncode == 0, (run.stderr, run.stdout, diff)


@needs_git
@settings(max_examples=40)
@given(before=texts, after=texts)
def test_git_applies_the_diff(before: bytes, after: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = repository(tmp_path_factory.getbasetemp() / "applied")
    (folder / "f").write_bytes(before)
    diff = unified(before, after, path_before="f", path_after="f")
    if diff:
        applied_by(["git", "apply", "--check", "-"], folder, diff)
        applied_by(["git", "apply", "--whitespace=nowarn", "-"], folder, diff)
    assert (folder / "f").read_bytes() == after


@needs_patch
@settings(max_examples=40)
@given(before=texts.filter(bool), after=texts.filter(bool))
def test_patch_applies_the_diff(
    before: bytes, after: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = repository(tmp_path_factory.getbasetemp() / "patched")
    (folder / "f").write_bytes(before)
    diff = unified(before, after, path_before="f", path_after="f")
    if diff:
        applied_by(["patch", "--binary", "-p1", "-s"], folder, diff)
    assert (folder / "f").read_bytes() == after


NAMES = [
    "plain",
    "with space",
    'quo"te',
    "back\\slash",
    "new\nline",
    "tab\there",
    "ünï",
    "dir/with space/x",
    "a => b",
]


@needs_git
@pytest.mark.parametrize("name", NAMES)
def test_git_applies_the_coming_the_change_the_move_and_the_going_of_a_file(
    name: str, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "repository")
    moved = f"moved {name}"
    steps: list[tuple[bytes, bytes, str | None, str | None]] = [
        (b"", b"one\ntwo", None, name),
        (b"one\ntwo", b"one\nTWO\n", name, name),
        (b"one\nTWO\n", b"one\nTWO\nthree\n", name, moved),
        (b"one\nTWO\nthree\n", b"one\nTWO\nthree\n", moved, name),
        (b"one\nTWO\nthree\n", b"", name, None),
        (b"", b"", None, name),
        (b"", b"", name, None),
    ]
    for before, after, old, new in steps:
        diff = unified(before, after, path_before=old, path_after=new)
        applied_by(["git", "apply", "--check", "-"], folder, diff)
        applied_by(["git", "apply", "-"], folder, diff)
        there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        assert {path for path in there if not path.startswith(".git/")} == ({new} if new else set())
        if new:
            assert (folder / new).read_bytes() == after
