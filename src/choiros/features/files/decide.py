"""The rules for files: what a wish would record, decided from what stands there now. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET, Struct

from choiros.features.files.changeset import ChangeSet
from choiros.features.files.commands import CaptureFiles, Change, ChangeFiles, EditFile, MoveFile, RemoveFile
from choiros.features.files.events import FileFact
from choiros.features.files.merge import merge
from choiros.features.files.text import is_text
from choiros.kernel.command import Decision, Fact
from choiros.kernel.errors import Conflict, Rejected
from choiros.kernel.path import check_path, fold, parents
from choiros.kernel.tree import Entry

CONFLICT = "conflict"
"""The word in the name of a version that is kept beside another one."""

MODE_MAX = 0o777
TARGET_BYTES_MAX = 4095
_digest = re.compile(r"[0-9a-f]{64}")


class FilesState(Struct, frozen=True):
    """What a rule needs to know: entries of all paths concerned, contents to merge, names that look alike."""

    entries: Mapping[str, Entry | None]
    contents: Mapping[str, bytes]
    alike: Mapping[str, Sequence[str]]
    ignored: Callable[[str, bool], bool]


def decide_change(command: ChangeFiles, state: FilesState) -> Decision:
    """Set paths; a wish that was made from an older state is merged with what stands there by now."""
    draft = _Draft(command.workspace, state)
    _check_wishes(command.changes, state)
    for change in _in_order(command.changes):
        draft.apply(change)
    return draft.decision()


def decide_capture(command: CaptureFiles, state: FilesState) -> Decision:
    """Record what is in the folder already; a removed and a new path with one content are a move."""
    draft = _Draft(command.workspace, state, captured=True)
    rest = list(command.changes)
    for gone, come in _moves(rest, state):
        draft.changes.move(gone.path, come.path)
        rest.remove(gone)
        rest.remove(come)
    for change in _in_order(rest):
        draft.apply(change)
    return draft.decision()


def decide_edit(command: EditFile, state: FilesState) -> Decision:
    """Replace text inside a file."""
    entry = _present(command.path, state)
    if entry.kind != "file":
        raise not_a_file(command.path, entry)
    content = state.contents[entry.content]
    fresh = _replaced(command, content)
    changed = Entry("file", entry.mode, len(fresh), digest_of(fresh))
    changes = ChangeSet(command.workspace, state.entries)
    changes.put(command.path, changed)
    return Decision(_as_facts(changes.facts()), (fresh,))


def decide_move(command: MoveFile, state: FilesState) -> Decision:
    """Give a file or a directory another path."""
    check_path(command.to)
    entry = _present(command.path, state)
    if command.path in [command.to, *parents(command.to)]:
        raise Rejected(
            "files.move_into_itself",
            f"'{command.path}' cannot be moved to '{command.to}', which lies inside it.",
            fix="Choose a path outside it.",
            path=command.path,
        )
    if state.entries.get(command.to) is not None:
        raise Rejected(
            "files.exists",
            f"Something stands at '{command.to}' already.",
            fix="Remove it first, or choose another path. Nothing is ever overwritten by a move.",
            path=command.to,
        )
    _check_target(command.to, entry, state=state, besides=command.path)
    changes = ChangeSet(command.workspace, state.entries)
    for path in changes.below(command.path):
        check_path(command.to + path[len(command.path) :])
    changes.move(command.path, command.to)
    return Decision(_as_facts(changes.facts()))


def decide_remove(command: RemoveFile, state: FilesState) -> Decision:
    """Remove a file, or a directory with what it holds."""
    entry = _present(command.path, state)
    changes = ChangeSet(command.workspace, state.entries)
    if entry.kind == "dir" and command.recursive:
        changes.remove_all(command.path)
    else:
        changes.remove(command.path)
    return Decision(_as_facts(changes.facts()))


class _Draft:
    """Applies wishes one by one and merges where somebody else was faster."""

    def __init__(self, workspace: str, state: FilesState, *, captured: bool = False) -> None:
        self.changes = ChangeSet(workspace, state.entries)
        self._state = state
        self._contents: list[bytes] = []
        self._captured = captured

    def apply(self, change: Change) -> None:
        current = self.changes.get(change.path)
        base = current if change.base is UNSET else change.base
        merged = combine(base, current, theirs=change.entry, contents=self._state.contents)
        if isinstance(merged, Clash) or self._holds_newer(change):
            self._keep_both(change, current)
        elif merged.entry is None:
            if current is not None:
                self._remove(change.path, current)
        elif merged.entry != current:
            self._put(change.path, merged.entry)
            self._contents += merged.contents

    def _holds_newer(self, change: Change) -> bool:
        """Return whether somebody put a file in the place of a directory while others wrote below it."""
        replaces = change.entry is not None and change.entry.kind != "dir" and change.base is not UNSET
        return self._captured and replaces and self.changes.holds(change.path)

    def _remove(self, path: str, current: Entry) -> None:
        if self._captured and current.kind == "dir" and self.changes.holds(path):
            # Somebody removed the folder while others wrote below it: what they wrote stays.
            return
        self.changes.remove(path)

    def _put(self, path: str, entry: Entry, *, conflict_of: str | None = None) -> None:
        if self._captured:
            for parent in parents(path):
                above = self.changes.get(parent)
                if above is not None and above.kind != "dir":
                    self._set_aside(parent, above)
            if entry.kind != "dir":
                self.changes.remove_all(path)
        self.changes.put(path, entry, conflict_of=conflict_of)

    def _set_aside(self, path: str, entry: Entry) -> None:
        """Keep what the log holds under another name, because the folder has a directory in its place."""
        self.changes.remove(path)
        self.changes.put(self.changes.free_name(path, CONFLICT), entry, conflict_of=path)

    def _keep_both(self, change: Change, current: Entry | None) -> None:
        if change.entry is None:
            if self._captured:
                return
            raise changed_since(change.path)
        if change.entry.kind != "dir":
            self._put(self.changes.free_name(change.path, CONFLICT), change.entry, conflict_of=change.path)
            return
        if not self._captured:
            raise changed_since(change.path)
        if current is not None and current.kind != "dir":
            self._set_aside(change.path, current)
        self._put(change.path, change.entry)

    def decision(self) -> Decision:
        return Decision(_as_facts(self.changes.facts()), tuple(self._contents))


class Combined(Struct, frozen=True):
    """The result of a merge; `contents` holds content that did not exist before."""

    entry: Entry | None
    contents: tuple[bytes, ...] = ()


class Clash(Struct, frozen=True):
    """Both sides changed the same thing in different ways."""


def combine(
    base: Entry | None, ours: Entry | None, *, theirs: Entry | None, contents: Mapping[str, bytes]
) -> Combined | Clash:
    """Merge what two sides made of one thing; contents that are not given cannot be merged."""
    if theirs in (base, ours):
        return Combined(ours)
    if ours == base:
        return Combined(theirs)
    if base is None or ours is None or theirs is None:
        return Clash()
    if not base.kind == ours.kind == theirs.kind or base.kind == "link":
        return Clash()
    mode = theirs.mode if theirs.mode != base.mode else ours.mode
    if base.kind == "dir":
        return Combined(Entry("dir", mode))
    return _combine_contents(base, ours, theirs=theirs, mode=mode, contents=contents)


def _combine_contents(
    base: Entry, ours: Entry, *, theirs: Entry, mode: int, contents: Mapping[str, bytes]
) -> Combined | Clash:
    if theirs.content in {base.content, ours.content}:
        return Combined(Entry("file", mode, ours.size, ours.content))
    if ours.content == base.content:
        return Combined(Entry("file", mode, theirs.size, theirs.content))
    if not {base.content, ours.content, theirs.content} <= contents.keys():
        return Clash()
    merged = merge(contents[base.content], contents[ours.content], contents[theirs.content]).content
    if merged is None:
        return Clash()
    return Combined(Entry("file", mode, len(merged), digest_of(merged)), (merged,))


def digest_of(content: bytes) -> str:
    """Return the name under which a content is stored."""
    return hashlib.sha256(content).hexdigest()


def changed_since(path: str) -> Conflict:
    """Return the error for a wish that somebody else's newer change stands against."""
    return Conflict(
        "files.changed_since",
        f"'{path}' was changed by somebody else in the meantime; their version was kept.",
        fix="Look at it (choir diff, choir why), then wish again.",
        path=path,
    )


