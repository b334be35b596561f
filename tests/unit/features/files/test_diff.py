import unicodedata

import pytest

from choiros.features.files import text
from choiros.features.files.diff import DiffLine, Hunk, hunks, printable, unified

OLD = b"".join(b"%d\n" % number for number in range(1, 21))


def shown(before: bytes, after: bytes) -> str:
    return unified(before, after, path_before="f", path_after="f")


def heads(before: bytes, after: bytes, *, context: int = 3) -> list[tuple[int, int, int, int]]:
    return [
        (hunk.before_start, hunk.before_count, hunk.after_start, hunk.after_count)
        for hunk in hunks(before, after, context=context)
    ]


def test_equal_contents_have_no_hunks_and_no_diff() -> None:
    assert hunks(OLD, OLD) == []
    assert shown(OLD, OLD) == ""


def test_a_hunk_holds_the_change_and_the_lines_around_it() -> None:
    (hunk,) = hunks(b"a\nb\nc\nd\n", b"a\nb\nX\nd\n", context=1)
    lines = (
        DiffLine("same", b"b\n"),
        DiffLine("removed", b"c\n"),
        DiffLine("added", b"X\n"),
        DiffLine("same", b"d\n"),
    )
    assert hunk == Hunk(2, 3, 2, 3, lines)


def test_changes_whose_context_touches_share_a_hunk() -> None:
    near = OLD.replace(b"\n5\n", b"\nfive\n").replace(b"\n12\n", b"\ntwelve\n")
    far = OLD.replace(b"\n5\n", b"\nfive\n").replace(b"\n13\n", b"\nthirteen\n")
    assert heads(OLD, near) == [(2, 14, 2, 14)]
    assert heads(OLD, far) == [(2, 7, 2, 7), (10, 7, 10, 7)]


def test_later_hunks_count_what_earlier_ones_added() -> None:
    assert heads(OLD, b"0\n" + OLD + b"21\n", context=0) == [(0, 0, 1, 1), (20, 0, 22, 1)]


def test_a_version_without_lines_in_the_hunk_names_the_line_before() -> None:
    assert heads(b"", b"a\n") == [(0, 0, 1, 1)]
    assert heads(b"a\n", b"") == [(1, 1, 0, 0)]


def test_the_diff_of_a_change() -> None:
    assert shown(b"a\nb\n", b"a\nB\n") == (
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"
    )


def test_a_missing_last_newline_is_told() -> None:
    assert shown(b"a", b"a\n").endswith("@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n")
    assert shown(b"x\na", b"y\na").endswith("-x\n+y\n a\n\\ No newline at end of file\n")


def test_a_new_a_removed_and_an_empty_file_are_told() -> None:
    assert unified(b"", b"a\n", path_before=None, path_after="f") == (
        "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n"
    )
    assert unified(b"a\n", b"", path_before="f", path_after=None) == (
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"
    )
    assert unified(b"", b"", path_before=None, path_after="f") == "diff --git a/f b/f\nnew file mode 100644\n"


def test_a_rename_is_told_with_and_without_changes() -> None:
    head = "diff --git a/old b/new\nrename from old\nrename to new\n"
    assert unified(b"a\n", b"a\n", path_before="old", path_after="new") == head
    assert unified(b"a\n", b"b\n", path_before="old", path_after="new") == (
        head + "--- a/old\n+++ b/new\n@@ -1,1 +1,1 @@\n-a\n+b\n"
    )


def test_names_that_would_break_a_line_are_quoted() -> None:
    name = 'a\n"\\\t'
    assert '"b/a\\012\\"\\\\\\011"' in unified(b"", b"x", path_before=name, path_after=name)


def test_a_name_with_a_blank_ends_with_a_tab_as_in_git() -> None:
    diff = unified(b"a", b"b", path_before="my file", path_after="my file")
    assert "\n--- a/my file\t\n+++ b/my file\t\n@@" in diff


def test_what_is_not_text_is_said_in_one_line_with_sizes() -> None:
    assert shown(b"\x00", b"ab") == (
        "diff --git a/f b/f\nBinary files a/f and b/f differ: 1 bytes before, 2 bytes after\n"
    )
    assert "Binary files /dev/null and b/f differ: 0 " in unified(
        b"", b"\xff", path_before=None, path_after="f"
    )


def test_what_is_too_large_is_said_in_one_line_with_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "TEXT_BYTES_MAX", 3)
    assert shown(b"a", b"abcd").endswith("\nLarge files a/f and b/f differ: 1 bytes before, 4 bytes after\n")


def test_the_diff_itself_changes_no_character() -> None:
    assert "+\x1b[31m\u202e\r\n" in shown(b"", "\x1b[31m\u202e\r\n".encode())


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("plain\tText\n", "plain\tText\n"),
        ("Grüße, 日本語, 🙂", "Grüße, 日本語, 🙂"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\r", "\\r"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
    ],
)
def test_what_a_terminal_obeys_or_a_reader_does_not_see_is_made_visible(text: str, visible: str) -> None:
    assert printable(text) == visible


def test_no_control_or_format_character_reaches_a_terminal() -> None:
    # Marks of Arabic, Syriac and Kaithi numbers and Egyptian joiners are format characters that one sees.
    seen = {
        *range(0x600, 0x606),
        0x6DD,
        0x70F,
        0x890,
        0x891,
        0x8E2,
        0x110BD,
        0x110CD,
        *range(0x13430, 0x13440),
    }
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    codes = [code for code in range(0x110000) if unicodedata.category(chr(code)) in hidden]
    kept = {code for code in codes if printable(chr(code)) == chr(code)}
    assert kept <= seen | {ord("\t"), ord("\n")}
