"""Ignore rules against git itself: the same lines, the same tree, the same answers."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from choiros.features.files.ignore import CHECKPOINT_DEFAULTS, DEFAULTS, Ignore
from choiros.features.files.pattern import PatternError, parse

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="allowed: git is not installed")

DIRECTORIES = ["a", "b", "ab"]
FILES = ["a.b", ".a", "c", "-", "a b"]
PARTS = [*"abc.*?// -!", "**", "**/", "/**/", "[ab]", "[!a]", "[a-c]", "[^.]", "\\a", "\\*"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, bool]]]:
    """Make a repository with every name at three levels; return it and its paths."""
    root = tmp_path_factory.mktemp("ignored")
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    paths: list[tuple[str, bool]] = []
    folders = [""]
    for _ in range(3):
        found: list[str] = []
        for above in folders:
            found += [above + name for name in DIRECTORIES]
            paths += [(above + name, False) for name in FILES]
        paths += [(path, True) for path in found]
        folders = [path + "/" for path in found]
    for path, is_directory in sorted(paths, key=lambda one: (not one[1], one[0])):
        if is_directory:
            (root / path).mkdir()
        else:
            (root / path).touch()
    return root, paths


def ignored_by_git(root: Path, lines: str, paths: list[str]) -> set[str]:
    (root / ".git/info/exclude").write_bytes(lines.encode())
    command = ["git", "check-ignore", "--no-index", "--stdin", "-z"]
    run = subprocess.run(command, cwd=root, input="\0".join(paths).encode(), capture_output=True, check=False)
    assert run.returncode in {0, 1}, run.stderr
    return set(run.stdout.decode().split("\0")) - {""}


def readable(line: str) -> bool:
    try:
        parse(line)
    except PatternError:
        return False
    return True


def test_random_rules_are_answered_as_git_answers_them(tree: tuple[Path, list[tuple[str, bool]]]) -> None:
    root, paths = tree
    chance = random.Random(11)
    hits = 0
    for _ in range(250):
        drawn = [
            "".join(chance.choices(PARTS, k=chance.randrange(1, 6))) for _ in range(chance.randrange(1, 4))
        ]
        lines = "\n".join(line for line in drawn if readable(line))
        expected = ignored_by_git(root, lines, [path for path, _ in paths])
        ignore = Ignore(lines, defaults=False)
        found = {path for path, is_directory in paths if ignore.matches(path, is_directory)}
        assert found == expected, (lines, found ^ expected)
        hits += bool(expected)
    assert hits > 80


def test_our_own_lists_mean_to_git_what_they_mean_here(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    lines = [
        line.strip("!")
        for line in (DEFAULTS + CHECKPOINT_DEFAULTS).split("\n")
        if line and not line.startswith("# ")
    ]
    names = {
        line.replace("**/", "").replace("*", "x").replace("[nopx]", "o").replace("[0-9]", "1")
        for line in lines
    }
    files = [f"{above}{name.rstrip('/')}" for name in names for above in ("", "sub/dir/") if name != ".git"]
    # Nothing of this is on disk, so git takes it all for files: directories are tested by what is in them.
    asked = [*files, *(f"{path}/inside" for path in files)]
    expected = ignored_by_git(tmp_path, DEFAULTS + CHECKPOINT_DEFAULTS, asked)
    ignore = Ignore("", checkpoint=True)
    found = {path for path in asked if ignore.matches(path, is_directory=False)}
    assert found == expected
    assert len(found) > len(asked) / 2