def looks_alike(path: str, other: str) -> Rejected:
    """Return the error for a new name that people and other systems take for one that is there."""
    return Rejected(
        "files.looks_alike",
        f"'{path}' differs from '{other}' only in case or in the form of its letters.",
        fix="Use the existing name, or one that people and other systems can tell apart.",
        path=path,
    )


def named_twice(path: str) -> Rejected:
    """Return the error for two wishes for one path."""
    return Rejected(
        "files.named_twice",
        f"'{path}' is named twice, so it is not clear what shall stand there.",
        fix="Name each path once.",
        path=path,
    )


def not_a_file(path: str, entry: Entry) -> Rejected:
    """Return the error for an act on a file's text when something else stands there."""
    kind = {"dir": "a directory", "link": "a symbolic link"}[entry.kind]
    return Rejected("files.not_a_file", f"'{path}' is {kind}.", fix="Name a file.", path=path)


def not_found(path: str) -> Rejected:
    """Return the error for a path at which nothing stands."""
    return Rejected(
        "files.not_found", f"Nothing stands at '{path}'.", fix="'choir files' lists what is there.", path=path
    )


def _present(path: str, state: FilesState) -> Entry:
    entry = state.entries.get(check_path(path))
    if entry is None:
        raise not_found(path)
    return entry


