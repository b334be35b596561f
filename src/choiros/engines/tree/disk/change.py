"""The blocking half of `apply`: sorts what is to be done, and does it in an order in which it can be done."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from choiros.engines.tree.disk import syncing
from choiros.engines.tree.disk.descriptors import (
    LIST,
    NINE_BITS,
    Spot,
    Way,
    directory,
    look_along,
    look_at,
    split,
    stat_of,
    way,
)
from choiros.engines.tree.disk.fulfilled import checked, is_fulfilled
from choiros.engines.tree.disk.placing import difference, discarded_on_error, place, remove
from choiros.engines.tree.disk.refusals import CHANGED, MOVED, refusal
from choiros.engines.tree.disk.staging import Staging
from choiros.engines.tree.disk.temporary import new_name
from choiros.kernel.tree import Done, Kind, Stat, Step

_OWNER_BITS = 0o700
_ENTER_AND_WRITE = 0o300
_SPECIAL_BITS = 0o7000


@dataclass
class _Directory:
    """A directory whose mode changes: which one it is, its mode now and in the end."""

    inode: int
    mode: int
    final: int


class Change:
    """The steps of one call: `begin`, then content for those that need it, `finish`, and always `end`."""

    def __init__(self, root: Path, steps: Sequence[Step], *, is_disk_doubted: bool) -> None:
        self._path = root
        self._steps = {step.path: checked(step) for step in steps}
        assert len(self._steps) == len(steps), "one step per path"
        # After a failed sync the kernel may show content that is not on the disk: then it is written again.
        self._is_disk_doubted = is_disk_doubted
        self._is_bulk = len(self._steps) > syncing.SYNC_EACH_MAX and syncing.can_syncfs()
        self._root = -1
        self._pending: list[Step] = []
        self._diverged: dict[str, str] = {}
        self._staged: dict[str, Staging] = {}
        # How files and links look that are as they were wished.
        self._stats: dict[str, Stat] = {}
        self._modes: dict[str, _Directory] = {}
        # Inodes of files that we have renamed or removed under one of their names.
        self._renamed: set[int] = set()
        # Directories to be synced, by the names that lead to them.
        self._touched: set[tuple[str, ...]] = set()

    def begin(self) -> list[Step]:
        """Look at every step, and return those whose content must be staged."""
        self._root = os.open(self._path, LIST)
        with way(self._root) as ways:
            for step in self._steps.values():
                self._consider(step, ways)
        return self._waiting("file")

    def stage(self, step: Step, chunk: bytes, *, is_last: bool = False) -> bool:
        """Write a chunk of a step's content, and return whether more of it is of use."""
        assert step.entry is not None
        if step.path not in self._staged:
            self._staged[step.path] = Staging(self._root, step)
        staging = self._staged[step.path]
        try:
            if is_last:
                staging.finish(chunk, sync=not self._is_bulk)
            else:
                staging.write(chunk)
        except OSError as error:
            self._diverged[step.path] = refusal(error)
            return False
        return True

    def finish(self) -> dict[str, Done]:
        """Carry out what is pending, bring it onto the disk, and return what became of every step."""
        if self._is_bulk and (self._staged or self._stats):
            syncing.syncfs(self._root)
        for path in self._modes:
            self._attempt(path, self._open_for_work)
        for step in reversed(self._waiting(None)):
            self._attempt(step.path, self._remove)
        for step in self._waiting("dir"):
            self._attempt(step.path, self._make)
        for step in [*self._waiting("file"), *self._waiting("link")]:
            self._attempt(step.path, self._place)
        for path in sorted(self._modes, key=_depth, reverse=True):
            self._attempt(path, self._close_after_work)
        syncing.sync_directories(self._root, sorted(self._touched))
        with way(self._root) as ways:
            return {path: self._outcome(path, ways) for path in self._steps}

    def end(self) -> None:
        """Remove what was staged and not used."""
        if self._root >= 0:
            try:
                for staging in self._staged.values():
                    staging.discard()
            finally:
                os.close(self._root)

    def _consider(self, step: Step, ways: Way) -> None:
        """Sort a step: done already, diverged already, or pending."""
        above, name = split(step.path)
        try:
            spot = Spot(ways.to(above), name)
            current = look_at(spot)
            is_done = self._is_done(step, spot, current=current)
        except (FileNotFoundError, NotADirectoryError):
            current, is_done = None, step.entry is None
        except OSError as error:
            self._diverged[step.path] = refusal(error)
            return
        if is_done and self._is_disk_doubted and current is not None and current.kind == "file":
            step = self._steps[step.path] = Step(step.path, step.entry, current)
        elif is_done:
            self._touched.add(tuple(above))
            if current is not None and current.kind != "dir":
                self._stats[step.path] = current
            return
        reason = "" if _is_half_made(step, current) else difference(current, step.expect)
        if reason:
            self._diverged[step.path] = reason
            return
        self._pending.append(step)
        if current is not None and current.kind == "dir":
            self._note_mode(step, current)

    def _is_done(self, step: Step, spot: Spot, *, current: Stat | None) -> bool:
        if current is None or step.entry is None:
            return current is None and step.entry is None
        return is_fulfilled(spot, current, entry=step.entry, sync=not self._is_bulk)

    def _note_mode(self, step: Step, current: Stat) -> None:
        """Remember which mode a directory has while we work in it, and which in the end."""
        is_kept = step.entry is not None and step.entry.kind == "dir"
        final = step.entry.mode if step.entry is not None and is_kept else current.mode
        if is_kept or _while_working(current.mode) != current.mode:
            self._modes[step.path] = _Directory(current.inode, current.mode, final)

    def _waiting(self, kind: Kind | None) -> list[Step]:
        """Return what is still to be done for one kind of entry, None for removals, from the outermost."""
        steps = [step for step in self._pending if step.path not in self._diverged]
        chosen = [step for step in steps if (step.entry.kind if step.entry is not None else None) == kind]
        return sorted(chosen, key=lambda step: _depth(step.path))

    def _attempt(self, path: str, act: Callable[[str], str]) -> None:
        """Do one thing; what is refused concerns its path alone."""
        try:
            reason = act(path)
        except OSError as error:
            reason = refusal(error)
        if reason:
            self._diverged[path] = reason
        self._touched.add(tuple(split(path)[0]))

    def _open_for_work(self, path: str) -> str:
        known = self._modes[path]
        mode = _while_working(known.mode)
        return self._set_mode(path, mode) if mode != known.mode else ""

    def _close_after_work(self, path: str) -> str:
        known = self._modes[path]
        self._touched.add(tuple(path.split("/")))
        return self._set_mode(path, known.final) if known.mode != known.final else ""

    def _set_mode(self, path: str, mode: int) -> str:
        """Change a directory's mode, if it is still the directory that we know."""
        known = self._modes[path]
        with directory(self._root, path.split("/")) as descriptor:
            found = os.fstat(descriptor)
            if (found.st_ino, found.st_mode & NINE_BITS) != (known.inode, known.mode):
                return CHANGED
            _change_mode(descriptor, found.st_mode & _SPECIAL_BITS | mode)
        known.mode = mode
        return ""

    def _remove(self, path: str) -> str:
        above, name = split(path)
        try:
            with directory(self._root, above) as descriptor:
                expect = self._steps[path].expect
                reason = remove(Spot(descriptor, name), expect, was_renamed=self._is_renamed(expect))
        except (FileNotFoundError, NotADirectoryError):
            reason = ""
        if not reason:
            self._modes.pop(path, None)
        return reason

    def _make(self, path: str) -> str:
        """Make a directory under a temporary name, with its mode, then put it in place."""
        step = self._steps[path]
        assert step.entry is not None
        if path in self._modes:
            return ""
        mode = _while_working(step.entry.mode)
        above, name = split(path)
        with directory(self._root, above) as descriptor:
            source = Spot(descriptor, new_name())
            os.mkdir(source.name, _OWNER_BITS, dir_fd=descriptor)
            with discarded_on_error(source), directory(descriptor, [source.name]) as made:
                found = os.fstat(made)
                _change_mode(made, found.st_mode & _SPECIAL_BITS | mode)
                ours = stat_of(os.fstat(made))
            reason = self._put(source, Spot(descriptor, name), step=step, ours=ours)
        if not reason:
            self._touched.add((*above, name))
            self._modes[path] = _Directory(ours.inode, mode, step.entry.mode)
        return reason

    def _place(self, path: str) -> str:
        """Put a staged file, or a new link, in place."""
        step = self._steps[path]
        assert step.entry is not None
        above, name = split(path)
        with directory(self._root, above) as descriptor:
            if step.entry.kind == "link":
                source = Spot(descriptor, new_name())
                os.symlink(step.entry.target, source.name, dir_fd=descriptor)
                with discarded_on_error(source):
                    ours = look_at(source)
                reason = self._put(source, Spot(descriptor, name), step=step, ours=ours)
            else:
                staging = self._staged[path]
                with directory(self._root, staging.directory) as other:
                    del self._staged[path]
                    source = Spot(other, staging.name)
                    reason = self._put(source, Spot(descriptor, name), step=step, ours=staging.stat)
        if not reason:
            self._modes.pop(path, None)
        return reason

    def _put(self, source: Spot, target: Spot, *, step: Step, ours: Stat | None) -> str:
        """Put the source in place, and see that it is there for those who come by the path."""
        if ours is None:
            return CHANGED
        is_renamed = self._is_renamed(step.expect)
        reason = place(source, target, ours=ours, expect=step.expect, was_renamed=is_renamed)
        if reason:
            return reason
        after = look_at(target)
        # What somebody wrote just after us must not be taken for ours.
        if after is None or difference(after, ours, was_renamed=True):
            return CHANGED
        above, _ = split(step.path)
        with directory(self._root, above) as descriptor:
            if not os.path.sameopenfile(descriptor, target.directory):
                return MOVED
        if after.kind != "dir":
            self._stats[step.path] = after
        return ""

    def _is_renamed(self, expect: Stat | None) -> bool:
        """Whether we have touched another name of this file, which changed its ctime; from now on we have."""
        if expect is None:
            return False
        is_renamed = expect.inode in self._renamed
        self._renamed.add(expect.inode)
        return is_renamed

    def _outcome(self, path: str, ways: Way) -> Done:
        reason, entry = self._diverged.get(path, ""), self._steps[path].entry
        if not reason and entry is None:
            return Done(path, None)
        if not reason and path in self._stats:
            return Done(path, self._stats[path])
        # Directories are looked at when all is done: what they hold changes how they look.
        current = look_along(ways, path)
        if not reason and (
            current is None or entry is None or (current.kind, current.mode) != ("dir", entry.mode)
        ):
            reason = CHANGED
        return Done(path, current, reason)


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _while_working(mode: int) -> int:
    """Return the mode in which a directory can be filled."""
    return mode if mode & _ENTER_AND_WRITE == _ENTER_AND_WRITE else mode | _OWNER_BITS


def _is_half_made(step: Step, current: Stat | None) -> bool:
    """Whether this is a read-only directory that an earlier call made and was killed before closing it."""
    if step.entry is None or step.entry.kind != "dir" or current is None or current.kind != "dir":
        return False
    return step.entry.mode != current.mode == _while_working(step.entry.mode)


def _change_mode(descriptor: int, mode: int) -> None:
    """Change the mode of a directory that is held by O_PATH."""
    try:
        opened = os.open(".", LIST, dir_fd=descriptor)
    except PermissionError:
        # It may not be listed; this name of the kernel leads to the very directory that we hold.
        Path(f"/proc/self/fd/{descriptor}").chmod(mode)
        return
    try:
        os.fchmod(opened, mode)
    finally:
        os.close(opened)
