"""What changed between two versions: as hunks for a screen, and as a unified diff that git can apply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from choiros.features.files.match import Gap, gaps, matches
from choiros.features.files.text import is_comparable, is_text, split_lines

_SIGN = {"same": " ", "removed": "-", "added": "+"}

# What a terminal obeys, or a reader does not see: C0 but tab and newline, C1, joiners and marks of direction,
# fillers, line separators, lone surrogates, tags.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)


class DiffLine(Struct, frozen=True):
    """A line with its end, and whether both versions have it, only the one before or only the one after."""

    kind: Literal["same", "removed", "added"]
    text: bytes


class Hunk(Struct, frozen=True):
    """Neighbouring changes with the unchanged lines around them.

    The starts are counted from 1. Where a version has no lines in the hunk, its start is the line before (0:
    none), as a unified diff wants it.
    """

    before_start: int
    before_count: int
    after_start: int
    after_count: int
    lines: tuple[DiffLine, ...]


def hunks(before: bytes, after: bytes, *, context: int = 3) -> list[Hunk]:
    """Return the changes in order, each with up to `context` unchanged lines around it.

    It takes any content by its lines. What is not text, or too large (`is_comparable`), is for the caller to
    say in another way.
    """
    old, new = split_lines(before), split_lines(after)
    edits = gaps(matches(old, new), (len(old), len(new)))
    return [_hunk((old, new), group, context=context) for group in _groups(edits, context)]


def unified(before: bytes, after: bytes, *, path_before: str | None, path_after: str | None) -> str:
    """Return a unified diff that `git apply` and `patch` accept, empty when nothing changed.

    A path that is None says that the file did not exist then. What is not text, or too large to compare, is
    said in one line with the sizes, which no program can apply. The text is exact: on a terminal show
    `printable` of it.
    """
    if before == after and path_before == path_after:
        return ""
    header = _header(path_before, path_after)
    if before == after:
        return header
    old, new = _name("a/", path_before), _name("b/", path_after)
    if is_comparable(before) and is_comparable(after):
        changes = "".join(_printed(hunk) for hunk in hunks(before, after))
        return f"{header}--- {_ended(old)}\n+++ {_ended(new)}\n{changes}"
    kind = "Large" if is_text(before) and is_text(after) else "Binary"
    sizes = f"{len(before)} bytes before, {len(after)} bytes after"
    return f"{header}{kind} files {old} and {new} differ: {sizes}\n"


def printable(text: str) -> str:
    r"""Return the text with everything made visible that a terminal would obey or a reader would not see.

    Tabs and newlines stay. An escape becomes \x1b, a mark that turns the direction of writing \u202e: so a
    file cannot hide a line, recolour the screen, or show code in another order than it runs.
    """
    return _UNSEEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _groups(edits: Iterable[Gap], context: int) -> Iterator[list[Gap]]:
    """Yield edits that are so near each other that their context touches, together."""
    group: list[Gap] = []
    for edit in edits:
        if group and edit[0] - group[-1][1] > 2 * context:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _hunk(versions: tuple[list[bytes], list[bytes]], group: list[Gap], *, context: int) -> Hunk:
    old, new = versions
    lead = min(context, group[0][0])
    trail = min(context, len(old) - group[-1][1])
    start_old, start_new = group[0][0] - lead, group[0][2] - lead
    end_old, end_new = group[-1][1] + trail, group[-1][3] + trail
    lines: list[DiffLine] = []
    at = start_old
    for gap in (*group, (end_old, end_old, end_new, end_new)):
        lines += [DiffLine("same", line) for line in old[at : gap[0]]]
        lines += [DiffLine("removed", line) for line in old[gap[0] : gap[1]]]
        lines += [DiffLine("added", line) for line in new[gap[2] : gap[3]]]
        at = gap[1]
    before, after = end_old - start_old, end_new - start_new
    return Hunk(start_old + bool(before), before, start_new + bool(after), after, tuple(lines))


def _printed(hunk: Hunk) -> str:
    before = f"{hunk.before_start},{hunk.before_count}"
    after = f"{hunk.after_start},{hunk.after_count}"
    return f"@@ -{before} +{after} @@\n" + "".join(_printed_line(line) for line in hunk.lines)


def _printed_line(line: DiffLine) -> str:
    end = "" if line.text.endswith(b"\n") else "\n\\ No newline at end of file\n"
    return _SIGN[line.kind] + line.text.decode() + end


def _header(before: str | None, after: str | None) -> str:
    """Return git's own lines about the file: they alone can tell a rename and an empty file."""
    first = f"diff --git {_quoted('a/', before or after)} {_quoted('b/', after or before)}\n"
    if before is None:
        return first + "new file mode 100644\n"
    if after is None:
        return first + "deleted file mode 100644\n"
    if before != after:
        return first + f"rename from {_quoted('', before)}\nrename to {_quoted('', after)}\n"
    return first


def _name(prefix: str, path: str | None) -> str:
    return "/dev/null" if path is None else _quoted(prefix, path)


def _ended(name: str) -> str:
    """Return the name so that no reader takes what follows a blank for a time stamp; git does it so."""
    return name + "\t" if " " in name else name


def _quoted(prefix: str, path: str | None) -> str:
    """Return the path in the quotes of C when it holds what would break the line it stands in."""
    name = prefix + (path or "")
    if not re.search(r'["\\\x00-\x1f\x7f]', name):
        return name
    shown = re.sub(r'["\\]', r"\\\g<0>", name)
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", shown) + '"'