def _check_wishes(changes: Sequence[Change], state: FilesState) -> None:
    """Refuse paths and entries that cannot be, and new names that would be taken for one another."""
    wished: set[str] = set()
    fresh: dict[str, str] = {}
    for change in changes:
        check_path(change.path)
        if change.path in wished:
            raise named_twice(change.path)
        wished.add(change.path)
        if change.entry is None:
            continue
        _check_entry(change.path, change.entry)
        _check_target(change.path, change.entry, state=state)
        for path in _new(change.path, state):
            if (other := fresh.setdefault(fold(path), path)) != path:
                raise looks_alike(path, other)


def _check_entry(path: str, entry: Entry) -> None:
    problem = "its mode is not one of nine bits" if not 0 <= entry.mode <= MODE_MAX else ""
    match entry.kind:
        case "file" if not _digest.fullmatch(entry.content) or entry.size < 0 or entry.target:
            problem = "it names no content"
        case "dir" if entry.content or entry.size or entry.target:
            problem = "a directory has no content"
        case "link" if entry.mode != MODE_MAX or entry.content or entry.size:
            problem = "a link has no mode and no content of its own"
        case "link":
            problem = _problem_of_target(entry.target)
        case _:
            pass
    if problem:
        raise Rejected(
            "files.bad_entry",
            f"'{path}' cannot be as wished: {problem}.",
            fix="Correct the wish; for a link give a target of plain text.",
            path=path,
        )


def _problem_of_target(target: str) -> str:
    try:
        size = len(target.encode())
    except UnicodeEncodeError:
        return "the target of the link is not valid UTF-8"
    if not 0 < size <= TARGET_BYTES_MAX or "\x00" in target:
        return f"the target of a link has 1 to {TARGET_BYTES_MAX} bytes, none of them NUL"
    return ""


