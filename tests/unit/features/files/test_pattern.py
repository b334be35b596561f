import re
import time

import pytest

from choiros.features.files.pattern import PATTERN_SIZE_MAX, Pattern, PatternError, parse


def fits(line: str, subject: str) -> bool:
    pattern = parse(line)
    assert pattern is not None
    return re.compile(pattern.regex, re.DOTALL).fullmatch(subject) is not None


@pytest.mark.parametrize("line", ["", "   ", "# a comment", "#"])
def test_empty_lines_and_comments_say_nothing(line: str) -> None:
    assert parse(line) is None


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("name", Pattern("name", whole=False, negated=False, directory_only=False, name="name")),
        ("!dir/", Pattern("dir", whole=False, negated=True, directory_only=True, name="dir")),
        ("/top", Pattern("top", whole=True, negated=False, directory_only=False, name="top")),
        ("a/b", Pattern("a/b", whole=True, negated=False, directory_only=False, name="b")),
        ("*.log", Pattern(r"[^/]*\.log", whole=False, negated=False, directory_only=False, end=".log")),
        (".env.*", Pattern(r"\.env\.[^/]*", whole=False, negated=False, directory_only=False, start=".env.")),
        ("a[bc]d", Pattern("a(?!/)[b-bc-c]d", whole=False, negated=False, directory_only=False)),
    ],
)
def test_a_line_says_about_what_it_speaks(line: str, pattern: Pattern) -> None:
    assert parse(line) == pattern


@pytest.mark.parametrize(
    ("line", "yes", "no"),
    [
        ("*", ["a", ".a", "a\nb"], []),
        ("a*b", ["ab", "axb", "abab"], ["a", "b", "abc"]),
        ("a**b", ["ab", "axxb"], ["ba"]),
        ("a*b*c*d", ["abcd", "axbxcxd", "abcdbcd"], ["abcdx", "acbd"]),
        ("?", ["a", "é"], ["", "ab"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "x"]),
        ("[!a-c]x", ["dx"], ["ax"]),
        ("[^a]x", ["dx"], ["ax"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[a-]", ["a", "-"], ["b"]),
        (r"[\]]", ["]"], ["\\"]),
        ("[[:digit:]x]", ["7", "x"], ["y"]),
        ("[[:upper:][:digit:]]", ["A", "7"], ["a"]),
        (r"\*", ["*"], ["a"]),
        (r"\#x", ["#x"], []),
        (r"\!x", ["!x"], []),
        ("x\\ ", ["x "], ["x"]),
        ("x\\\\ ", ["x\\"], ["x\\ "]),
        ("x  ", ["x"], ["x "]),
        ("$^.+(){}|&~-", ["$^.+(){}|&~-"], []),
        ("/a/*/c", ["a/b/c"], ["a/c", "a/b/b/c"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a/c"]),
        ("**/a", ["a", "b/a", "b/c/a"], ["ab", "a/b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb", "x/a/b"]),
        ("a/**/b/**/c", ["a/b/c", "a/b/b/x/c", "a/x/b/c/c"], ["a/c", "a/b/cx"]),
        ("**/a*b/**/c", ["ab/c", "x/aab/y/c"], ["ac/c", "ab/d"]),
        ("/**", ["a", "a/b"], []),
        ("a/[+-0]/b", ["a/./b"], ["a///b"]),
    ],
)
def test_a_pattern_fits_what_git_would_fit(line: str, yes: list[str], no: list[str]) -> None:
    assert [subject for subject in yes if not fits(line, subject)] == []
    assert [subject for subject in no if fits(line, subject)] == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[a", "never closes"),
        ("[]", "never closes"),
        ("[z-a]", "runs backwards, 'z-a'"),
        ("[[:colour:]]", "does not exist, 'colour'"),
        ("x\\", "escapes nothing"),
        ("!", "names nothing"),
        ("/", "names nothing"),
        ("!/", "names nothing"),
        ("a//b", "two slashes"),
        ("a\x00", "no path can hold"),
        ("a\udcff", "no path can hold"),
        ("a" * (PATTERN_SIZE_MAX + 1), "longer than"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(line: str, reason: str) -> None:
    with pytest.raises(PatternError, match=re.escape(reason)):
        parse(line)


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("*a*a*a*a*a*a*a*b", "a" * 255),
        ("a*" * 300 + "b", "a" * 255),
        ("**/a/**/a/**/a/**/a/**/a/**/b", "a/" * 1999 + "a"),
        ("**/*a*a*a/**/*a*a*a/**/*a*a*ab", "aaaa/" * 799 + "aaaa"),
        ("*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[0-9]", "a" * 255),
        ("a/" * 400 + "*", "a/" * 1999 + "b"),
    ],
)
def test_no_pattern_makes_a_path_expensive(line: str, subject: str) -> None:
    start = time.process_time()
    assert not fits(line, subject)
    assert time.process_time() - start < 1  # measured: up to 0.01 s; trying every possibility takes for ever