def _check_target(path: str, entry: Entry, *, state: FilesState, besides: str | None = None) -> None:
    """Refuse a new path that would not be kept, or that would be taken for another one."""
    if state.entries.get(path) is not None:
        return
    is_left_out = any(state.ignored(above, True) for above in parents(path))  # noqa: FBT003 - by position
    if is_left_out or state.ignored(path, entry.kind == "dir"):
        raise Rejected(
            "files.ignored",
            f"'{path}' is ignored (.choirignore or the defaults), so it would not be kept and could not be undone.",
            fix="Write it outside ChoirOS, change .choirignore, or choose another path.",
            path=path,
        )
    for one in _new(path, state):
        alike = [name for name in state.alike.get(one, ()) if name != besides]
        if alike:
            raise looks_alike(one, alike[0])


def _new(path: str, state: FilesState) -> list[str]:
    """Return the path and the directories above it, as far as nothing stands there."""
    return [one for one in [*parents(path), path] if state.entries.get(one) is None]


def _replaced(command: EditFile, content: bytes) -> bytes:
    try:
        old, new = command.old.encode(), command.new.encode()
    except UnicodeEncodeError as error:
        raise Rejected(
            "files.not_utf8",
            f"The text for '{command.path}' is not valid UTF-8 (a lone surrogate).",
            fix="Give the text to replace and its replacement as valid text.",
            path=command.path,
        ) from error
    count = content.count(old) if old else 0
    if not is_text(content):
        raise Rejected(
            "files.not_text",
            f"'{command.path}' is not text.",
            fix="Write the whole file instead.",
            path=command.path,
        )
    if count == 0:
        raise Rejected(
            "files.edit_no_match",
            f"The text to replace does not occur in '{command.path}'.",
            fix="Read the file again (choir cat) and copy the text exactly, spaces and line ends included.",
            path=command.path,
        )
    if count > 1 and not command.everywhere:
        raise Rejected(
            "files.edit_many_matches",
            f"The text to replace occurs {count} times in '{command.path}'.",
            fix="Give more of the text around it, or replace every occurrence (--all).",
            path=command.path,
        )
    return content.replace(old, new)


def _moves(changes: Sequence[Change], state: FilesState) -> list[tuple[Change, Change]]:
    """Pair removed files with new files of one content that occurs once on each side."""
    gone: dict[Entry, list[Change]] = {}
    come: dict[Entry, list[Change]] = {}
    for change in changes:
        if change.entry is None and isinstance(change.base, Entry) and _movable(change.base):
            gone.setdefault(change.base, []).append(change)
        if change.entry is not None and change.base is None and _movable(change.entry):
            come.setdefault(change.entry, []).append(change)
    pairs = [
        (one[0], come[entry][0]) for entry, one in gone.items() if len(one) == 1 == len(come.get(entry, ()))
    ]
    return [(one, other) for one, other in pairs if _is_free(one.path, other.path, state=state)]


def _movable(entry: Entry) -> bool:
    return entry.kind == "file" and entry.size > 0


def _is_free(path: str, to: str, *, state: FilesState) -> bool:
    """Return whether the log still has the file, and nothing where it went or in the way there."""
    entry = state.entries.get(path)
    above = [state.entries.get(parent) for parent in parents(to)]
    has_way = all(one is None or one.kind == "dir" for one in above)
    return entry is not None and entry.kind == "file" and state.entries.get(to) is None and has_way


def _in_order(changes: Sequence[Change]) -> list[Change]:
    """Return removals from the deepest, then the rest from the outermost."""
    gone = sorted(
        (change for change in changes if change.entry is None), key=lambda one: one.path, reverse=True
    )
    kept = sorted((change for change in changes if change.entry is not None), key=lambda one: one.path)
    return gone + kept


def _as_facts(facts: Sequence[FileFact]) -> tuple[Fact, ...]:
    return tuple(Fact(fact) for fact in facts)
